/* SPDX-License-Identifier: MIT */
/* The hash index: growth, removal, missing memory, and keys that somebody chose. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/index.h"
#include "counted_memory.h"
#include "unit.h"

static uint32_t find_number(const struct index *x, uint64_t hash, const uint64_t *keys, uint64_t key)
{
	return index_find(x, hash, i, keys[i] == key);
}

static void test_empty(void **state)
{
	struct index x = { 0 };

	(void)state;
	assert_int_equal(find_number(&x, 7, NULL, 7), INDEX_NONE);
	index_remove(&x, 7, 0);
	index_renumber(&x, 7, 0, 1);
	index_prefetch(&x, 7);
	index_clear(&x);
	index_done(&x);
	assert_int_equal(index_add(&x, 7, INDEX_NONE), -ENOMEM);
	assert_int_equal(index_reserve(&x, SIZE_MAX), -ENOMEM);
	assert_null(x.slots);
}

#define MANY 300000u

static void test_growth(void **state)
{
	uint64_t *keys = calloc(MANY, sizeof(*keys));
	struct index x = { 0 };

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		keys[i] = (uint64_t)i * i;
		assert_int_equal(find_number(&x, hash_number(keys[i]), keys, keys[i]), INDEX_NONE);
		assert_int_equal(index_add(&x, hash_number(keys[i]), i), 0);
		assert_true(x.n * 3 <= (x.mask + 1) * 2);
	}
	assert_int_equal(x.n, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(find_number(&x, hash_number(keys[i]), keys, keys[i]), i);
	index_clear(&x);
	assert_int_equal(x.n, 0);
	assert_int_equal(find_number(&x, hash_number(0), keys, 0), INDEX_NONE);
	index_done(&x);
	free(keys);
}

static void test_reserve(void **state)
{
	struct index x = { 0 };

	(void)state;
	held = 0;
	assert_int_equal(index_reserve(&x, 1000), 0);
	fail_from = 1, fail_until = SIZE_MAX, asked = 0;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(index_add(&x, hash_number(i), i), 0);
	assert_int_equal(asked, 0);
	fail_from = fail_until = 0;
	index_done(&x);
	assert_int_equal(held, 0);
}

#define KEYS 512u

/* The same as a plain array says, for keys whose hashes collide in many ways. */
static void random_changes(unsigned hashes)
{
	uint64_t keys[KEYS], random = hashes;
	bool there[KEYS] = { 0 };
	struct index x = { 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < KEYS; i++)
		keys[i] = i;
	for (unsigned turn = 0; turn < 40000; turn++) {
		uint32_t key, hash, found;

		random = random * 6364136223846793005u + 1442695040888963407u;
		key = (uint32_t)(random >> 40) % KEYS;
		/* Slots from the table's end reach around to its beginning. */
		hash = key % hashes - 2;
		found = find_number(&x, hash, keys, key);
		assert_int_equal(found, there[key] ? key : INDEX_NONE);
		if (there[key])
			index_remove(&x, hash, key);
		else
			assert_int_equal(index_add(&x, hash, key), 0);
		there[key] = !there[key];
		n += there[key] ? 1 : (size_t)-1;
		assert_int_equal(x.n, n);
	}
	for (uint32_t key = 0; key < KEYS; key++)
		assert_int_equal(find_number(&x, key % hashes - 2, keys, key), there[key] ? key : INDEX_NONE);
	index_done(&x);
}

static void test_removal(void **state)
{
	(void)state;
	random_changes(1);
	random_changes(3);
	random_changes(100);
	random_changes(KEYS);
}

static void test_renumber(void **state)
{
	uint64_t keys[] = { 5, 5, 5 };
	struct index x = { 0 };

	(void)state;
	assert_int_equal(index_add(&x, 9, 0), 0);
	index_renumber(&x, 9, 1, 2);
	assert_int_equal(find_number(&x, 9, keys, 5), 0);
	index_renumber(&x, 9, 0, 2);
	assert_int_equal(find_number(&x, 9, keys, 5), 2);
	index_remove(&x, 9, 0);
	assert_int_equal(x.n, 1);
	index_remove(&x, 9, 2);
	assert_int_equal(x.n, 0);
	index_done(&x);
}

/* Whatever allocation fails: an error, and all that was there is still found. */
static void test_memory_failure(void **state)
{
	(void)state;
	for (size_t fails = 1; fails <= 7; fails++) {
		uint64_t keys[1000];
		struct index x = { 0 };
		unsigned failed = 0;

		held = asked = 0, fail_from = fails, fail_until = fails + 1;
		for (uint32_t i = 0; i < 1000; i++) {
			int r = index_add(&x, hash_number(i), i);

			keys[i] = i;
			if (!r)
				continue;
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(x.n, i);
			for (uint32_t k = 0; k < i; k++)
				assert_int_equal(find_number(&x, hash_number(k), keys, k), k);
			failed++;
			assert_int_equal(index_add(&x, hash_number(i), i), 0); /* there is memory again */
		}
		assert_int_equal(failed, fails <= 6); /* 64 slots, doubled five times */
		assert_int_equal(x.n, 1000);
		index_done(&x);
		assert_int_equal(held, 0);
	}
	fail_from = fail_until = 0;
}

/* How many slots a search for a key that is there looks at, on average. */
static double mean_steps(const struct index *x)
{
	double sum = 0;

	for (size_t at = 0; at <= x->mask; at++)
		if (x->slots[at].number)
			sum += (double)(((at - x->slots[at].hash) & x->mask) + 1);
	return sum / (double)x->n;
}

static uint64_t key_of(unsigned kind, uint32_t i)
{
	switch (kind) {
	case 0: return hash_number(i);
	case 1: return hash_number((uint64_t)i << 32);
	case 2: return hash_number((uint64_t)i << 44 | 0xfff);
	case 3: return hash_number(UINT64_MAX - (uint64_t)i * 4096);
	case 4: return hash_pair(i, i);
	case 5: return hash_pair(i & 0xff, (uint64_t)(i >> 8) << 40);
	/* These make a product 0 where constants are in the place of the secret. */
	case 6: return hash_pair(0xa0761d6478bd642f, i);
	case 7: return hash_pair(i, 0xe7037ed1a0b428db);
	case 8: return hash_pair(hash_pair(0, i), 0);
	case 9: return hash_bytes(&i, sizeof(i));
	default: break;
	}
	char text[64] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

	memcpy(text + (kind - 10) * 8, &i, sizeof(i));
	return hash_bytes(text, 40);
}

/* Regular keys, and those that were chosen to collide under hashes without a secret, spread like random ones. */
static void test_adversarial_keys(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 15; kind++) {
		struct index x = { 0 };

		for (uint32_t i = 0; i < 80000; i++)
			assert_int_equal(index_add(&x, key_of(kind, i), i), 0);
		if (mean_steps(&x) >= 3) /* 1.8 at this load */
			fail_msg("keys of kind %u: %.1f steps", kind, mean_steps(&x));
		index_done(&x);
	}
}

static void test_hash_of_bytes(void **state)
{
	char text[100] = { 0 };
	uint64_t seen[100];

	(void)state;
	for (size_t len = 0; len < 100; len++) {
		seen[len] = hash_bytes(text, len);
		for (size_t k = 0; k < len; k++) {
			assert_int_not_equal(seen[k], seen[len]);
			text[k] = 1;
			assert_int_not_equal(hash_bytes(text, len), seen[len]);
			text[k] = 0;
		}
	}
	assert_int_not_equal(hash_pair(1, 2), hash_pair(2, 1));
	assert_true(hash_secret[1] & 1);
}

UNIT_TESTS(index)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_removal),
		cmocka_unit_test(test_renumber),
		cmocka_unit_test(test_memory_failure),
		cmocka_unit_test(test_adversarial_keys),
		cmocka_unit_test(test_hash_of_bytes),
	};

	return unit_run(tests, NULL, NULL);
}

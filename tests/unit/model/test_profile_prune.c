/* SPDX-License-Identifier: MIT */
/* Profiles that are kept small while they are read: what is wide is there, and misses no more than is promised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "model/profile_priv.h"
#include "unit.h"

enum { FRAMES = 12, DEPTH = 12 };

static uint64_t seed = 1;

static unsigned chance(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static uint32_t named(struct profile *p, unsigned i)
{
	char name[16];

	snprintf(name, sizeof(name), "f%u", i);
	return profile_frame_named(p, name, strlen(name), FRAME_NATIVE);
}

/* Few frames are usual, many are rare: a tree of few wide and very many narrow branches. */
static size_t make_stack(struct profile *p, uint32_t *frames)
{
	size_t n = 1 + chance(DEPTH);

	for (size_t i = 0; i < n; i++) {
		unsigned f = chance(FRAMES);

		frames[i] = named(p, chance(4) ? f % 3 : f);
	}
	return n;
}

static void add(struct profile *p, const uint32_t *frames, size_t n, uint32_t *path, uint64_t count)
{
	assert_int_equal(profile_nodes(p, 0, frames, n, path), 0);
	assert_int_equal(profile_add(p, path[n - 1], 0, PROFILE_CPU, count, 0), 0);
	p->totals.samples += count;
}

static uint64_t *sums(const struct profile *p)
{
	uint64_t *ret = calloc(p->nodes.n, sizeof(*ret));

	for (size_t i = 0; i < p->weights.n; i++)
		ret[p->weights.v[i].node] += p->weights.v[i].count;
	for (size_t i = p->nodes.n - 1; i > 0; i--)
		ret[p->nodes.v[i].parent] += ret[i];
	return ret;
}

static void check(struct profile *all, struct profile *some, double share)
{
	uint64_t least = (uint64_t)((double)all->totals.samples * share);
	AUTO_FREE uint64_t *want = sums(all), *have = sums(some);
	size_t n = some->nodes.n, found = 0;

	assert_true(some->nodes.n < all->nodes.n / 2);
	assert_true(some->npruned > 0);
	assert_int_equal(have[0], want[0]);
	for (size_t i = 1; i < n; i++)
		assert_true(some->nodes.v[i].parent < i);
	for (size_t i = 1; i < all->nodes.n; i++) {
		uint32_t at = 0, path[DEPTH], depth = 0;

		for (uint32_t k = (uint32_t)i; k; k = all->nodes.v[k].parent)
			path[depth++] = all->nodes.v[k].frame;
		while (depth && at < n)
			at = profile_node(some, at, path[--depth]);
		if (at >= n) { /* made by the question */
			assert_true(want[i] <= least);
			continue;
		}
		found++;
		assert_true(have[at] <= want[i]);
		assert_true(have[at] + least >= want[i]);
	}
	assert_true(found > 5);
}

static void test_shares(void **state)
{
	static const double shares[] = { 0.0005, 0.002, 0.02 };

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(shares); s++) {
		struct profile *all = profile_new(), *some = profile_new();
		uint32_t frames[DEPTH], path[DEPTH];

		some->prune_share = shares[s];
		some->pruned = profile_frame_named(some, "[pruned]", 8, FRAME_REASON);
		for (int i = 0; i < 60000; i++) {
			uint64_t count = 1 + chance(3);
			size_t n = make_stack(all, frames);

			add(all, frames, n, path, count);
			for (size_t k = 0; k < n; k++)
				frames[k] = named(some, (unsigned)atoi(all->frames.v[frames[k]].name + 1));
			add(some, frames, n, path, count);
			if (i % 7000 == 6999) {
				assert_int_equal(profile_prune(some, path, n), 0);
				for (size_t k = 0; k < n; k++)
					assert_int_equal(some->nodes.v[path[k]].frame, frames[k]);
			}
		}
		/* The frames have the same numbers only by name. */
		for (size_t i = 0; i < all->nodes.n; i++)
			if (i)
				all->nodes.v[i].frame =
					named(some, (unsigned)atoi(all->frames.v[all->nodes.v[i].frame].name + 1));
		check(all, some, shares[s]);
		profile_free(all);
		profile_free(some);
	}
}

/* Counts that are far from 32 bits. */
static void test_large_counts(void **state)
{
	struct profile *p = profile_new();
	uint32_t frames[2] = { named(p, 1), named(p, 2) }, path[2];

	(void)state;
	p->prune_share = 0.001;
	p->pruned = profile_frame_named(p, "[pruned]", 8, FRAME_REASON);
	add(p, frames, 2, path, UINT64_C(1) << 62);
	frames[1] = named(p, 3);
	add(p, frames, 2, path, UINT64_C(1) << 40);
	frames[1] = named(p, 4);
	add(p, frames, 2, path, UINT64_C(1) << 61);
	assert_int_equal(profile_prune(p, path, 0), 0);
	assert_int_equal(p->npruned, 1);
	assert_int_equal(p->nodes.n, 1 + 3 + 1);
	assert_int_equal(p->nodes.v[4].frame, p->pruned);
	assert_int_equal(p->weights.n, 3);
	profile_free(p);
}

UNIT_TESTS(profile_prune)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shares), cmocka_unit_test(test_large_counts) };

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The tree of a profile: equal things are one, different ones are not, deep and wide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/profile.h"
#include "unit.h"

static uint32_t named(struct profile *p, const char *name)
{
	return profile_frame_named(p, name, strlen(name), FRAME_NATIVE);
}

static void test_frames(void **state)
{
	struct profile *p = profile_new();
	struct frame f = { .name = "f", .module = "a.so", .kind = FRAME_NATIVE }, other = f;
	char name[] = "f", module[] = "a.so";
	uint32_t n = profile_frame(p, &f);

	(void)state;
	other.name = name;
	other.module = module;
	assert_int_equal(profile_frame(p, &other), n);
	name[0] = 'g'; /* the profile has its own */
	assert_string_equal(p->frames.v[n].name, "f");
	assert_int_not_equal(profile_frame(p, &other), n);
	other = f;
	other.kind = FRAME_INLINED;
	assert_int_not_equal(profile_frame(p, &other), n);
	other = f;
	other.unnamed = true;
	assert_int_not_equal(profile_frame(p, &other), n);
	other = f;
	other.line = 3;
	assert_int_not_equal(profile_frame(p, &other), n);
	other.file = "f.c";
	assert_int_not_equal(profile_frame(p, &other), n);
	assert_string_equal(p->frames.v[profile_frame(p, &other)].file, "f.c");
	other = f;
	other.module = NULL;
	assert_int_equal(profile_frame(p, &other), named(p, "f"));
	assert_string_equal(p->frames.v[named(p, "f")].module, "");
	assert_null(p->frames.v[named(p, "f")].file);
	profile_free(p);
}

/* All lengths, so that every way of hashing is taken, and names that differ in one byte. */
static void test_names(void **state)
{
	struct profile *p = profile_new();
	char name[200];
	uint32_t n = 0;

	(void)state;
	for (size_t len = 0; len < sizeof(name); len++) {
		memset(name, 'x', sizeof(name));
		assert_int_equal(profile_frame_named(p, name, len, FRAME_NATIVE), n++);
		if (!len)
			continue;
		name[len / 2] = 'y';
		assert_int_equal(profile_frame_named(p, name, len, FRAME_NATIVE), n++);
	}
	assert_int_equal(p->frames.n, 399);
	for (uint32_t i = 0; i < 399; i++)
		assert_int_equal(named(p, p->frames.v[i].name), i);
	assert_string_equal(p->frames.v[profile_frame_named(p, "a\0b", 3, FRAME_NATIVE)].name, "a\\x00b");
	profile_free(p);
}

static void test_nodes(void **state)
{
	struct profile *p = profile_new();
	uint32_t f = named(p, "f"), g = named(p, "g"), a, b, c;

	(void)state;
	assert_int_equal(p->nodes.n, 1);
	a = profile_node(p, 0, f);
	b = profile_node(p, a, f);
	c = profile_node(p, 0, g);
	assert_int_equal(p->nodes.n, 4);
	assert_int_equal(profile_node(p, 0, f), a);
	assert_int_equal(profile_node(p, a, f), b);
	assert_int_equal(profile_node(p, 0, g), c);
	assert_int_equal(profile_node(p, b, g), 4);
	assert_int_equal(profile_node(p, b, g), 4);
	assert_int_equal(profile_node(p, c, g), 5);
	assert_int_equal(profile_node(p, b, g), 4);
	assert_int_equal(profile_node(p, c, g), 5);
	assert_int_equal(p->nodes.v[5].parent, c);
	assert_int_equal(p->nodes.v[5].frame, g);
	profile_free(p);
}

/* Beside a table of all pairs, in the order of a walk that jumps. */
static void test_many_nodes(void **state)
{
	enum { FRAMES = 50, STEPS = 200000 };
	struct profile *p = profile_new();
	uint32_t frames[FRAMES], node = 0, *seen;
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < FRAMES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		frames[i] = named(p, name);
	}
	seen = calloc((size_t)(STEPS + 1) * FRAMES, sizeof(*seen));
	for (int i = 0; i < STEPS; i++) {
		unsigned k;
		uint32_t next;

		random = random * 6364136223846793005u + 1442695040888963407u;
		k = (unsigned)(random >> 33) % FRAMES;
		next = profile_node(p, node, frames[k]);
		if (seen[(size_t)node * FRAMES + k])
			assert_int_equal(next, seen[(size_t)node * FRAMES + k]);
		else
			assert_int_equal(next, p->nodes.n - 1);
		seen[(size_t)node * FRAMES + k] = next;
		assert_int_equal(p->nodes.v[next].parent, node);
		assert_int_equal(p->nodes.v[next].frame, frames[k]);
		node = random >> 60 < 5 ? 0 : next;
	}
	free(seen);
	profile_free(p);
}

static void test_deep(void **state)
{
	struct profile *p = profile_new();
	uint32_t f = named(p, "f"), node = 0;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		node = profile_node(p, node, f);
	assert_int_equal(node, 1000000);
	node = 0;
	for (int i = 0; i < 1000000; i++)
		node = profile_node(p, node, f);
	assert_int_equal(p->nodes.n, 1000001);
	profile_free(p);
}

static void test_threads(void **state)
{
	struct profile *p = profile_new();
	uint32_t t = profile_thread(p, 1, 2, "worker", "program");

	(void)state;
	assert_int_equal(profile_thread(p, 1, 2, "worker", "program"), t);
	assert_int_not_equal(profile_thread(p, 1, 3, "worker", "program"), t);
	assert_int_not_equal(profile_thread(p, 1, 2, "renamed", "program"), t);
	assert_int_equal(profile_thread(p, 0, 0, NULL, NULL), 3);
	assert_string_equal(p->threads.v[t].comm, "worker");
	assert_string_equal(p->threads.v[t].process, "program");
	assert_string_equal(p->threads.v[3].comm, "");
	profile_free(p);
}

static void test_weights(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	for (int turn = 0; turn < 2; turn++)
		for (uint32_t node = 0; node < 100; node++)
			for (uint32_t thread = 0; thread < 10; thread++)
				for (int s = 0; s < PROFILE_STATES; s++)
					assert_int_equal(profile_add(p, node, thread, s, 2, node), 0);
	assert_int_equal(p->weights.n, 100 * 10 * PROFILE_STATES);
	for (size_t i = 0; i < p->weights.n; i++) {
		assert_int_equal(p->weights.v[i].count, 4);
		assert_int_equal(p->weights.v[i].value_ns, 2 * p->weights.v[i].node);
	}
	assert_false(p->totals.saturated);
	profile_add(p, 7, 3, PROFILE_CPU, UINT64_MAX - 3, 1);
	assert_true(p->totals.saturated);
	assert_int_equal(p->weights.n, 100 * 10 * PROFILE_STATES);
	profile_free(p);
}

UNIT_TESTS(profile)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	   cmocka_unit_test(test_names), cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_many_nodes), cmocka_unit_test(test_deep),	 cmocka_unit_test(test_threads),
		cmocka_unit_test(test_weights),
	};

	return unit_run(tests, NULL, NULL);
}

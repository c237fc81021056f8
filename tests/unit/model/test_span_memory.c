/* SPDX-License-Identifier: MIT */
/* The pairing of spans when memory runs out at any place, and what it holds when a stream has ended. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "counted_memory.h"
#include "model/pair_priv.h"
#include "model/span_priv.h"
#include "unit.h"

static const struct pair_limits tight = {
	.per_process = 60, .all = 150, .idle = 40, .heritage = 20, .all_heritage = 200
};

static uint64_t closed_by_others;

static void hear(void *ctx, const struct span *span)
{
	(void)ctx;
	(void)span;
	closed_by_others++;
}

static void check_counts(const struct spans *s, uint64_t not_kept)
{
	const struct span_counts *c = spans_counts(s);
	uint64_t closed = 0, without = 0;

	for (size_t i = 0; i < SPAN_LOST; i++)
		closed += c->of[i];
	for (size_t i = SPAN_LOST; i < SPAN_ENDS; i++)
		without += c->of[i];
	assert_int_equal(c->begins, closed + s->pairs->open);
	assert_int_equal(closed - c->of[SPAN_COMPLETE] - not_kept, closed_by_others);
	assert_int_equal(c->ends, c->of[SPAN_COMPLETE] + without);
}

/* A bit of everything; how many begins were not kept. */
static uint64_t mixed_stream(struct spans *s)
{
	uint64_t not_kept = 0;
	char name[16];

	for (uint32_t i = 0; i < 600; i++) {
		struct span_event e = {
			.time_ns = i, .pid = 1 + i % 7, .tid = 1 + i % 5, .has_id = i % 3 == 0, .id = i / 2
		};
		int r;

		e.name = (struct ut_text){ .bytes = name, .len = (size_t)snprintf(name, sizeof(name), "n%u", i % 11) };
		r = spans_begin(s, &e);
		assert_true(r == 0 || r == -ENOMEM);
		not_kept += r != 0;
		if (i % 2)
			spans_end(s, &e, NULL);
		if (i % 17 == 0)
			pairs_fork(spans_pairs(s), i, e.pid, 100 + i % 20);
		if (i % 31 == 0)
			pairs_thread_exit(spans_pairs(s), i, e.pid, e.tid);
		if (i % 37 == 0)
			pairs_process_exit(spans_pairs(s), i, e.pid, true, 0);
		if (i % 41 == 0)
			pairs_lost(spans_pairs(s), i % 7, i, i);
		if (i % 43 == 0)
			pairs_exec(spans_pairs(s), i, 300 + i);
	}
	return not_kept;
}

/* True when the failures were met. */
static bool run_with_failures(size_t from, size_t until)
{
	uint64_t not_kept;
	struct spans *s;

	asked = closed_by_others = 0;
	fail_from = from;
	fail_until = until;
	s = spans_new_limited(hear, NULL, &tight);
	if (!s) {
		assert_int_equal(held, 0);
		return true;
	}
	not_kept = mixed_stream(s);
	check_counts(s, not_kept);
	pairs_stop(spans_pairs(s), 1000);
	assert_int_equal(s->pairs->open, 0);
	check_counts(s, not_kept);
	assert_int_equal(held, 3); /* itself, the engine, and its list of numbers */
	spans_free(s);
	assert_int_equal(held, 0);
	return asked >= from;
}

static void test_each_allocation_fails_once(void **state)
{
	size_t n = 1;

	(void)state;
	while (run_with_failures(n, n + 1))
		n++;
	assert_true(n > 500);
}

static void test_all_fail_from_one_on(void **state)
{
	size_t n = 1;

	(void)state;
	while (run_with_failures(n, SIZE_MAX))
		n++;
	assert_true(n > 500);
}

static void test_memory_comes_back(void **state)
{
	struct spans *s;

	(void)state;
	fail_from = fail_until = 0;
	s = spans_new(NULL, NULL);
	for (int again = 0; again < 3; again++) {
		mixed_stream(s);
		assert_true(held > 100);
		pairs_stop(spans_pairs(s), 1000);
		assert_int_equal(held, 3);
	}
	mixed_stream(s);
	spans_free(s); /* without a stop */
	assert_int_equal(held, 0);
}

/* An end that would have closed what found no memory is no reason to close another. */
static void test_a_begin_without_memory(void **state)
{
	struct span_event outer = { .time_ns = 1, .pid = 1, .tid = 1, .name = { .bytes = "outer", .len = 5 } };
	struct span_event inner = { .time_ns = 2, .pid = 1, .tid = 1, .name = { .bytes = "inner", .len = 5 } };
	struct spans *s;

	(void)state;
	fail_from = fail_until = 0;
	s = spans_new(NULL, NULL);
	assert_int_equal(spans_begin(s, &outer), 0);
	fail_from = 0;
	fail_until = SIZE_MAX;
	assert_int_equal(spans_begin(s, &inner), -ENOMEM);
	fail_until = 0;
	assert_int_not_equal(spans_end(s, &inner, NULL), SPAN_COMPLETE);
	assert_int_equal(spans_end(s, &outer, NULL), SPAN_COMPLETE);
	assert_int_equal(spans_counts(s)->of[SPAN_EVICTED], 1);
	spans_free(s);
}

UNIT_TESTS(span_memory)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation_fails_once),
		cmocka_unit_test(test_all_fail_from_one_on),
		cmocka_unit_test(test_memory_comes_back),
		cmocka_unit_test(test_a_begin_without_memory),
	};

	return unit_run(tests, NULL, NULL);
}

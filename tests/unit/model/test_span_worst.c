/* SPDX-License-Identifier: MIT */
/* How long the pairing of spans takes with the worst streams, and that it stays within its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/clock.h"
#include "model/pair_priv.h"
#include "model/span_priv.h"
#include "span_events.h"
#include "unit.h"

static double seconds(void) { return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9; }

static void many_threads(struct spans *s, uint64_t i) { begin(s, event(i, 1, (uint32_t)(i % 100000), "x")); }
static void many_processes(struct spans *s, uint64_t i) { begin(s, event(i, 1 + (uint32_t)(i % 100000), 1, "x")); }
static void many_ids(struct spans *s, uint64_t i) { begin(s, with_id(event(i, 1, 1, "x"), i)); }
static void orphans(struct spans *s, uint64_t i) { end(s, event(i, (uint32_t)i, (uint32_t)i, "x")); }
static void forks(struct spans *s, uint64_t i) { pairs_fork(spans_pairs(s), i, (uint32_t)i, (uint32_t)i + 1); }
static void thread_exits(struct spans *s, uint64_t i) { pairs_thread_exit(spans_pairs(s), i, 1, (uint32_t)i); }
static void exits(struct spans *s, uint64_t i) { pairs_process_exit(spans_pairs(s), i, (uint32_t)i, true, 0); }
static void losses(struct spans *s, uint64_t i) { pairs_lost(spans_pairs(s), (uint32_t)i, i, i + 1); }

static void many_names(struct spans *s, uint64_t i)
{
	char name[32];

	snprintf(name, sizeof(name), "name %u", (unsigned)i);
	begin(s, event(i, 1, 1, name));
}

/* Ten thousand names begin, and end in the same order: all cross. */
static void crossing(struct spans *s, uint64_t i)
{
	char name[32];

	snprintf(name, sizeof(name), "name %u", (unsigned)(i % 10000));
	if (i / 10000 % 2)
		assert_int_equal(end(s, event(i, 1, 1, name)), SPAN_COMPLETE);
	else
		begin(s, event(i, 1, 1, name));
}

/* Far more than it takes, with a sanitizer on a slow machine too, and far less than scans over what is open would. */
#define WORST 150000
#define WORST_SECONDS 5

static void test_the_worst_streams(void **state)
{
	static void (*const streams[])(struct spans * s, uint64_t i) = {
		many_threads, many_processes, many_ids,	    many_names, crossing,
		orphans,      forks,	      thread_exits, exits,	losses,
	};

	(void)state;
	for (size_t k = 0; k < sizeof(streams) / sizeof(streams[0]); k++) {
		struct spans *s = spans_new(NULL, NULL);
		double before = seconds();

		for (uint64_t i = 0; i < WORST; i++)
			streams[k](s, i);
		assert_true(s->pairs->open <= SPANS_MAX);
		assert_true(s->pairs->keys.n_idle <= s->pairs->options.limits.idle &&
			    s->pairs->procs.n_idle <= s->pairs->options.limits.idle);
		assert_true(s->pairs->threads.n_idle <= s->pairs->options.limits.idle);
		pairs_stop(spans_pairs(s), WORST);
		assert_true(seconds() - before < WORST_SECONDS);
		assert_int_equal(s->pairs->keys.index.n + s->pairs->procs.index.n + s->pairs->threads.index.n, 0);
		spans_free(s);
	}
}

/* A fork of a process with as much open as can be, again and again, between changes. */
static void test_forks_of_a_full_process(void **state)
{
	struct spans *s = spans_new(NULL, NULL);
	double before = seconds();

	(void)state;
	for (uint64_t i = 0; i < SPANS_PER_PROCESS; i++)
		begin(s, with_id(event(i, 1, 1, "x"), i));
	for (uint64_t i = 0; i < 3000; i++) {
		begin(s, with_id(event(i, 1, 1, "x"), SPANS_PER_PROCESS + i));
		pairs_fork(spans_pairs(s), i, 1, 2 + (uint32_t)i);
		assert_true(s->pairs->n_heritage <= s->pairs->options.limits.all_heritage);
	}
	assert_true(seconds() - before < WORST_SECONDS);
	assert_int_equal(end(s, with_id(event(1, 3001, 3001, "x"), SPANS_PER_PROCESS + 2999)), SPAN_INHERITED);
	spans_free(s);
}

UNIT_TESTS(span_worst)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_worst_streams),
		cmocka_unit_test(test_forks_of_a_full_process),
	};

	return unit_run(tests, NULL, NULL);
}

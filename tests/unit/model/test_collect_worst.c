/* SPDX-License-Identifier: MIT */
/* How long spans of runtimes take with the worst streams, and that they stay within their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"
#include "model/collect_priv.h"
#include "model/pair.h"
#include "unit.h"

enum { BY_THREAD, BY_PROCESS, BY_ID, ONLY, NDEFS };

static const struct collect_only only_two[] = { { "generation", "2" } };
static const struct collect_def defs[NDEFS] = {
	[BY_THREAD] = { .runtime = "R", .kind = "request", .by = PAIR_BY_THREAD },
	[BY_PROCESS] = { .runtime = "R", .kind = "gc", .by = PAIR_BY_PROCESS, .stops = true },
	[BY_ID] = { .runtime = "R", .kind = "request", .by = PAIR_BY_ID },
	[ONLY] = { .runtime = "R", .kind = "gc", .by = PAIR_BY_THREAD, .only = only_two, .nonly = 1 },
};

static uint64_t told;

static int hear(void *ctx, const struct collect_span *span)
{
	(void)ctx;
	assert_true(span->begin_ns <= span->end_ns);
	told++;
	return 0;
}

static double seconds(void) { return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9; }

static void feed_value(struct collect *c, uint64_t ns, uint32_t pid, uint32_t tid, unsigned def, enum collect_role role,
		       const struct collect_value *value)
{
	const struct collect_event e = { .time_ns = ns,
					 .pid = pid,
					 .tid = tid,
					 .def = def,
					 .role = role,
					 .values = value,
					 .nvalues = value != NULL };

	assert_int_equal(collect_event(c, &e), 0);
}

static void feed(struct collect *c, uint64_t ns, uint32_t pid, uint32_t tid, unsigned def, enum collect_role role)
{
	feed_value(c, ns, pid, tid, def, role, NULL);
}

static void one_thread(struct collect *c, uint64_t i) { feed(c, i, 1, 1, BY_THREAD, COLLECT_BEGIN); }
static void one_process(struct collect *c, uint64_t i) { feed(c, i, 1, (uint32_t)i, BY_PROCESS, COLLECT_BEGIN); }
static void many_threads(struct collect *c, uint64_t i) { feed(c, i, 1, (uint32_t)i, BY_THREAD, COLLECT_BEGIN); }
static void many_processes(struct collect *c, uint64_t i) { feed(c, i, (uint32_t)i, 1, BY_THREAD, COLLECT_BEGIN); }
static void ends_alone(struct collect *c, uint64_t i) { feed(c, i, (uint32_t)i, 1, BY_THREAD, COLLECT_END); }
static void forks(struct collect *c, uint64_t i) { pairs_fork(collect_pairs(c), i, (uint32_t)i, (uint32_t)i + 1); }
static void execs(struct collect *c, uint64_t i) { pairs_exec(collect_pairs(c), i, (uint32_t)i); }
static void thread_exits(struct collect *c, uint64_t i) { pairs_thread_exit(collect_pairs(c), i, 1, (uint32_t)i); }
static void exits(struct collect *c, uint64_t i) { pairs_process_exit(collect_pairs(c), i, (uint32_t)i, false, 0); }
static void losses(struct collect *c, uint64_t i) { pairs_lost(collect_pairs(c), (uint32_t)i, i, i + 1); }

static void many_ids(struct collect *c, uint64_t i)
{
	feed_value(c, i, 1, 1, BY_ID, COLLECT_BEGIN,
		   &(struct collect_value){ .name = "id", .key = collect_name_key("id"), .number = (int64_t)i });
}

static void many_strings(struct collect *c, uint64_t i)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "id %u", (unsigned)i);

	feed_value(c, i, 1, 1, BY_ID, i % 3 ? COLLECT_BEGIN : COLLECT_INSIDE,
		   &(struct collect_value){ .name = "id",
					    .key = collect_name_key("id"),
					    .is_text = true,
					    .text = text,
					    .len = (size_t)len });
}

/* Where an end that tells its value has to look past all those that do not fit. */
static void left_out(struct collect *c, uint64_t i)
{
	const struct collect_value value = { .name = "generation", .number = i % 4 == 3 ? 2 : 1 };

	feed_value(c, i, 1, 1, ONLY, i % 5 ? COLLECT_BEGIN : COLLECT_END, &value);
}

/* And past those that fit, for one that does not. */
static void fitting(struct collect *c, uint64_t i)
{
	const struct collect_value value = { .name = "generation", .number = i % 3 ? 2 : 1 };

	feed_value(c, i, 1, 1, ONLY, i % 3 ? COLLECT_BEGIN : COLLECT_END, &value);
}

/* None tells its value, and what is inside of other threads looks for the newest. */
static void undecided(struct collect *c, uint64_t i)
{
	feed(c, i, 1, 1, ONLY, i % 2 ? COLLECT_BEGIN : COLLECT_INSIDE);
	feed(c, i, 1, 2, ONLY, COLLECT_INSIDE);
}

/* Each begin finds one that is open over a loss. */
static void replaced(struct collect *c, uint64_t i)
{
	pairs_lost(collect_pairs(c), 0, i, i);
	feed(c, i + 1, 1, 1, BY_THREAD, COLLECT_BEGIN);
}

/* A fork of a process with as much open as can be, between changes. */
static void forks_of_a_full_process(struct collect *c, uint64_t i)
{
	one_thread(c, i);
	if (i % 32 == 0)
		pairs_fork(collect_pairs(c), i, 1, 2 + (uint32_t)i);
}

/* Far more than it takes, with a sanitizer on a slow machine too, and far less than scans over what is open would. */
#define WORST 150000
#define WORST_SECONDS 5

static void test_the_worst_streams(void **state)
{
	static void (*const streams[])(struct collect * c, uint64_t i) = {
		one_thread,
		one_process,
		many_threads,
		many_processes,
		ends_alone,
		forks,
		execs,
		thread_exits,
		exits,
		losses,
		many_ids,
		many_strings,
		left_out,
		fitting,
		undecided,
		replaced,
		forks_of_a_full_process,
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(streams); k++) {
		struct collect *c = collect_new(defs, NDEFS, 0, 0, hear, NULL);
		double before = seconds();

		for (uint64_t i = 0; i < WORST; i++)
			streams[k](c, i);
		assert_int_equal(pairs_stop(collect_pairs(c), WORST), 0);
		if (seconds() - before >= WORST_SECONDS)
			fail_msg("stream %zu takes %g s", k, seconds() - before);
		collect_free(c);
	}
}

/* The millionth begin costs what the first does, and only the newest are kept. */
static void test_a_million_begins_beside_a_polite_process(void **state)
{
	struct collect *c = collect_new(defs, NDEFS, 0, 0, hear, NULL);

	(void)state;
	told = 0;
	feed(c, 1, 2, 2, BY_THREAD, COLLECT_BEGIN);
	for (uint64_t i = 0; i < 1000000; i++)
		one_thread(c, 2 + i);
	assert_int_equal(told, 1000000 - COLLECT_OPEN_MAX);
	told = 0;
	assert_int_equal(pairs_stop(collect_pairs(c), 2000000), 0);
	assert_int_equal(told, COLLECT_OPEN_MAX + 1);
	collect_free(c);
}

UNIT_TESTS(collect_worst)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_worst_streams),
		cmocka_unit_test(test_a_million_begins_beside_a_polite_process),
	};

	return unit_run(tests, NULL, NULL);
}

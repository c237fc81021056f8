/* SPDX-License-Identifier: MIT */
/* Spans of runtimes and their sums at random: every begin is told once, none is longer than the run; and without
 * memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/vec.h"
#include "counted_memory.h"
#include "model/collect.h"
#include "model/pair.h"
#include "model/gcstat_priv.h"
#include "unit.h"
#include "wire/record.h"

#define LIMIT UINT64_C(10000000) /* when the run ends */

static const struct collect_word words[] = { { "full", 1, "full" }, { "cause", 2, "why" } };
static const struct collect_only only_one[] = { { "full", "1" } };
static const struct collect_def defs[] = {
	{ .runtime = "R", .kind = "gc", .by = PAIR_BY_PROCESS, .stops = true, .words = words, .nwords = 2 },
	{ .runtime = "R", .kind = "gc-phase", .title = "sweep", .stops = true, .part_of = "gc" },
	{ .runtime = "R", .kind = "request", .by = PAIR_BY_ID },
	{ .runtime = "R", .kind = "gc", .by = PAIR_BY_THREAD, .only = only_one, .nonly = 1 },
};

static uint64_t dice(uint64_t below) { return (uint64_t)random() % below; }

struct run {
	struct collect *c;
	struct gcstat *g;
	uint64_t now, begins, told, of[SPAN_ENDS];
	int failed;
};

static int hear(void *ctx, const struct collect_span *span)
{
	struct run *r = ctx;

	assert_true(span->begin_ns >= 100 && span->begin_ns <= span->end_ns && span->end_ns <= r->now);
	assert_non_null(span->label);
	assert_true(span->number > 0);
	for (size_t i = 0; i < span->nvalues; i++)
		assert_true(strlen(span->values[i].name) > 0);
	r->told++;
	r->of[span->end]++;
	return gcstat_add(r->g, span);
}

static int one(struct run *r)
{
	const struct ut_rec_state state = { .known = 1 };
	struct collect_value values[3] = { { .name = "full", .number = (int64_t)dice(2) },
					   { .name = "id", .number = (int64_t)dice(4) },
					   { .name = "name", .is_text = true, .text = "abc", .len = dice(4) } };
	struct collect_event e = { .time_ns = r->now,
				   .pid = 1 + (uint32_t)dice(3),
				   .tid = 1 + (uint32_t)dice(3),
				   .def = (unsigned)dice(4),
				   .role = dice(9) ? (dice(2) ? COLLECT_BEGIN : COLLECT_END) : COLLECT_INSIDE,
				   .values = values,
				   .nvalues = 1 + dice(3),
				   .state = dice(2) ? &state : NULL };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		values[i].key = collect_name_key(values[i].name);
	switch (dice(60)) {
	case 0: return pairs_fork(collect_pairs(r->c), r->now, e.pid, 1 + (uint32_t)dice(3));
	case 1: return pairs_exec(collect_pairs(r->c), r->now, e.pid);
	case 2: return pairs_thread_exit(collect_pairs(r->c), r->now, e.pid, e.tid);
	case 3: return pairs_process_exit(collect_pairs(r->c), r->now, e.pid, false, 0);
	case 4: pairs_lost(collect_pairs(r->c), 0, r->now - dice(90), r->now); return 0;
	default: break;
	}
	r->begins += e.role == COLLECT_BEGIN && (e.def != 3 || values[0].number == 1);
	return collect_event(r->c, &e);
}

static void start(struct run *r)
{
	*r = (struct run){ .now = 100 };
	r->g = gcstat_new_limited(100, 20, 10, 3);
	r->c = r->g ? collect_new(defs, ARRAY_SIZE(defs), 100, 100, hear, r) : NULL;
}

static void go(struct run *r, unsigned steps)
{
	struct gcstat_report report;
	int result;

	for (unsigned i = 0; r->c && i < steps; i++) {
		r->now += dice(100);
		result = one(r);
		assert_true(!result || result == -ENOMEM);
		r->failed += result != 0;
	}
	if (r->c)
		r->failed += pairs_stop(collect_pairs(r->c), r->now) != 0;
	if (r->g && !gcstat_report(r->g, r->now, &report)) {
		assert_true(report.pause_ns <= r->now - 100 && report.stopped_ns <= report.pause_ns);
		for (size_t i = 0; i < report.nrows; i++)
			assert_true(report.rows[i].covered_ns <= r->now - 100);
	}
}

static void finish(struct run *r)
{
	collect_free(r->c);
	gcstat_free(r->g);
	assert_int_equal(held, 0);
}

static void at_random(void **ctx)
{
	uint64_t without;
	struct run r;

	(void)ctx;
	fail_from = fail_until = 0;
	for (unsigned seed = 1; seed <= 600; seed++) {
		srandom(seed);
		start(&r);
		go(&r, 400);
		assert_int_equal(r.failed, 0);
		without = r.of[SPAN_BEFORE_ATTACH] + r.of[SPAN_INHERITED] + r.of[SPAN_ORPHAN];
		/* Of those that were lost it may be the begin or the end. */
		assert_in_range(r.begins, r.told - without - r.of[SPAN_LOST], r.told - without);
		finish(&r);
	}
}

static void without_memory(void **ctx)
{
	struct run r;
	unsigned failures = 0;

	(void)ctx;
	for (size_t from = 1; from < 250; from++)
		for (size_t n = 1; n < 100; n *= 9) {
			srandom((unsigned)from);
			asked = 0;
			fail_from = from;
			fail_until = from + n;
			start(&r);
			go(&r, 120);
			failures += r.failed != 0;
			finish(&r);
		}
	assert_true(failures > 300);
}

UNIT_TESTS(collect_memory)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(at_random), cmocka_unit_test(without_memory) };

	return unit_run(tests, NULL, NULL);
}

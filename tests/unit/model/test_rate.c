/* SPDX-License-Identifier: MIT */
/* Rates of one process: windows, the minute's bar, stops that overlap, allocation, quantiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "model/rate.h"
#include "unit.h"

#define START UINT64_C(7000000123)
#define MS UINT64_C(1000000)
#define S (1000 * MS)

static const struct collect_def gc = { .runtime = "X", .kind = "gc", .stops = true };
static const struct collect_def beside = { .runtime = "X", .kind = "gc" };
static const struct collect_def safepoint = { .runtime = "X", .kind = "safepoint", .stops = true };

/* From and until so many ms after the start. */
static struct collect_span span(const struct collect_def *def, uint64_t from_ms, uint64_t until_ms)
{
	return (struct collect_span){
		.def = def, .label = "young", .begin_ns = START + from_ms * MS, .end_ns = START + until_ms * MS
	};
}

static struct collect_span stopped(struct collect_span s, uint64_t stopped_ms)
{
	s.stall.known = true;
	s.stall.stopped_ns = stopped_ms * MS;
	return s;
}

static void add(struct rate *r, struct collect_span s) { rate_add(r, &s); }

static void assert_near(double a, double b)
{
	if (fabs(a - b) > 1e-6)
		fail_msg("%.9f is not %.9f", a, b);
}

static struct rate_view view(const struct rate *r, uint64_t ms, unsigned columns)
{
	struct rate_view v;

	rate_view(r, START + ms * MS, columns, &v);
	return v;
}

static void test_nothing(void **state)
{
	struct rate r;
	struct rate_view v;

	(void)state;
	rate_init(&r, START, "gc");
	v = view(&r, 0, 60);
	assert_true(!v.count && !v.has_allocation && v.measured);
	assert_near(v.per_second + v.share + v.total_share, 0);
	assert_true(v.bar[58] < 0);
	assert_near(v.bar[59], 0);
	assert_int_equal(rate_quantile(&r, 0.5), 0);
	v = view(&r, 1000000, 7); /* no divisor of a minute */
	assert_int_equal(v.nbar, 1);
	rate_view(&r, 0, 60, &v); /* a clock before the start */
	assert_near(v.share, 0);
}

static void test_window(void **state)
{
	struct rate r;
	struct rate_view v;

	(void)state;
	rate_init(&r, START, "gc");
	for (uint64_t i = 0; i < 40; i++)
		add(&r, span(&gc, i * 500, i * 500 + 50)); /* two per second, 10 % of the time, for 20 s */
	v = view(&r, 20000, 60); /* from second 11 to now: 9 s */
	assert_near(v.per_second, 18 / 9.0);
	assert_near(v.share, 0.1);
	assert_near(v.total_share, 0.1);
	assert_int_equal(v.count, 40);
	assert_false(v.measured);
	assert_near(view(&r, 25500, 60).share, 0.4 / 9.5);
	assert_near(view(&r, 40000, 60).share, 0);
	assert_near(view(&r, 40000, 60).total_share, 0.05);
	assert_int_equal(view(&r, 70000, 60).minute_longest_ns, 50 * MS);
	assert_int_equal(view(&r, 90000, 60).minute_longest_ns, 0);
	assert_int_equal(view(&r, 90000, 60).longest_ns, 50 * MS);
	assert_near(view(&r, 1000000000, 60).per_second, 0);
}

static void test_the_first_moments(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, START, "gc");
	add(&r, span(&gc, 0, 100));
	assert_near(view(&r, 200, 60).per_second, 1);
	assert_near(view(&r, 200, 60).share, 0.1);
	assert_near(view(&r, 200, 60).bar[59], 0.5);
}

static void test_long_stops_fill_their_seconds(void **state)
{
	struct rate r;
	struct rate_view v;

	(void)state;
	rate_init(&r, START, "gc");
	add(&r, span(&gc, 2500, 5250));
	v = view(&r, 6000, 60);
	assert_near(v.bar[59], 0);
	assert_near(v.bar[58], 0.25);
	assert_near(v.bar[57], 1);
	assert_near(v.bar[56], 1);
	assert_near(v.bar[55], 0.5);
	assert_near(v.bar[54], 0);
	assert_true(v.bar[52] < 0);
	add(&r, span(&gc, 6000, 200000)); /* longer than what is kept */
	v = view(&r, 200500, 60);
	for (unsigned i = 0; i < 59; i++)
		assert_near(v.bar[i], 1);
	assert_near(v.bar[59], 0);
	assert_near(v.share, 9 / 9.5);
}

static void test_columns_do_not_shift_with_time(void **state)
{
	struct rate r;
	struct rate_view a, b;

	(void)state;
	rate_init(&r, START, "gc");
	add(&r, span(&gc, 12000, 13500));
	a = view(&r, 21000, 12); /* columns of 5 s: the newest from 20 */
	b = view(&r, 24900, 12);
	assert_near(a.bar[9], 0.3);
	assert_memory_equal(a.bar, b.bar, 11 * sizeof(float));
	a = view(&r, 25000, 12);
	assert_near(a.bar[8], 0.3);
	assert_near(view(&r, 69900, 12).bar[0], 0.3); /* columns from 10 to 70 */
	assert_near(view(&r, 70100, 12).bar[0], 0);
}

static void test_each_moment_counts_once(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, START, "gc");
	add(&r, span(&gc, 100, 200));
	add(&r, span(&gc, 300, 400));
	add(&r, span(&safepoint, 50, 450)); /* around both */
	assert_int_equal(r.stopped_ns, 400 * MS);
	assert_int_equal(r.count, 2);
	add(&r, span(&safepoint, 400, 500)); /* half of it is new */
	assert_int_equal(r.stopped_ns, 450 * MS);
	add(&r, span(&safepoint, 500, 600));
	assert_int_equal(r.stopped_ns, 550 * MS);
	add(&r, span(&safepoint, 100, 110)); /* out of order, and told before */
	assert_int_equal(r.stopped_ns, 550 * MS);
}

static void test_measured_stops(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, START, "gc");
	add(&r, stopped(span(&gc, 100, 200), 80));
	add(&r, stopped(span(&safepoint, 50, 250), 110)); /* 30 ms of it outside of the collection */
	assert_int_equal(r.stopped_ns, 110 * MS);
	assert_true(view(&r, 1000, 60).measured);
	add(&r, stopped(span(&gc, 300, 400), 5000)); /* more than there is */
	assert_int_equal(r.stopped_ns, 210 * MS);
	assert_int_equal(r.longest_ns, 110 * MS);
	add(&r, span(&beside, 0, 900)); /* stops nobody */
	assert_int_equal(r.stopped_ns, 210 * MS);
	assert_int_equal(r.count, 3);
}

static void test_many_joined(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, START, "gc");
	for (uint64_t i = 0; i < 1000; i++)
		add(&r, span(&gc, i * 10, i * 10 + 1));
	assert_int_equal(r.stopped_ns, 1000 * MS);
	add(&r, span(&safepoint, 9990, 9999));
	assert_int_equal(r.stopped_ns, 1008 * MS);
}

static void test_what_counts(void **state)
{
	struct rate r;
	struct collect_span s = span(&gc, 0, 3000);

	(void)state;
	rate_init(&r, START, "gc");
	s.end = SPAN_LOST;
	add(&r, s);
	s.end = SPAN_INHERITED;
	add(&r, s);
	assert_int_equal(r.count + r.stopped_ns, 0);
	s.end = SPAN_BEFORE_ATTACH; /* it was there, but not how long */
	s.begin_ns = START - S;
	add(&r, s);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.stopped_ns, 3 * S); /* only since the start */
	assert_int_equal(r.longest_ns, 0);
	s = span(&gc, 3100, 3200);
	s.nested = true; /* a pause of a cycle: no collection of its own, but a stop */
	add(&r, s);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.longest_ns, 100 * MS);
	add(&r, span(&gc, 5000, 4000)); /* ends before it begins */
	assert_int_equal(r.stopped_ns, 3100 * MS);
	rate_init(&r, START, NULL);
	add(&r, span(&safepoint, 0, 1));
	assert_int_equal(r.count, 1);
}

static void test_longest(void **state)
{
	struct rate r;
	struct collect_span s = span(&gc, 100, 184);

	(void)state;
	rate_init(&r, START, "gc");
	s.label = "full";
	strcpy(s.cause, "System.gc()");
	add(&r, s);
	add(&r, span(&gc, 300, 310));
	assert_string_equal(r.longest_label, "full");
	assert_string_equal(r.longest_cause, "System.gc()");
	assert_int_equal(r.longest_begin_ns, START + 100 * MS);
	assert_int_equal(r.longest_ns, 84 * MS);
}

static struct collect_span with_heap(struct collect_span s, uint64_t before, uint64_t after)
{
	s.has_before = s.has_after = true;
	s.before = before;
	s.after = after;
	return s;
}

static void test_allocation(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, START, "gc");
	add(&r, with_heap(span(&gc, 900, 1000), 500, 100));
	assert_false(view(&r, 1000, 60).has_allocation);
	add(&r, with_heap(span(&gc, 2900, 3000), 2100, 200)); /* 2000 in 2 s */
	assert_true(view(&r, 3000, 60).has_allocation);
	assert_near(view(&r, 3000, 60).allocation, 1000);
	add(&r, with_heap(span(&gc, 3900, 4000), 3200, 5000)); /* 3000 in 1 s */
	assert_near(view(&r, 4000, 60).allocation, 5000 / 3.0);
	assert_near(view(&r, 100000, 60).allocation, 3000); /* nothing lately: the last that is known */
	add(&r, with_heap(span(&gc, 4900, 5000), 4000, 10)); /* given back by other means */
	assert_near(view(&r, 5000, 60).allocation, 5000 / 4.0);
	add(&r, with_heap(span(&gc, 4500, 6000), 4000, 10)); /* began inside of the last one */
	assert_near(view(&r, 6000, 60).allocation, 5000 / 4.0);
}

static void test_quantiles(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, START, "gc");
	for (uint64_t i = 1; i <= 1000; i++) {
		struct collect_span s = span(&gc, i * 20, i * 20);

		s.end_ns += i * 1000; /* 1 µs to 1 ms */
		add(&r, s);
	}
	for (double q = 0.01; q < 1; q += 0.01) {
		double got = (double)rate_quantile(&r, q) / (q * MS);

		assert_true(got >= 0.999 && got < 1.13);
	}
	assert_int_equal(rate_quantile(&r, 1), MS);
	add(&r, span(&gc, 30000, 9000000)); /* hours: the last bucket */
	assert_int_equal(rate_quantile(&r, 1),
			 r.longest_ns > UINT64_C(2147483648000) ? UINT64_C(2147483648000) : r.longest_ns);
}

/* Whatever comes in whatever order: no share above one, no crash. */
static void test_random(void **state)
{
	struct rate r;

	(void)state;
	srand(5);
	rate_init(&r, START, "gc");
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t end = (uint64_t)rand() % 300000, len = (uint64_t)rand() % (i % 10 ? 100 : 100000);
		struct collect_span s = span(i % 2 ? &gc : &safepoint, end > len ? end - len : 0, end);
		struct rate_view v;

		if (i % 3)
			s = stopped(s, (uint64_t)rand() % 200);
		add(&r, with_heap(s, (uint64_t)rand(), (uint64_t)rand()));
		v = view(&r, (uint64_t)rand() % 400000, 60);
		assert_true(v.share >= 0 && v.share <= 1 && v.total_share <= 1);
		for (unsigned k = 0; k < 60; k++)
			assert_true(v.bar[k] <= 1);
	}
}

UNIT_TESTS(rate)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_the_first_moments),
		cmocka_unit_test(test_long_stops_fill_their_seconds),
		cmocka_unit_test(test_columns_do_not_shift_with_time),
		cmocka_unit_test(test_each_moment_counts_once),
		cmocka_unit_test(test_measured_stops),
		cmocka_unit_test(test_many_joined),
		cmocka_unit_test(test_what_counts),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_allocation),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_random),
	};

	return unit_run(tests, NULL, NULL);
}

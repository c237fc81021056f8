/* SPDX-License-Identifier: MIT */
/* Spans added up: rows, percentiles, what is covered, stops and the windows they leave, against plain accounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "gc_cases.h"
#include "model/gcstat_priv.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static const struct collect_def gc = { .runtime = "R", .kind = "gc", .stops = true };
static const struct collect_def cycle = { .runtime = "R", .kind = "gc" };
static const struct collect_def sweep = { .runtime = "R", .kind = "gc-phase", .part_of = "gc", .stops = true };
static const struct collect_def safepoint = { .runtime = "R", .kind = "safepoint", .stops = true };
static const struct collect_def park = { .runtime = "R", .kind = "park" };

static struct gcstat_report report(struct gcstat *g, uint64_t ns)
{
	struct gcstat_report r;

	assert_int_equal(gcstat_report(g, START + ns, &r), 0);
	return r;
}

static void nothing(void **ctx)
{
	struct gcstat *g = gcstat_new(START);
	struct gcstat_report r = report(g, 50 * MS);

	(void)ctx;
	assert_int_equal(r.nrows, 0);
	assert_int_equal(r.stops, 0);
	assert_int_equal(r.longest_stop.ns, 0);
	assert_true(r.utilisation[0] == 1 && r.utilisation[1] == 1);
	assert_true(r.utilisation[2] < 0 && r.utilisation[4] < 0);
	gcstat_free(g);
	assert_null(gcstat_free(NULL));
}

static void rows(void **ctx)
{
	struct gcstat *g = gcstat_new(START);
	struct gcstat_report r;

	(void)ctx;
	ADD(g, &sweep, "sweep", 1 * MS, MS / 2);
	ADD(g, &sweep, "sweep", 2 * MS, MS / 2);
	ADD(g, &gc, "young", 10 * MS, 2 * MS, .has_freed = true, .freed = 100, .cause = "full");
	ADD(g, &gc, "full", 20 * MS, 9 * MS, .cause = "System.gc()", .has_freed = true, .freed = 11);
	ADD(g, &gc, "young", 40 * MS, 4 * MS);
	ADD(g, &gc, "young", 50 * MS, 4 * MS, .end = SPAN_OPEN);
	ADD(g, &gc, "old", 50 * MS, 4 * MS, .end = SPAN_PROCESS_EXITED);
	r = report(g, 100 * MS);
	assert_int_equal(r.nrows, 6);
	assert_string_equal(r.rows[0].kind, "gc");
	assert_null(r.rows[0].label);
	assert_int_equal(r.rows[0].count, 3);
	assert_int_equal(r.rows[0].total_ns, 15 * MS);
	assert_int_equal(r.rows[0].covered_ns, 15 * MS);
	assert_int_equal(r.rows[0].median_ns, 4 * MS);
	assert_int_equal(r.rows[0].incomplete, 2);
	assert_int_equal(r.rows[0].freed, 111);
	assert_string_equal(r.rows[0].longest.label, "full");
	assert_string_equal(r.rows[0].longest.cause, "System.gc()");
	assert_int_equal(r.rows[0].longest.begin_ns, START + 20 * MS);
	assert_string_equal(r.rows[1].label, "full");
	assert_string_equal(r.rows[2].label, "young");
	assert_int_equal(r.rows[2].longest.ns, 4 * MS);
	assert_string_equal(r.rows[3].label, "old");
	assert_int_equal(r.rows[3].count, 0);
	assert_string_equal(r.rows[4].kind, "gc-phase");
	assert_string_equal(r.rows[5].label, "sweep");
	assert_int_equal(r.rows[5].count, 2);
	assert_string_equal(r.rows[5].part_of, "gc");
	assert_int_equal(r.rows[5].part_of_count, 3);
	assert_false(r.measured);
	assert_int_equal(r.unmeasured, 5);
	assert_int_equal(r.stops, 5);
	assert_int_equal(r.pause_ns, 16 * MS);
	assert_int_equal(r.stopped_ns, 16 * MS);
	assert_int_equal(r.ends[SPAN_OPEN], 1);
	assert_int_equal(r.ends[SPAN_COMPLETE], 5);
	assert_int_equal(r.ends[SPAN_PROCESS_EXITED], 1);
	assert_int_equal(r.histogram[8], 2); /* 256 µs to 512 µs */
	assert_int_equal(r.histogram[10], 1);
	assert_int_equal(r.histogram[11], 1);
	assert_int_equal(r.histogram[13], 1);
	gcstat_free(g);
}

/* A collection inside of a safepoint: one stop, counted once, and named after the collection. */
static void stops_in_stops(void **ctx)
{
	const struct stall some = { .stopped_ns = 7 * MS, .waited_ns = 3 * MS, .collector_ns = 5 * MS };
	const struct stall most = { .stopped_ns = 75 * MS / 10, .waited_ns = 4 * MS, .collector_ns = 5 * MS };
	struct gcstat *g = gcstat_new(START);
	struct gcstat_report r;

	(void)ctx;
	ADD(g, &gc, "full", 1 * MS, 8 * MS, .known = true, .stall = some, .cause = "why");
	ADD(g, &safepoint, "safepoint", MS / 2, 9 * MS, .known = true, .stall = most);
	r = report(g, 20 * MS);
	assert_true(r.measured);
	assert_int_equal(r.stops, 1);
	assert_int_equal(r.pause_ns, 9 * MS);
	assert_int_equal(r.stopped_ns, 75 * MS / 10);
	assert_string_equal(r.longest_stop.label, "full");
	assert_int_equal(r.longest_stop.ns, 7 * MS);
	assert_int_equal(r.histogram[12], 1); /* 7.5 ms */
	ADD(g, &safepoint, "revoke", 12 * MS, 6 * MS * 2, .known = true, .stall.stopped_ns = 8 * MS);
	assert_string_equal(report(g, 30 * MS).longest_stop.label, "revoke");
	gcstat_free(g);
}

/* Work beside the program is no stop, and what the program idles meanwhile is not its doing. */
static void beside_the_program(void **ctx)
{
	const struct stall pauses = {
		.stopped_ns = MS / 2, .waited_ns = 2 * MS, .collector_ns = MS, .program_ns = MS / 3
	};
	const struct stall beside = {
		.stopped_ns = 20 * MS, .waited_ns = 9 * MS, .collector_ns = 40 * MS, .program_ns = 30 * MS
	};
	struct gcstat *g = gcstat_new(START);
	struct gcstat_report r;

	(void)ctx;
	ADD(g, &gc, "pause", 5 * MS, 1 * MS, .known = true, .stall = pauses);
	ADD(g, &cycle, "cycle", 1 * MS, 50 * MS, .known = true, .stall = beside);
	r = report(g, 100 * MS);
	assert_int_equal(r.stopped_ns, MS / 2);
	assert_int_equal(r.pause_ns, MS);
	assert_int_equal(r.rows[0].covered_ns, 50 * MS);
	assert_int_equal(r.rows[0].total_ns, 51 * MS);
	assert_int_equal(r.rows[0].stopped_ns, MS / 2);
	assert_int_equal(r.rows[0].waited_ns, 2 * MS);
	assert_int_equal(r.rows[0].collector_ns, 40 * MS);
	assert_int_equal(r.rows[0].program_ns, 30 * MS);
	assert_string_equal(r.rows[1].label, "cycle");
	assert_false(r.rows[1].stops);
	assert_int_equal(r.rows[1].stopped_ns, 0);
	assert_int_equal(r.rows[1].longest_stop.ns, 0);
	assert_true(r.utilisation[0] == 0.5);
	gcstat_free(g);
}

static void many_labels(void **ctx)
{
	struct gcstat *g = gcstat_new_limited(START, 100, 100, 3);
	struct gcstat_report r;
	char label[8];

	(void)ctx;
	for (unsigned i = 0; i < 10; i++) {
		snprintf(label, sizeof(label), "q%u", i);
		ADD(g, &park, label, i * MS, (10 - i) * MS);
	}
	r = report(g, 100 * MS);
	assert_int_equal(r.nrows, 5);
	assert_string_equal(r.rows[1].label, GCSTAT_OTHERS);
	assert_int_equal(r.rows[1].count, 7);
	assert_string_equal(r.rows[1].longest.label, "q3");
	assert_string_equal(r.rows[2].label, "q0");
	gcstat_free(g);
}

static uint64_t dice(uint64_t below) { return ((uint64_t)random() << 31 ^ (uint64_t)random()) % below; }

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest that at least this share of all is not longer than, found by counting. */
static uint64_t nearest_rank(const uint64_t *sorted, size_t n, unsigned permille)
{
	for (size_t i = 0; i < n; i++)
		if ((i + 1) * 1000 >= n * permille)
			return sorted[i];
	return sorted[n - 1];
}

static void percentiles(void **ctx)
{
	static const unsigned permille[] = { 1, 500, 900, 990, 999, 1000 };

	(void)ctx;
	srandom(3);
	for (unsigned round = 0; round < 300; round++) {
		size_t n = 1 + dice(round < 100 ? 12 : 3000), max = round % 2 ? 100000 : 500;
		AUTO_FREE uint64_t *all = malloc(n * sizeof(*all));
		struct lengths l = { .max = max };

		for (size_t i = 0; i < n; i++) {
			all[i] = dice(UINT64_C(1) << (1 + dice(50)));
			assert_int_equal(lengths_add(&l, all[i]), 0);
			if (i == n / 2)
				lengths_percentile(&l, 500); /* one may look in between */
		}
		qsort(all, n, sizeof(*all), by_size);
		for (size_t p = 0; p < ARRAY_SIZE(permille); p++) {
			uint64_t wanted = nearest_rank(all, n, permille[p]), seen = lengths_percentile(&l, permille[p]);

			if (n <= max)
				assert_int_equal(seen, wanted);
			else
				assert_in_range(seen, wanted - wanted / 128, wanted + wanted / 128);
		}
		lengths_done(&l);
	}
}

/* --- time as a line of moments, few enough to look at each --- */

#define MOMENTS 400

struct piece {
	uint64_t begin, end;
};

/* In the order of their ends; they overlap as they like. */
static size_t random_pieces(struct piece *p, size_t max)
{
	size_t n = 1 + dice(max);

	for (size_t i = 0; i < n; i++) {
		p[i].begin = dice(MOMENTS);
		p[i].end = p[i].begin + dice(dice(3) ? 20 : MOMENTS - p[i].begin);
		p[i].end = p[i].end > MOMENTS ? MOMENTS : p[i].end;
	}
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j && p[j].end < p[j - 1].end; j--) {
			struct piece swap = p[j];

			p[j] = p[j - 1];
			p[j - 1] = swap;
		}
	return n;
}

static void what_is_covered(void **ctx)
{
	static const struct cover_times none;
	struct piece p[40];

	(void)ctx;
	srandom(5);
	for (unsigned round = 0; round < 20000; round++) {
		bool covered[MOMENTS] = { 0 };
		struct cover c = { 0 };
		size_t n = random_pieces(p, ARRAY_SIZE(p));
		uint64_t sum = 0;

		for (size_t i = 0; i < n; i++) {
			assert_int_equal(cover_add(&c, p[i].begin, p[i].end, &none), 0);
			memset(covered + p[i].begin, true, p[i].end - p[i].begin);
		}
		for (size_t i = 0; i < MOMENTS; i++)
			sum += covered[i];
		assert_int_equal(c.total_ns, sum);
		cover_done(&c);
	}
}

/* More pieces than are kept: never more than there is, and not less when nothing is that long. */
static void much_is_covered(void **ctx)
{
	struct cover_times one = { { [COVER_STOPPED] = 1 } };
	struct cover c = { 0 };
	const uint64_t n = 3 * COVER_MAX;

	(void)ctx;
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(cover_add(&c, 10 * i, 10 * i + 5, &one), 0);
		assert_true(c.piece.n < COVER_MAX);
	}
	assert_int_equal(c.total_ns, 5 * n);
	assert_int_equal(c.times.ns[COVER_STOPPED], n);
	one.ns[COVER_STOPPED] = 10 * n;
	assert_int_equal(cover_add(&c, 0, 10 * n, &one), 0);
	assert_in_range(c.total_ns, 5 * n, 10 * n);
	cover_done(&c);
}

/* How much of each moment is stopped, as the pieces have it. */
static void moments_of(const struct stops *s, double stopped[MOMENTS])
{
	for (size_t i = 0; i < MOMENTS; i++)
		stopped[i] = 0;
	for (size_t i = 0; i < s->list.n; i++) {
		const struct stop *p = &s->list.v[i];

		assert_true(p->begin_ns < p->end_ns && p->end_ns <= MOMENTS);
		assert_true(p->stopped_ns <= p->end_ns - p->begin_ns);
		assert_true(!i || s->list.v[i - 1].end_ns <= p->begin_ns);
		for (size_t m = p->begin_ns; m < p->end_ns; m++)
			stopped[m] += (double)p->stopped_ns / (double)(p->end_ns - p->begin_ns);
	}
}

static double least_share(const double stopped[MOMENTS], size_t start, size_t end, size_t window)
{
	double worst = 0;

	for (size_t at = start; at + window <= end; at++) {
		double sum = 0;

		for (size_t m = at; m < at + window; m++)
			sum += stopped[m];
		worst = sum > worst ? sum : worst;
	}
	return 1 - worst / (double)window;
}

static void utilisation(void **ctx)
{
	struct piece p[30];

	(void)ctx;
	srandom(11);
	for (unsigned round = 0; round < 4000; round++) {
		bool covered[MOMENTS] = { 0 };
		struct stops s = { .max = 1000 };
		double stopped[MOMENTS], all = 0, pause = 0;
		size_t n = random_pieces(p, ARRAY_SIZE(p)), start = dice(MOMENTS / 2),
		       end = start + dice(MOMENTS - start);
		size_t window = 1 + dice(MOMENTS);
		double share = stops_utilisation(&s, start, end, window);

		assert_true(end - start < window ? share < 0 : share == 1);
		for (size_t i = 0; i < n; i++) {
			uint64_t ns = p[i].end - p[i].begin;

			assert_int_equal(stops_add(&s, p[i].begin, p[i].end, dice(2) ? ns : dice(ns + 1)), 0);
			memset(covered + p[i].begin, true, ns);
		}
		moments_of(&s, stopped);
		for (size_t m = 0; m < MOMENTS; m++) {
			all += stopped[m];
			pause += covered[m];
		}
		assert_true(pause == (double)s.pause_ns);
		assert_true(all > (double)s.stopped_ns - 1e-6 && all < (double)s.stopped_ns + 1e-6);
		share = stops_utilisation(&s, start, end, window);
		if (end - start < window)
			assert_true(share < 0);
		else
			assert_true(share > least_share(stopped, start, end, window) - 1e-9 &&
				    share < least_share(stopped, start, end, window) + 1e-9);
		stops_done(&s);
	}
}

/* Those in others: all of the time of the outermost is stopped as it says, whatever lies in it. */
static void outer_ones_have_the_say(void **ctx)
{
	(void)ctx;
	srandom(13);
	for (unsigned round = 0; round < 3000; round++) {
		struct stops s = { .max = 1000 };
		uint64_t at = 0, inner = 0, outer;

		while (at < 300) {
			uint64_t begin = at + dice(20), end = begin + 1 + dice(30), ns = dice(end - begin + 1);

			assert_int_equal(stops_add(&s, begin, end, ns), 0);
			inner += ns;
			at = end;
		}
		outer = inner + dice(at + 10 - s.pause_ns + 1);
		assert_int_equal(stops_add(&s, 0, at + 10, outer), 0);
		assert_int_equal(s.stopped_ns, outer);
		assert_int_equal(s.pause_ns, at + 10);
		stops_done(&s);
	}
}

static void check_bound(double few, double all) { assert_true(few <= all + 1e-9); }

/* Many even stops: what is joined is hardly worse. */
static void joined_well(void **ctx)
{
	struct stops s = { .max = 64 };

	(void)ctx;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(stops_add(&s, 1000 * i, 1000 * i + 30, 30), 0);
	assert_true(s.joined);
	assert_true(stops_utilisation(&s, 0, 1000000, 200000) > 0.95);
	assert_true(stops_utilisation(&s, 0, 1000000, 200000) <= 0.97);
	stops_done(&s);
}

/* More stops than are kept: sums and histogram stay, utilisation is never said to be more than it was. */
static void joined(void **ctx)
{
	(void)ctx;
	srandom(17);
	for (unsigned round = 0; round < 200; round++) {
		struct stops few = { .max = 8 + dice(30) }, all = { .max = 100000 };
		uint64_t at = 1000, a[GCSTAT_BUCKETS], b[GCSTAT_BUCKETS];

		for (unsigned i = 0; i < 300; i++) {
			uint64_t begin = at + 1 + dice(100000), ns = 1 + dice(100000), stopped = dice(ns + 1);

			at = begin + ns;
			assert_int_equal(stops_add(&few, begin, at, stopped), 0);
			assert_int_equal(stops_add(&all, begin, at, stopped), 0);
			assert_true(few.list.n <= few.max);
		}
		assert_true(few.joined && !all.joined);
		assert_int_equal(few.stopped_ns, all.stopped_ns);
		assert_int_equal(few.pause_ns, all.pause_ns);
		assert_int_equal(stops_histogram(&few, a), stops_histogram(&all, b));
		assert_memory_equal(a, b, sizeof(a));
		for (uint64_t window = 1000; window < at; window *= 4)
			check_bound(stops_utilisation(&few, 0, at, window), stops_utilisation(&all, 0, at, window));
		stops_done(&few);
		stops_done(&all);
	}
}

UNIT_TESTS(gcstat)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),	   cmocka_unit_test(rows),
		cmocka_unit_test(stops_in_stops),  cmocka_unit_test(beside_the_program),
		cmocka_unit_test(many_labels),	   cmocka_unit_test(percentiles),
		cmocka_unit_test(what_is_covered), cmocka_unit_test(much_is_covered),
		cmocka_unit_test(utilisation),	   cmocka_unit_test(outer_ones_have_the_say),
		cmocka_unit_test(joined),	   cmocka_unit_test(joined_well),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The summary of `usertrace gc`: five whole texts, and that the JSON says the numbers of the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/width.h"
#include "gc_cases.h"
#include "report/gc_priv.h"
#include "unit.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static const struct collect_def gc = { .runtime = "R", .kind = "gc", .stops = true };
static const struct collect_def cycle = { .runtime = "R", .kind = "gc" };
static const struct collect_def sweep = { .runtime = "R", .kind = "gc-phase", .part_of = "gc", .stops = true };
static const struct collect_def request = { .runtime = "P", .kind = "request" };
static const struct collect_def parse = { .runtime = "P", .kind = "request", .part_of = "request" };

static char *text_of(struct gcstat *g, uint64_t ns, const struct report_gc_who *who)
{
	struct gcstat_report r;
	struct buf out = { 0 };

	assert_int_equal(gcstat_report(g, START + ns, &r), 0);
	report_gc_text(&r, who, &out);
	return buf_take(&out);
}

static void text_is(struct gcstat *g, uint64_t ns, const struct report_gc_who *who, const char *wanted)
{
	AUTO_FREE char *text = text_of(g, ns, who);

	assert_non_null(text);
	if (strcmp(text, wanted) != 0)
		print_message("%s", text);
	assert_string_equal(text, wanted);
	gcstat_free(g);
}

static struct gcstat *java(void)
{
	struct gcstat *g = gcstat_new(START);

	for (unsigned i = 0; i < 120; i++)
		ADD(g, &gc, "young", i * 100 * MS, (2000 + 10 * i) * US, .stopped_ns = (1950 + 10 * i) * US,
		    .collector_ns = 3 * MS, .cause = "G1 Evacuation Pause", .freed = 10 << 20);
	ADD(g, &gc, "full", 12020 * MS, 84100 * US, .stopped_ns = 84 * MS, .collector_ns = 150 * MS,
	    .cause = "System.gc()", .freed = 100 << 20);
	ADD(g, &gc, "young", 12200 * MS, 100 * MS, .end = SPAN_OPEN);
	return g;
}

static void a_java_program(void **ctx)
{
	const struct report_gc_who who = { .pid = 4242,
					   .comm = "java",
					   .runtime = "HotSpot",
					   .version = "17.0.15",
					   .wall_start_ns = UINT64_C(1700000000123456789) };

	(void)ctx;
	text_is(java(), 12300 * MS, &who,
		"java 4242 (HotSpot 17.0.15): stopped 3.2 % of the time; "
		"longest stop 84 ms (full collection, requested by System.gc())\n"
		"watched for 12.3 s from 22:13:20 on\n"
		"\n"
		"WHAT            COUNT   TOTAL   SHARE  MEDIAN    90 %    99 %  99.9 % LONGEST      AT CAUSE\n"
		"gc                121  396 ms   3.2 %  2.6 ms 3.08 ms 3.19 ms 84.1 ms 84.1 ms 12.02 s System.gc()\n"
		"  young           120  311 ms   2.5 % 2.59 ms 3.07 ms 3.18 ms 3.19 ms 3.19 ms 11.90 s G1 Evacuation…\n"
		"  full              1 84.1 ms   0.7 % 84.1 ms 84.1 ms 84.1 ms 84.1 ms 84.1 ms 12.02 s System.gc()\n"
		"\n"
		"stopped   389 ms in 121 stops, in pauses of 396 ms\n"
		"waited    threads of the program for 779 ms in total\n"
		"collector 510 ms of CPU time (4.1 % of one CPU); the program's threads ran for 3.05 ms meanwhile\n"
		"freed     1.27G\n"
		"\n"
		"minimum mutator utilization\n"
		"   0.1 % over 1 ms\n"
		"   0.1 % over 10 ms\n"
		"  16.0 % over 100 ms\n"
		"  89.1 % over 1 s\n"
		"  96.5 % over 10 s\n"
		"\n"
		"stops by duration\n"
		" 1.02 ms to 2.05 ms     10  ####\n"
		" 2.05 ms to  4.1 ms    110  ########################################\n"
		"  4.1 ms to 8.19 ms      0\n"
		" 8.19 ms to 16.4 ms      0\n"
		" 16.4 ms to 32.8 ms      0\n"
		" 32.8 ms to 65.5 ms      0\n"
		" 65.5 ms to  131 ms      1  #\n"
		"\n"
		"1 collection still open when tracing stopped: not counted\n");
}

/* A collector that works beside the program: cycle, pause and stop differ. */
static void a_concurrent_collector(void **ctx)
{
	const struct report_gc_who who = {
		.pid = 7, .comm = "java", .runtime = "HotSpot", .version = "", .ended = true
	};
	struct gcstat *g = gcstat_new(START);

	(void)ctx;
	for (unsigned i = 0; i < 3; i++) {
		ADD(g, &gc, "pause", (200 + i * 300) * MS, 300 * US, .stopped_ns = 60 * US, .collector_ns = 100 * US);
		ADD(g, &gc, "pause", (280 + i * 300) * MS, 100 * US, .stopped_ns = 20 * US, .collector_ns = 70 * US,
		    .cause = "Allocation Stall");
		ADD(g, &cycle, "cycle", (190 + i * 300) * MS, 100 * MS, .stopped_ns = 30 * MS, .collector_ns = 90 * MS,
		    .cause = "Warmup");
	}
	text_is(g, 1000 * MS, &who,
		"java 7 (HotSpot): stopped 0.02 % of the time, paused 0.1 %, collected concurrently for 30.0 %; "
		"longest stop 60 µs (pause)\n"
		"watched for 1 s, until it exited\n"
		"\n"
		"WHAT            COUNT   TOTAL   SHARE  MEDIAN    90 %    99 %  99.9 % LONGEST      AT CAUSE\n"
		"gc                  9  301 ms  30.0 %  300 µs  100 ms  100 ms  100 ms  100 ms  190 ms Warmup\n"
		"  cycle             3  300 ms  30.0 %  100 ms  100 ms  100 ms  100 ms  100 ms  190 ms Warmup\n"
		"  pause             6  1.2 ms   0.1 %  100 µs  300 µs  300 µs  300 µs  300 µs  200 ms\n"
		"\n"
		"stopped   240 µs in 6 stops, in pauses of 1.2 ms\n"
		"waited    threads of the program for 480 µs in total\n"
		"collector 270 ms of CPU time (27.0 % of one CPU); the program's threads ran for 105 ms meanwhile\n"
		"\n"
		"minimum mutator utilization\n"
		"  94.0 % over 1 ms\n"
		"  99.4 % over 10 ms\n"
		"  99.9 % over 100 ms\n"
		"  99.9 % over 1 s\n"
		"\n"
		"stops by duration\n"
		"   16 µs to   32 µs      3  ########################################\n"
		"   32 µs to   64 µs      3  ########################################\n");
}

/* Of one thread that stood still from begin to end and that nobody waited with: each fact once. */
static void stopped_all_the_time(void **ctx)
{
	const struct report_gc_who who = { .pid = 7, .comm = "java" };
	struct gcstat *g = gcstat_new(START);
	struct collect_span span = { .def = &gc,
				     .label = "young",
				     .begin_ns = START + MS,
				     .end_ns = START + 3 * MS,
				     .stall = { .known = true, .stopped_ns = 2 * MS, .collector_ns = 2 * MS } };
	AUTO_FREE char *text = NULL;

	(void)ctx;
	assert_int_equal(gcstat_add(g, &span), 0);
	text = text_of(g, 100 * MS, &who);
	assert_non_null(strstr(text, "\nstopped   2 ms in 1 stop\ncollector 2 ms of"));
	gcstat_free(g);
}

/* Phases in parts, no measuring, a name that is not safe to print, losses and cuts of every sort. */
static void without_measuring(void **ctx)
{
	static const char *const hints[] = { "start it with --trace-gc to see more", "a\033b" };
	const struct report_gc_who who = {
		.pid = 9, .comm = "ru\nby", .runtime = "CRuby", .lost = 12, .hints = hints, .nhints = 2
	};
	struct gcstat *g = gcstat_new(START);

	(void)ctx;
	ADD(g, &sweep, "sweep", 0, 3 * MS, .end = SPAN_BEFORE_ATTACH);
	for (unsigned i = 0; i < 4; i++) {
		ADD(g, &gc, "mark", (10 + i * 20) * MS, 4 * MS, .lost_inside = i == 1);
		for (unsigned s = 0; s < 6; s++)
			ADD(g, &sweep, "sweep", (15 + i * 20 + s * 2) * MS, 90 * US);
	}
	ADD(g, &sweep, "lazy\tsweep", 97 * MS, 20 * US);
	ADD(g, &gc, "mark", 98 * MS, 1 * MS, .end = SPAN_PROCESS_EXITED);
	ADD(g, &gc, "mark", 99 * MS, 1 * MS, .end = SPAN_LOST);
	ADD(g, &gc, "mark", 99 * MS, 1 * MS, .end = SPAN_INHERITED);
	text_is(g, 100 * MS, &who,
		"ru\\nby 9 (CRuby): paused 18.2 % of the time; "
		"longest pause 4 ms (mark phase) (durations only; stopped time was not measured)\n"
		"watched for 100 ms\n"
		"\n"
		"WHAT            COUNT   TOTAL   SHARE  MEDIAN    90 %    99 %  99.9 % LONGEST      AT CAUSE\n"
		"gc mark             4   16 ms  16.0 %    4 ms    4 ms    4 ms    4 ms    4 ms   10 ms\n"
		"gc-phase           25 2.18 ms   2.2 %   90 µs   90 µs   90 µs   90 µs   90 µs   15 ms\n"
		"  sweep            24 2.16 ms   2.2 %   90 µs   90 µs   90 µs   90 µs   90 µs   15 ms\n"
		"  lazy\\tsweep       1   20 µs  0.02 %   20 µs   20 µs   20 µs   20 µs   20 µs   97 ms\n"
		"\n"
		"paused    18.2 ms in 29 pauses\n"
		"parts     6.0 sweeps to each gc\n"
		"parts     0.2 lazy\\tsweeps to each gc\n"
		"\n"
		"minimum mutator utilization\n"
		"     0 % over 1 ms\n"
		"  57.3 % over 10 ms\n"
		"  81.8 % over 100 ms\n"
		"\n"
		"pauses by duration\n"
		"   16 µs to   32 µs      1  ##\n"
		"   32 µs to   64 µs      0\n"
		"   64 µs to  128 µs     24  ########################################\n"
		"  128 µs to  256 µs      0\n"
		"  256 µs to  512 µs      0\n"
		"  512 µs to 1.02 ms      0\n"
		" 1.02 ms to 2.05 ms      0\n"
		" 2.05 ms to  4.1 ms      4  #######\n"
		"\n"
		"1 span began before tracing: not counted\n"
		"1 span ended by the exit of its thread or process: not counted\n"
		"1 span began in the parent before a fork: not counted\n"
		"1 span incomplete (events were lost, or too many spans were open): not counted\n"
		"1 span may be shorter than reported: events were lost meanwhile\n"
		"12 events were lost, so the numbers may be too low; use a larger --buffer\n"
		"start it with --trace-gc to see more\n"
		"a\\x1bb\n");
}

static void nothing_that_stops(void **ctx)
{
	const struct report_gc_who who = { .pid = 11, .comm = "postgres", .runtime = "PostgreSQL", .version = "15.13" };
	struct gcstat *g = gcstat_new(START);

	(void)ctx;
	ADD(g, &request, "query", 10 * MS, 30 * MS);
	ADD(g, &request, "query", 20 * MS, 15 * MS);
	ADD(g, &request, "sort", 22 * MS, 2 * MS);
	ADD(g, &request, "vacuum", 24 * MS, 2 * MS, .end = SPAN_OPEN);
	text_is(g, 2500 * MS, &who,
		"postgres 11 (PostgreSQL 15.13): no stops; "
		"3 requests took 1.2 % of the time, longest 30 ms\n"
		"watched for 2.5 s\n"
		"\n"
		"WHAT            COUNT   TOTAL   SHARE  MEDIAN    90 %    99 %  99.9 % LONGEST      AT CAUSE\n"
		"request             3   47 ms   1.2 %   15 ms   30 ms   30 ms   30 ms   30 ms   10 ms\n"
		"  query             2   45 ms   1.2 %   15 ms   30 ms   30 ms   30 ms   30 ms   10 ms\n"
		"  sort              1    2 ms  0.08 %    2 ms    2 ms    2 ms    2 ms    2 ms   22 ms\n"
		"\n"
		"1 request still open when tracing stopped: not counted\n");
}

/* Files in one folder have the begin of their names in common. */
static void paths(void **ctx)
{
	const struct report_gc_who who = { .pid = 1 };
	struct gcstat *g = gcstat_new(START);
	AUTO_FREE char *three = NULL, *two = NULL, *one = NULL;

	(void)ctx;
	ADD(g, &request, "/usr/lib/ruby/set.rb", 0, 2 * MS);
	one = text_of(g, 100 * MS, &who);
	assert_non_null(strstr(one, "\nrequest …et.rb      1    2 ms"));
	ADD(g, &request, "/usr/lib/ruby/json.rb", 10 * MS, 1 * MS);
	two = text_of(g, 100 * MS, &who);
	assert_non_null(strstr(two, "\n  …ruby/set.rb      1    2 ms"));
	assert_non_null(strstr(two, "\n  …uby/json.rb      1    1 ms"));
	ADD(g, &parse, "parse", 20 * MS, 1 * MS);
	three = text_of(g, 100 * MS, &who);
	assert_non_null(strstr(three, "\n  parse             1    1 ms"));
	assert_null(strstr(three, "parts")); /* of requests, which have it among them */
	gcstat_free(g);
}

static void nothing_at_all(void **ctx)
{
	static const char *const hints[] = { "this build has no probes" };
	const struct report_gc_who who = { .pid = 12, .comm = "lua", .runtime = "Lua", .hints = hints, .nhints = 1 };

	(void)ctx;
	text_is(gcstat_new(START), 2500 * MS, &who,
		"lua 12 (Lua): no collections in 2.5 s\n"
		"watched for 2.5 s\n"
		"\n"
		"this build has no probes\n");
}

static char *sentence_of(struct gcstat *g, uint64_t ns, const char *runtime)
{
	const struct report_gc_who who = { .pid = 1, .runtime = runtime };
	struct gcstat_report r;
	struct buf out = { 0 };

	assert_int_equal(gcstat_report(g, START + ns, &r), 0);
	report_gc_sentence(&r, &who, &out);
	gcstat_free(g);
	return buf_take(&out);
}

static void sentences(void **ctx)
{
	static const struct {
		struct gc_case c;
		const char *wanted;
	} cases[] = {
		{ { .def = &gc, .label = "old", .ns = 31 * MS, .stopped_ns = 31 * MS, .collector_ns = 1 },
		  "stopped 3.1 % of the time; only stop 31 ms (old collection)" },
		{ { .def = &gc,
		    .label = "gc",
		    .ns = 1 * MS,
		    .stopped_ns = 1 * MS,
		    .collector_ns = 1,
		    .cause = "Allocation Failure" },
		  "stopped 0.1 % of the time; only stop 1 ms (collection, triggered by: Allocation Failure)" },
		{ { .def = &gc,
		    .label = "G1 Pause",
		    .ns = 60 * US,
		    .stopped_ns = 50 * US,
		    .collector_ns = 1,
		    .cause = "gc()" },
		  "stopped <0.01 % of the time; only stop 50 µs (G1 Pause, requested by gc())" },
		{ { .def = &gc, .label = "full", .ns = 1000 * MS, .stopped_ns = 600 * MS, .collector_ns = 1 },
		  "stopped 60.0 % of the time in pauses of 100 %; only stop 600 ms (full "
		  "collection)" },
		{ { .def = &sweep, .label = "sweep", .ns = 1 * MS },
		  "paused 0.1 % of the time; only pause 1 ms (phase sweep) "
		  "(durations only; stopped time was not measured)" },
		{ { .def = &cycle, .label = "cycle", .ns = 1 * MS },
		  "never stopped; 1 concurrent collection took 0.1 % of the time" },
		{ { .def = &gc, .label = "full", .ns = 1 * MS, .end = SPAN_OPEN }, "no span was complete in 1 s" },
	};

	(void)ctx;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gcstat *g = gcstat_new(START);
		AUTO_FREE char *text = NULL;

		gc_case_add(g, &cases[i].c);
		text = sentence_of(g, 1000 * MS, "R");
		assert_string_equal(text, cases[i].wanted);
	}
	for (unsigned known = 0; known < 2; known++) {
		AUTO_FREE char *text = sentence_of(gcstat_new(START), 1000 * MS, known ? "R" : NULL);

		assert_string_equal(text, known ? "no collections in 1 s" : "no known runtime and no events in 1 s");
	}
}

static void percents(void **ctx)
{
	static const struct {
		double part;
		const char *wanted;
	} cases[] = {
		{ 0, "0 %" },	      { 1e-9, "<0.01 %" }, { 0.00049, "0.05 %" },
		{ 0.00096, "0.1 %" }, { 0.031, "3.1 %" },  { 0.9994, "99.9 %" },
		{ 0.99951, "100 %" }, { 1, "100 %" },	   { 1.2, "100 %" },
	};
	char text[32];

	(void)ctx;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(gc_percent(cases[i].part, 1, text), cases[i].wanted);
	assert_string_equal(gc_percent(1, 0, text), "0 %");
}

/* Every line of a usual table fits. */
static void widths(void **ctx)
{
	const struct report_gc_who who = { .pid = 1, .comm = "java", .runtime = "HotSpot" };
	struct gcstat *g = java();
	AUTO_FREE char *text = text_of(g, 12300 * MS, &who);
	char *line = strtok(strchr(text, '\n'), "\n"); /* behind the sentence */

	(void)ctx;
	for (; line; line = strtok(NULL, "\n"))
		assert_true(text_width(line, strlen(line)) <= 100);
	gcstat_free(g);
}

static void has(const char *json, const char *part)
{
	if (!strstr(json, part))
		print_message("no %s in %s", part, json);
	assert_non_null(strstr(json, part));
}

static void numbers(const char *json, const char *key, uint64_t v)
{
	char part[96];

	snprintf(part, sizeof(part), "\"%s\":%llu", key, (unsigned long long)v);
	has(json, part);
}

static uint64_t dice(uint64_t below) { return (uint64_t)random() % below; }

/* The JSON has each number of the report, whatever that is, and its brackets match. */
static void json(void **ctx)
{
	(void)ctx;
	srandom(3);
	for (unsigned round = 0; round < 300; round++) {
		const struct report_gc_who who = {
			.pid = 5, .comm = "a\"b", .runtime = "R", .version = round % 2 ? "1" : NULL, .lost = dice(3)
		};
		struct gcstat *g = gcstat_new(START);
		struct gcstat_report r;
		struct buf out = { 0 };
		int depth = 0;
		uint64_t at = 0;

		for (uint64_t n = dice(40); n--; at += dice(20 * MS))
			ADD(g, dice(2) ? &gc : &cycle, dice(2) ? "one" : "two", at, dice(10 * MS),
			    .stopped_ns = dice(MS), .collector_ns = dice(2),
			    .end = dice(5) ? SPAN_COMPLETE : SPAN_PROCESS_EXITED, .cause = "\"\n");
		assert_int_equal(gcstat_report(g, START + at + 20 * MS, &r), 0);
		report_gc_json(&r, &who, &out);
		has(out.data, "\"comm\":\"a\\\"b\"");
		numbers(out.data, "stops", r.stops);
		numbers(out.data, "pause_ns", r.pause_ns);
		if (r.ends[SPAN_PROCESS_EXITED])
			numbers(out.data, "process-exited", r.ends[SPAN_PROCESS_EXITED]);
		numbers(out.data, "lost", who.lost);
		assert_true(!strstr(out.data, "\"version\"") == !who.version);
		for (size_t i = 0; i < r.nrows; i++) {
			numbers(out.data, "count", r.rows[i].count);
			numbers(out.data, "total_ns", r.rows[i].total_ns);
			numbers(out.data, "covered_ns", r.rows[i].covered_ns);
			if (r.rows[i].count)
				numbers(out.data, "p99_ns", r.rows[i].p99_ns);
		}
		for (size_t i = 0; i < out.len; i++) {
			depth +=
				(out.data[i] == '{' || out.data[i] == '[') - (out.data[i] == '}' || out.data[i] == ']');
			assert_true(depth > 0 || i + 2 >= out.len);
		}
		assert_int_equal(depth, 0);
		assert_null(strstr(out.data, ",}"));
		assert_null(strstr(out.data, ",]"));
		assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);
		buf_done(&out);
		gcstat_free(g);
	}
}

UNIT_TESTS(report_gc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_java_program),
		cmocka_unit_test(a_concurrent_collector),
		cmocka_unit_test(stopped_all_the_time),
		cmocka_unit_test(without_measuring),
		cmocka_unit_test(nothing_that_stops),
		cmocka_unit_test(paths),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(sentences),
		cmocka_unit_test(percents),
		cmocka_unit_test(widths),
		cmocka_unit_test(json),
	};

	setenv("TZ", "UTC", 1);
	return unit_run(tests, NULL, NULL);
}

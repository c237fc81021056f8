/* SPDX-License-Identifier: MIT */
/* Lines of spans: columns, colour, what stands at the end, odd names, JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "live/gc.h"
#include "unit.h"

#define START 5000000000u

static const struct collect_def gc_def = { .runtime = "HotSpot", .kind = "gc", .stops = true };
static const struct collect_def compile_def = { .runtime = "HotSpot", .kind = "compile" };

static struct collect_span young(void)
{
	return (struct collect_span){
		.def = &gc_def,
		.pid = 1234,
		.tid = 1240,
		.comm = "java",
		.begin_ns = START + 1500000000u,
		.end_ns = START + 1503210000u,
		.number = 17,
		.label = "young",
		.cause = "G1 Evacuation Pause",
		.has_before = true,
		.has_after = true,
		.before = 128 << 20,
		.after = 65798144,
		.has_freed = true,
		.freed = (128 << 20) - 65798144,
		.stall = { .known = true,
			   .stopped_ns = 3190000,
			   .program_ns = 12000,
			   .collector_ns = 6100000,
			   .waited_ns = 9000000 },
	};
}

static void assert_line(const struct live_gc_options *o, const struct collect_span *s, const char *expected)
{
	struct buf out = { 0 };

	live_gc_line(o, s, &out);
	assert_string_equal(out.data, expected);
	buf_done(&out);
}

static void test_columns(void **state)
{
	struct live_gc_options o = { .start_ns = START };
	struct collect_span s = young();
	struct buf out = { 0 };

	(void)state;
	live_gc_header(&o, &out);
	assert_string_equal(out.data, "     SECONDS WHAT                      PAUSE  STOPPED   GC CPU       FREED"
				      "        HEAP CAUSE\n");
	assert_line(&o, &s,
		    "    1.500000 young                   3.21 ms  3.19 ms   6.1 ms       65.2M"
		    "  128M→62.8M G1 Evacuation Pause\n");
	o.process = true;
	buf_reset(&out);
	live_gc_header(&o, &out);
	assert_string_equal(out.data,
			    "     SECONDS      PID COMM             WHAT                      PAUSE  STOPPED   GC CPU"
			    "       FREED        HEAP CAUSE\n");
	assert_line(&o, &s,
		    "    1.500000     1234 java             young                   3.21 ms  3.19 ms   6.1 ms"
		    "       65.2M  128M→62.8M G1 Evacuation Pause\n");
	buf_done(&out);
}

static void test_what_is_not_known_is_a_dash(void **state)
{
	struct live_gc_options o = { .start_ns = START };
	struct collect_span s = { .def = &gc_def, .label = "gc", .begin_ns = START - 250000, .end_ns = START };

	(void)state;
	assert_line(&o, &s, "   -0.000250 gc                       250 µs        -        -           -           -\n");
	s.has_objects = true;
	s.objects = 999999;
	s.has_after = true;
	s.after = 1023 << 20;
	assert_line(&o, &s, "   -0.000250 gc                       250 µs        -        - 999,999 obj      →1023M\n");
	s.has_freed = true;
	s.freed = 4096;
	s.has_before = true;
	s.before = 1;
	assert_line(&o, &s,
		    "   -0.000250 gc                       250 µs        -        -          4K    1B→1023M 999,999 "
		    "objects\n");
	s.objects = 1;
	s.end_ns = s.begin_ns - 1;
	assert_line(
		&o, &s,
		"   -0.000250 gc                         0 ns        -        -          4K    1B→1023M 1 object\n");
}

static void test_kinds_and_names(void **state)
{
	struct live_gc_options o = { .start_ns = START };
	struct collect_span s = { .def = &compile_def, .label = "compile", .begin_ns = START, .end_ns = START + 1000 };

	(void)state;
	assert_line(&o, &s, "    0.000000 compile                    1 µs        -        -           -           -\n");
	s.label = "tier 4";
	strcpy(s.name, "String::hashCode");
	strcpy(s.cause, "hot");
	assert_line(&o, &s,
		    "    0.000000 compile tier 4             1 µs        -        -           -           - "
		    "hot; String::hashCode\n");
	s.label = s.name;
	assert_line(&o, &s,
		    "    0.000000 compile String::hashC…     1 µs        -        -           -           - "
		    "hot; String::hashCode\n");
	strcpy(s.name, "/usr/lib/ruby/set.rb");
	assert_line(&o, &s,
		    "    0.000000 compile …b/ruby/set.rb     1 µs        -        -           -           - "
		    "hot; /usr/lib/ruby/set.rb\n");
}

static void test_foreign_text_is_escaped(void **state)
{
	struct live_gc_options o = { .start_ns = START, .process = true };
	struct collect_span s = { .def = &gc_def,
				  .pid = 4194304,
				  .comm = "a\033[31m\nb",
				  .label = "x\033]0;y\a",
				  .begin_ns = START,
				  .end_ns = START + 1 };

	(void)state;
	strcpy(s.cause, "two\nlines\xff");
	assert_line(&o, &s,
		    "    0.000000  4194304 a\\x1b[31m\\nb     x\\x1b]0;y\\x07              1 ns        -        -"
		    "           -           - two\\nlines\\xff\n");
	memcpy(s.comm, "漢字größe1234", 16); /* no NUL at its end */
	s.label = "größte";
	s.cause[0] = '\0';
	assert_line(&o, &s,
		    "    0.000000  4194304 漢字größe123     größte                     1 ns        -        -"
		    "           -           -\n");
	memcpy(s.comm, "fifteen-bytes-x", 16);
	assert_line(&o, &s,
		    "    0.000000  4194304 fifteen-bytes-x  größte                     1 ns        -        -"
		    "           -           -\n");
}

static void test_words_at_the_end(void **state)
{
	static const struct {
		enum span_end end;
		const char *pause, *words;
	} cases[] = {
		{ SPAN_BEFORE_ATTACH, ">3.21 ms  3.19 ms   6.1 ms", "began before tracing" },
		{ SPAN_OPEN, ">3.21 ms  3.19 ms   6.1 ms", "still open when tracing stopped" },
		{ SPAN_PROCESS_EXITED, " 3.21 ms  3.19 ms   6.1 ms", "the process exited inside" },
		{ SPAN_EXEC, " 3.21 ms  3.19 ms   6.1 ms", "the process called exec inside" },
		{ SPAN_THREAD_EXITED, " 3.21 ms  3.19 ms   6.1 ms", "its thread exited inside" },
		{ SPAN_INHERITED, "       -        -        -", "began in the parent before a fork" },
		{ SPAN_LOST, "       -        -        -", "its begin or its end was lost" },
	};
	struct live_gc_options o = { .start_ns = START };
	struct collect_span s = young();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[200];

		s.end = cases[i].end;
		snprintf(line, sizeof(line),
			 "    1.500000 young                  %s       65.2M  128M→62.8M G1 Evacuation Pause; %s\n",
			 cases[i].pause, cases[i].words);
		assert_line(&o, &s, line);
	}
	s.end = SPAN_COMPLETE;
	s.stall.held_ns = 2000000000u;
	s.lost_inside = true;
	s.cause[0] = '\0';
	assert_line(&o, &s,
		    "    1.500000 young                   3.21 ms  3.19 ms   6.1 ms       65.2M  128M→62.8M "
		    "held 2 s by a signal or a debugger; events were lost inside\n");
}

/* The same line with and without colour, but for the sequences. */
static void assert_colored(const struct collect_span *s, const char *what, const char *times)
{
	struct live_gc_options plain = { .start_ns = START }, color = { .start_ns = START, .color = true };
	struct buf a = { 0 }, b = { 0 }, stripped = { 0 };

	live_gc_line(&plain, s, &a);
	live_gc_line(&color, s, &b);
	for (const char *p = b.data; *p; p++) {
		if (*p == '\033')
			p = strchr(p, 'm');
		else
			buf_addc(&stripped, *p);
	}
	assert_string_equal(a.data, stripped.data);
	if (what)
		assert_non_null(strstr(b.data, what));
	if (times)
		assert_non_null(strstr(b.data, times));
	if (!what && !times)
		assert_null(strchr(b.data, '\033'));
	buf_done(&a);
	buf_done(&b);
	buf_done(&stripped);
}

static void test_color(void **state)
{
	struct collect_span s = young();

	(void)state;
	assert_colored(&s, NULL, NULL);
	s.stall.stopped_ns = 9999999;
	assert_colored(&s, NULL, NULL);
	s.stall.stopped_ns = 10000000;
	assert_colored(&s, NULL, "\033[33m 3.21 ms\033[0m \033[33m   10 ms\033[0m ");
	s.stall.stopped_ns = 100000000;
	assert_colored(&s, NULL, "\033[31m  100 ms\033[0m ");
	s.stall.known = false;
	s.end_ns = s.begin_ns + 20000000;
	assert_colored(&s, NULL, "\033[33m   20 ms\033[0m        - ");
	s.def = &compile_def;
	assert_colored(&s, NULL, NULL);
	s = young();
	s.label = "full";
	assert_colored(&s, "\033[1mfull                  \033[0m ", NULL);
	s.label = "Pause Full (System.gc())";
	assert_colored(&s, "\033[1mPause Full", NULL);
	s.label = "fuller";
	assert_colored(&s, NULL, NULL);
}

static void assert_json(const struct live_gc_options *o, const struct collect_span *s, const char *expected)
{
	struct live_gc_options json = *o;

	json.json = true;
	assert_line(&json, s, expected);
}

static void test_json(void **state)
{
	static const struct collect_value values[] = {
		{ .name = "used", .number = 5 }, { .name = "generation", .number = -2 },
		{ .name = "used", .number = 3 }, { .name = "pool", .is_text = true, .text = "G1 \"Eden\"", .len = 9 },
		{ .name = "used", .number = 1 },
	};
	struct live_gc_options o = { .start_ns = START };
	struct collect_span s = young();
	struct buf out = { 0 };

	(void)state;
	assert_json(&o, &s,
		    "{\"type\":\"span\",\"kind\":\"gc\",\"runtime\":\"HotSpot\",\"pid\":1234,\"tid\":1240,\"comm\":"
		    "\"java\","
		    "\"number\":17,\"label\":\"young\",\"cause\":\"G1 Evacuation Pause\",\"begin_ns\":6500000000,"
		    "\"end_ns\":6503210000,\"duration_ns\":3210000,\"stopped_ns\":3190000,\"waited_ns\":9000000,"
		    "\"collector_ns\":6100000,\"program_ns\":12000,\"held_ns\":0,\"before_bytes\":134217728,\"after_"
		    "bytes\":65798144,"
		    "\"freed_bytes\":68419584,\"end\":\"complete\"}\n");
	s = (struct collect_span){ .def = &compile_def,
				   .label = "a\"b\n",
				   .comm = "fifteen-bytes-x",
				   .begin_ns = START,
				   .end_ns = START,
				   .end = SPAN_PROCESS_EXITED,
				   .lost_inside = true,
				   .nested = true,
				   .has_objects = true,
				   .has_heap = true,
				   .heap = 7,
				   .values = values,
				   .nvalues = ARRAY_SIZE(values) };
	memset(s.comm, 'x', sizeof(s.comm));
	strcpy(s.name, "n");
	o.mono_ns = START;
	o.wall_ns = UINT64_C(1769860800000000001);
	assert_json(
		&o, &s,
		"{\"type\":\"span\",\"kind\":\"compile\",\"runtime\":\"HotSpot\",\"pid\":0,\"tid\":0,"
		"\"comm\":\"xxxxxxxxxxxxxxxx\",\"number\":0,\"label\":\"a\\\"b\\n\",\"name\":\"n\",\"begin_ns\":"
		"5000000000,"
		"\"end_ns\":5000000000,\"wall_ns\":1769860800000000001,\"duration_ns\":0,\"freed_objects\":0,"
		"\"heap_bytes\":7,\"end\":\"process-exited\",\"nested\":true,\"lost_inside\":true,\"args\":{\"used\":5,"
		"\"generation\":-2,\"used_at_end\":3,\"pool\":\"G1 \\\"Eden\\\"\"}}\n");
	o.json = true;
	live_gc_header(&o, &out);
	assert_int_equal(out.len, 0);
	buf_done(&out);
}

static void test_lost(void **state)
{
	struct live_gc_options o = { .start_ns = START };
	struct buf out = { 0 };

	(void)state;
	live_gc_lost(&o, 1, 0, START + 1500, &out);
	live_gc_lost(&o, 2, START + 1000000000, START, &out);
	assert_string_equal(out.data, "-- 1 event lost between 0.000000 and 0.000002 --\n"
				      "-- 2 events lost between 1.000000 and 1.000000 --\n");
	o.json = true;
	buf_reset(&out);
	live_gc_lost(&o, 3, 0, START + 9, &out);
	assert_string_equal(out.data,
			    "{\"type\":\"lost\",\"count\":3,\"begin_ns\":5000000000,\"end_ns\":5000000009}\n");
	buf_done(&out);
}

UNIT_TESTS(live_gc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_what_is_not_known_is_a_dash),
		cmocka_unit_test(test_kinds_and_names),
		cmocka_unit_test(test_foreign_text_is_escaped),
		cmocka_unit_test(test_words_at_the_end),
		cmocka_unit_test(test_color),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_lost),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The live printer: columns, times, values of every type and state, JSON, stacks, losses, damaged records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/auto.h"
#include "live_records.h"
#include "unit.h"

static void assert_printed(struct test_event *t, const struct live_options *opts, const char *expected)
{
	struct buf out = { 0 };

	print_event(t, opts, &out);
	assert_string_equal(out.data, expected);
	buf_done(&out);
}

static void assert_message(struct test_event *t, const char *expected)
{
	struct buf out = { 0 };

	assert_string_equal(event_message(t, &out), expected);
	buf_done(&out);
}

static void assert_header(const struct live_options *opts, const char *expected)
{
	struct live_printer *p = live_printer_new(opts);
	struct buf out = { 0 };

	live_header(p, &out);
	assert_string_equal(out.data ? out.data : "", expected);
	buf_done(&out);
	live_printer_free(p);
}

static void test_columns(void **state)
{
	struct live_options opts = { 0 };
	struct test_event *t = event_new("u:zoo:one \"gen %d\"", 0);

	(void)state;
	event_set(t, 0, 2);
	assert_header(&opts, "PID     TID     COMM            FUNC             -\n");
	assert_printed(t, &opts, "1234    1235    java            gc__begin        gen 2\n");
	opts.cpu = opts.since_start = true;
	opts.start_ns = 2500000000u;
	assert_header(&opts, "SECONDS      CPU PID     TID     COMM            FUNC             -\n");
	assert_printed(t, &opts, "2.500000     1   1234    1235    java            gc__begin        gen 2\n");
	opts.decimals = 9;
	t->u.rec.time_ns = 2499999999u;
	assert_printed(t, &opts, "-0.000000001 1   1234    1235    java            gc__begin        gen 2\n");
	opts = (struct live_options){ .json = true };
	assert_header(&opts, "");
	event_free(t);
}

static void test_odd_columns(void **state)
{
	struct live_options opts = { 0 };
	struct test_event *t = event_new("u:zoo:none", 0);

	(void)state;
	assert_printed(t, &opts, "1234    1235    java            gc__begin\n");
	t->event.ns_pid = 7;
	memcpy(t->u.rec.comm, "a\x1b[31m\n\xff 012345", 16);
	t->event.func = "a_name_longer_than_its_column\n";
	assert_printed(t, &opts, "1234(7) 1235    a\\x1b[31m\\n\\xff 012345 a_name_longer_than_its_column\\n\n");
	t->u.rec.pid = t->u.rec.tid = 4194304;
	t->event.ns_pid = 4194304;
	memset(t->u.rec.comm, 0, 16);
	assert_printed(t, &opts, "4194304 4194304                 a_name_longer_than_its_column\\n\n");
	event_free(t);
}

/* One printer for all: the columns it keeps ready must follow every part of them. */
static void test_kept_columns(void **state)
{
	static const char *const expected[] = {
		"1234    1235    java            gc__begin\n", "1234    1235    java            gc__begin\n",
		"1234    1235    java            gc__end\n",   "1234    1235    main            gc__end\n",
		"1234(9) 1235    main            gc__end\n",   "1000(9) 1235    main            gc__end\n",
		"1000(9) 1267    main            gc__end\n",   "1000(9) 1235    main            gc__end\n",
	};
	struct live_options opts = { 0 };
	struct live_printer *p = live_printer_new(&opts);
	struct test_event *t = event_new("u:zoo:none", 0);
	struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		t->event.func = i < 2 ? "gc__begin" : "gc__end";
		strcpy(t->u.rec.comm, i < 3 ? "java" : "main");
		t->event.ns_pid = i < 4 ? 0 : 9;
		t->u.rec.pid = i < 5 ? 1234 : 1000;
		t->u.rec.tid = i == 6 ? 1267 : 1235;
		buf_reset(&out);
		assert_int_equal(live_print(p, &t->event, &out), 0);
		assert_string_equal(out.data, expected[i]);
	}
	buf_done(&out);
	event_free(t);
	live_printer_free(p);
}

static void test_wall_time(void **state)
{
	/* 2026-01-31 12:34:56.5 UTC, when the monotonic clock is at 4 s */
	struct live_options opts = { .wall_time = true, .mono_ns = 4000000000u, .wall_ns = 1769862896500000000u };
	struct test_event *t = event_new("u:zoo:none", 0);

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_header(&opts, "TIME            PID     TID     COMM            FUNC             -\n");
	assert_printed(t, &opts, "12:34:57.500000 1234    1235    java            gc__begin\n");
	t->u.rec.time_ns = 3000000000u; /* before the pair was taken */
	assert_printed(t, &opts, "12:34:55.500000 1234    1235    java            gc__begin\n");
	event_free(t);
}

/* The cached second must follow the time in both directions. */
static void test_wall_cache(void **state)
{
	struct live_options opts = { .wall_time = true, .mono_ns = 0, .wall_ns = 1769862896000000000u };
	struct test_event *t = event_new("u:zoo:none", 0);
	struct live_printer *p = live_printer_new(&opts);
	static const uint64_t times[] = { 0, 999999999u, 1000000000u, 500000000u };
	static const char *const starts[] = { "12:34:56.000000", "12:34:56.999999", "12:34:57.000000",
					      "12:34:56.500000" };
	struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		t->u.rec.time_ns = times[i];
		buf_reset(&out);
		live_print(p, &t->event, &out);
		assert_memory_equal(out.data, starts[i], 15);
	}
	buf_done(&out);
	live_printer_free(p);
	event_free(t);
}

static void test_plain_style(void **state)
{
	struct test_event *t = event_new("u:zoo:u64", 0);

	(void)state;
	event_set(t, 0, 0);
	event_set(t, 1, UINT64_MAX);
	event_set(t, 2, (uint64_t)-5);
	assert_message(t, "0x0 0xffffffffffffffff -5");
	event_free(t);

	t = event_new("u:zoo:i32", 0);
	event_set(t, 0, (uint64_t)-1);
	event_set(t, 1, 0xffffffff);
	assert_message(t, "-1 4294967295");
	event_free(t);

	t = event_new("u:zoo:dbl", 0);
	event_set(t, 0, 0x4004000000000000);
	event_set(t, 1, 0xbf000000);
	assert_message(t, "2.5 -0.5");
	event_free(t);

	t = event_new("t:sched:sched_switch", 16);
	event_set_text(t, 0, "say \"x\"", 7, UT_TEXT_WHOLE);
	event_set(t, 1, 12);
	assert_message(t, "prev_comm=\"say \\\"x\\\"\" prev_pid=12 prev_state=0 comm=\"\"");
	event_free(t);

	t = event_new("u:zoo:none comm, pid, cpu, time, pid + 1", 0);
	event_set(t, 4, 1235);
	assert_message(t, "\"java\" 1234 1 5000000000 1235");
	event_free(t);
}

static void test_text_states(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 \"%s|%5.2s|%-8s|\", arg1, arg1, arg1", 8);
	static const char utf8[] = "a\xc3\xa9\xc3";

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		event_set(t, i, 0xdead);
		event_set_text(t, i, "abcdefgh", 8, UT_TEXT_CUT_LIMIT);
	}
	assert_message(t, "abcdefgh…[cut at 8]|   ab|abcdefgh…[cut at 8]|");
	for (unsigned i = 0; i < 3; i++)
		event_set_text(t, i, NULL, 0, UT_TEXT_FAULT);
	assert_message(t, "<fault 0xdead>|<fault 0xdead>|<fault 0xdead>|");
	for (unsigned i = 0; i < 3; i++)
		event_set_text(t, i, NULL, 0, UT_TEXT_NULL);
	assert_message(t, "(null)|(null)|(null)  |");
	for (unsigned i = 0; i < 3; i++)
		event_set_text(t, i, "x", 1, UT_TEXT_CUT_FAULT);
	assert_message(t, "x<fault>|x<fault>|x<fault>|");
	for (unsigned i = 0; i < 3; i++) /* no half characters where a limit cuts */
		event_set_text(t, i, utf8, 4, UT_TEXT_CUT_LIMIT);
	assert_message(t, "aé…[cut at 4]|    a|aé…[cut at 4]|");
	t->u.rec.faults = 7;
	assert_message(t, "<fault 0xdead>|<fault 0xdead>|<fault 0xdead>|");
	event_free(t);
}

static void test_missing_values(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 \"%d|%16x|%-14c|\", *(int *)arg1, arg2, arg3", 0);

	(void)state;
	event_set(t, 0, 0x10);
	t->u.rec.faults = 1;
	t->unreadable[1] = "is in %xmm0, which the kernel does not provide";
	t->unreadable[2] = "x";
	assert_message(t, "<fault 0x10>|    <unreadable>|<unreadable>  |");
	event_free(t);

	/* nobody can read arg1: whatever the format asks for, nothing is invented */
	t = event_new("u:zoo:dblold \"%s %f\", arg1, arg1", 0);
	assert_message(t, "<fault> 0.000000");
	t->unreadable[0] = t->unreadable[1] = "is in %xmm0";
	assert_message(t, "<unreadable> <unreadable>");
	event_free(t);
}

static void test_stacks(void **state)
{
	struct test_event *t = event_new("u:zoo:one \"a%Ub %d%K\"", 8);
	uint64_t frames[] = { 0x10, 0x20, 0x30 };

	(void)state;
	event_set(t, 1, 5);
	event_set_text(t, 0, frames, sizeof(frames), UT_TEXT_WHOLE);
	event_set_text(t, 2, frames, 8, UT_TEXT_CUT_LIMIT);
	assert_message(t, "ab 5\n        0x10\n        0x20\n        0x30\n        0x10\n        …[cut at 127 frames]");
	event_set_text(t, 2, NULL, 0, UT_TEXT_FAULT);
	t->event.caller = 0x15;
	assert_message(
		t,
		"ab 5\n        0x10\n        0x15\n        0x20\n        0x30\n        <the stack could not be read>");
	t->event.caller = 0x20; /* the walk has seen it */
	assert_message(t, "ab 5\n        0x10\n        0x20\n        0x30\n        <the stack could not be read>");
	event_set_text(t, 0, NULL, 0, UT_TEXT_WHOLE);
	assert_message(t, "ab 5\n        <no frames>\n        <the stack could not be read>");
	event_free(t);
}

/* A stack that fills its room, and a caller to put in. */
static void test_full_stack(void **state)
{
	struct test_event *t = event_new("u:zoo:none \"%U\"", 8);
	uint64_t frames[STACK_FRAMES_MAX];
	struct buf out = { 0 };
	const char *p;
	size_t lines = 0;

	(void)state;
	for (unsigned i = 0; i < STACK_FRAMES_MAX; i++)
		frames[i] = i + 1;
	event_set_text(t, 0, frames, sizeof(frames), UT_TEXT_WHOLE);
	t->event.caller = 0xabc;
	for (p = event_message(t, &out); (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, STACK_FRAMES_MAX + 1);
	buf_done(&out);
	event_free(t);
}

static void test_json(void **state)
{
	struct live_options opts = { .json = true };
	struct test_event *t = event_new("u:zoo:u64 \"%s %d %x\", arg1, arg3, arg1", 8);

	(void)state;
	event_set(t, 0, 0x10);
	event_set_text(t, 0, "a\"b\n", 4, UT_TEXT_WHOLE);
	event_set(t, 1, (uint64_t)-7);
	event_set(t, 2, UINT64_MAX);
	assert_printed(t, &opts,
		       "{\"type\":\"event\",\"time_ns\":5000000000,\"pid\":1234,\"tid\":1235,\"comm\":\"java\",\"cpu\":"
		       "1,\"probe\":\"hotspot:"
		       "gc__begin\","
		       "\"args\":{\"arg1\":\"a\\\"b\\n\",\"arg3\":-7,\"arg1#2\":18446744073709551615},"
		       "\"message\":\"a\\\"b\\\\n -7 ffffffffffffffff\"}\n");
	opts.mono_ns = 4000000000u;
	opts.wall_ns = 1769862896500000000u;
	t->event.ns_pid = 9;
	event_set_text(t, 0, NULL, 0, UT_TEXT_NULL);
	t->u.rec.faults = 4;
	assert_printed(
		t, &opts,
		"{\"type\":\"event\",\"time_ns\":5000000000,\"wall_ns\":1769862897500000000,\"pid\":1234,\"ns_pid\":9,"
		"\"tid\":"
		"1235,"
		"\"comm\":\"java\",\"cpu\":1,\"probe\":\"hotspot:gc__begin\",\"args\":{\"arg1\":null,\"arg3\":-7,"
		"\"arg1#2\":{\"error\":\"fault\",\"address\":\"0xffffffffffffffff\"}},\"message\":\"(null) -7 <fault "
		"0xffffffffffffffff>\"}\n");
	event_free(t);
}

/* The part of the JSON line behind "args":, without the closing brace of the object. */
static void assert_json_args(struct test_event *t, const char *expected)
{
	struct live_options opts = { .json = true };
	struct buf out = { 0 };
	char *args;

	print_event(t, &opts, &out);
	args = strstr(out.data, "\"args\":");
	assert_non_null(args);
	out.data[out.len - 2] = '\0';
	assert_string_equal(args + strlen("\"args\":"), expected);
	buf_done(&out);
}

static void test_json_states(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 (char *)arg1, (char *)arg2, (char *)(arg1 + 1), comm", 8);

	(void)state;
	event_set(t, 0, 0x10);
	event_set_text(t, 0, NULL, 0, UT_TEXT_FAULT);
	event_set_text(t, 1, "abcdefgh", 8, UT_TEXT_CUT_LIMIT);
	event_set_text(t, 2, "\xff", 1, UT_TEXT_CUT_FAULT);
	assert_json_args(
		t, "{\"(char *)arg1\":{\"error\":\"fault\",\"address\":\"0x10\"},"
		   "\"(char *)arg2\":{\"text\":\"abcdefgh\",\"truncated\":\"limit\",\"limit\":8},"
		   "\"(char *)(arg1 + 1)\":{\"text\":\"\xef\xbf\xbd\",\"truncated\":\"fault\"},\"comm\":\"java\"}");
	event_free(t);

	t = event_new("u:zoo:dbl arg1, arg2, arg1, arg1", 0);
	event_set(t, 0, 0x4004000000000000);
	event_set(t, 1, 0xbf000000);
	event_set(t, 2, 0x7ff8000000000000);
	event_set(t, 3, 0xfff0000000000000);
	assert_json_args(t, "{\"arg1\":2.5,\"arg2\":-0.5,\"arg1#2\":\"NaN\",\"arg1#3\":\"-Infinity\"}");
	t->unreadable[0] = "is \"odd\"";
	assert_json_args(
		t,
		"{\"arg1\":{\"error\":\"unreadable\",\"reason\":\"is \\\"odd\\\"\"},\"arg2\":-0.5,\"arg1#2\":\"NaN\","
		"\"arg1#3\":\"-Infinity\"}");
	event_free(t);

	t = event_new("u:zoo:none", 0);
	assert_json_args(t, "{}");
	event_free(t);
}

static void test_json_stacks(void **state)
{
	struct live_options opts = { .json = true };
	struct test_event *t = event_new("u:zoo:none \"%U%K\"", 8);
	uint64_t frames[] = { 0x10, 0x20 };
	struct buf out = { 0 };

	(void)state;
	event_set_text(t, 0, frames, 16, UT_TEXT_WHOLE);
	event_set_text(t, 1, NULL, 0, UT_TEXT_FAULT);
	print_event(t, &opts, &out);
	assert_non_null(strstr(
		out.data,
		"\"args\":{\"ustack\":[\"0x10\",\"0x20\"],\"kstack\":{\"error\":\"fault\"}},\"message\":\"\"}\n"));
	assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);
	buf_done(&out);
	event_free(t);
}

static void test_lost(void **state)
{
	struct live_options opts = { .start_ns = 1000000000u };
	struct live_printer *p = live_printer_new(&opts);
	struct buf out = { 0 };

	(void)state;
	live_print_lost(p, 12, 1, 2500000000u, 3000000000u, &out);
	live_print_lost(p, 1, 0, 2500000000u, 3000000000u, &out);
	assert_string_equal(out.data, "-- 12 events lost on CPU 1 between 1.500000 and 2.000000 --\n"
				      "-- 1 event lost on CPU 0 between 1.500000 and 2.000000 --\n");
	live_printer_free(p);
	opts = (struct live_options){ .json = true };
	p = live_printer_new(&opts);
	buf_reset(&out);
	live_print_lost(p, 12, 1, 5, 6, &out);
	assert_string_equal(out.data, "{\"type\":\"lost\",\"count\":12,\"cpu\":1,\"begin_ns\":5,\"end_ns\":6}\n");
	live_printer_free(p);
	opts.start_ns = 4; /* what was lost before the first event was lost since the start */
	p = live_printer_new(&opts);
	buf_reset(&out);
	live_print_lost(p, 12, 1, 0, 6, &out);
	assert_non_null(strstr(out.data, "\"begin_ns\":4,\"end_ns\":6}"));
	buf_done(&out);
	live_printer_free(p);
}

static int try_print(const struct test_event *t, struct buf *out)
{
	struct live_options opts = { 0 };
	struct live_printer *p = live_printer_new(&opts);
	int r = live_print(p, &t->event, out);

	live_printer_free(p);
	return r;
}

/* %.*s stops at a NUL as C does; what was copied behind it was not meant. */
static void test_bytes_with_nul(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 \"%.*s|\", (int)arg2, arg1", 16);
	struct buf out = { 0 };

	(void)state;
	event_set_text(t, 0, "abc\0rubbish", 11, UT_TEXT_CUT_LIMIT);
	assert_string_equal(event_message(t, &out), "abc|");
	event_set_text(t, 0, "abc", 3, UT_TEXT_WHOLE);
	assert_string_equal(event_message(t, &out), "abc|");
	buf_done(&out);
	event_free(t);
}

/* Sizes in records are foreign: a record that lies is refused, and nothing of it is printed. */
static void test_damaged(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 \"%s\", arg1", 16);
	struct ut_rec_text *text = (void *)(t->u.bytes + t->layout.slot[0].text);
	struct buf out = { 0 };

	(void)state;
	for (size_t size = 0; size < t->layout.size; size++) {
		t->event.size = size;
		assert_int_equal(try_print(t, &out), -EBADMSG);
	}
	t->event.size = t->layout.size;
	assert_int_equal(try_print(t, &out), 0);
	buf_reset(&out);
	text->len = 17;
	assert_int_equal(try_print(t, &out), -EBADMSG);
	text->len = UINT32_MAX;
	assert_int_equal(try_print(t, &out), -EBADMSG);
	text->len = 16;
	text->state = 5;
	assert_int_equal(try_print(t, &out), -EBADMSG);
	text->state = 0;
	t->u.rec.text_room = UINT32_MAX;
	assert_int_equal(try_print(t, &out), -EBADMSG);
	assert_int_equal(out.len, 0);
	buf_done(&out);
	event_free(t);
}

/* Records of one probe come with different rooms. */
static void test_tiers(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 \"%s %s\", arg1, arg2", 8);

	(void)state;
	event_set_text(t, 0, "short", 5, UT_TEXT_WHOLE);
	event_set_text(t, 1, "b", 1, UT_TEXT_WHOLE);
	assert_message(t, "short b");
	layout_of(t->checked, 256, &t->layout);
	t->u.rec.text_room = 256;
	t->event.size = t->layout.size;
	event_set_text(t, 0, "a longer text", 13, UT_TEXT_WHOLE);
	event_set_text(t, 1, "c", 1, UT_TEXT_WHOLE);
	assert_message(t, "a longer text c");
	event_free(t);
}

/* The record holds sign-extended values, but it is foreign: no more than the type's bytes are printed. */
static void test_values_cut_to_type(void **state)
{
	struct test_event *t = event_new("u:zoo:bytes \"%d %u %x\", arg1, arg2, arg1", 0);

	(void)state;
	event_set(t, 0, 0x1234567890abcdff);
	event_set(t, 1, 0x1234567890abcdfe);
	event_set(t, 2, 0x1234567890abcdff);
	assert_message(t, "-1 254 ff");
	event_free(t);
}

UNIT_TESTS(live)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),	     cmocka_unit_test(test_odd_columns),
		cmocka_unit_test(test_kept_columns), cmocka_unit_test(test_wall_time),
		cmocka_unit_test(test_wall_cache),   cmocka_unit_test(test_plain_style),
		cmocka_unit_test(test_text_states),  cmocka_unit_test(test_missing_values),
		cmocka_unit_test(test_stacks),	     cmocka_unit_test(test_full_stack),
		cmocka_unit_test(test_json),	     cmocka_unit_test(test_json_states),
		cmocka_unit_test(test_json_stacks),  cmocka_unit_test(test_lost),
		cmocka_unit_test(test_damaged),	     cmocka_unit_test(test_bytes_with_nul),
		cmocka_unit_test(test_tiers),	     cmocka_unit_test(test_values_cut_to_type),
	};

	return unit_run(tests, NULL, NULL);
}

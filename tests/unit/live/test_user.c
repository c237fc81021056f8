/* SPDX-License-Identifier: MIT */
/* Lines of user events and spans: every kind, every way in which a name or an end can be missing, text and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "live/user.h"
#include "probe_scopes.h"
#include "unit.h"

#define COLUMNS "4711    4712    java            gc               "

static const struct live_options text_options = { 0 }, json_options = { .json = true };

static struct ut_text text_of(const char *s) { return (struct ut_text){ .bytes = s, .len = strlen(s) }; }

static struct live_user event(enum live_user_kind kind)
{
	return (struct live_user){ .kind = kind,
				   .time_ns = 5000000000u,
				   .pid = 4711,
				   .tid = 4712,
				   .comm = "java",
				   .cpu = 1,
				   .has_cpu = true,
				   .name = text_of("gc") };
}

static struct span span_of(uint64_t ns)
{
	return (struct span){ .pid = 4711,
			      .tid = 4712,
			      .begin_ns = 1000000000u,
			      .end_ns = 1000000000u + ns,
			      .own_ns = ns / 2,
			      .depth = 1,
			      .end = SPAN_COMPLETE };
}

static const char *print(const struct live_options *options, const struct live_user *u)
{
	static struct buf out;
	struct live_printer *p = live_printer_new(options);

	buf_reset(&out);
	live_print_user(p, u, &out);
	live_printer_free(p);
	assert_int_equal(out.data[out.len - 1], '\n');
	out.data[out.len - 1] = '\0';
	return out.data;
}

static void assert_line(const struct live_user *u, const char *message)
{
	const char *line = print(&text_options, u);

	assert_memory_equal(line, COLUMNS, strlen(COLUMNS));
	assert_string_equal(line + strlen(COLUMNS), message);
}

/* The type, and what stands between the comm and the end of the JSON line. */
static void assert_json(const struct live_user *u, const char *type, const char *rest)
{
	const char *line = print(&json_options, u);
	char start[200];

	snprintf(start, sizeof(start),
		 "{\"type\":\"%s\",\"kind\":\"%s\",\"time_ns\":5000000000,\"pid\":4711,\"tid\":4712,\"comm\":\"java\",",
		 type, u->is_signal ? "signal" : "user");
	assert_memory_equal(line, start, strlen(start));
	assert_string_equal(line + strlen(start), rest);
}

static void test_events(void **state)
{
	struct live_user u = event(LIVE_USER_BEGIN);

	(void)state;
	assert_line(&u, "begin");
	assert_json(&u, "begin", "\"cpu\":1,\"name\":\"gc\",\"value\":0}");
	u.value = -5;
	assert_line(&u, "begin value=-5");
	u.has_id = true;
	u.id = UINT64_MAX;
	assert_line(&u, "begin value=-5 id=18446744073709551615");
	assert_json(&u, "begin", "\"cpu\":1,\"name\":\"gc\",\"value\":-5,\"id\":\"18446744073709551615\"}");
	u = event(LIVE_USER_MARK);
	u.has_id = true;
	assert_line(&u, "mark id=0");
	u = event(LIVE_USER_COUNT);
	assert_line(&u, "count 0");
	u.value = INT64_MIN;
	assert_line(&u, "count -9223372036854775808");
	assert_json(&u, "count", "\"cpu\":1,\"name\":\"gc\",\"value\":-9223372036854775808}");
}

static void test_texts(void **state)
{
	struct live_user u = event(LIVE_USER_MARK);

	(void)state;
	u.has_text = true;
	u.text = text_of("");
	assert_line(&u, "mark \"\"");
	assert_json(&u, "mark", "\"cpu\":1,\"name\":\"gc\",\"value\":0,\"text\":\"\"}");
	u.text = text_of("say \"x\"\n\x1b[2J\xff");
	assert_line(&u, "mark \"say \\\"x\\\"\\n\\x1b[2J\\xff\"");
	assert_json(&u, "mark",
		    "\"cpu\":1,\"name\":\"gc\",\"value\":0,"
		    "\"text\":\"say \\\"x\\\"\\n\\u001b[2J\xef\xbf\xbd\"}");
	u.text.state = UT_TEXT_CUT_LIMIT;
	u.text.bytes = "abc";
	u.text.len = 3;
	assert_line(&u, "mark \"abc\"…[cut at 3]");
	u.text = (struct ut_text){ .state = UT_TEXT_NULL };
	assert_line(&u, "mark (null)");
	assert_json(&u, "mark", "\"cpu\":1,\"name\":\"gc\",\"value\":0,\"text\":null}");
	u.text = (struct ut_text){ .state = UT_TEXT_FAULT, .address = 16 };
	assert_line(&u, "mark <fault 0x10>");
	assert_json(&u, "mark",
		    "\"cpu\":1,\"name\":\"gc\",\"value\":0,"
		    "\"text\":{\"error\":\"fault\",\"address\":\"0x10\"}}");
}

/* Each name as the column FUNC and as the JSON value: no two look the same. */
static void test_names(void **state)
{
	static const struct {
		struct ut_text name;
		const char *column, *json;
	} rows[] = {
		{ { "", 0, UT_TEXT_WHOLE, 0 }, "\"\"               begin", "\"\"" },
		{ { "(null)", 6, UT_TEXT_WHOLE, 0 }, "\"(null)\"         begin", "\"(null)\"" },
		{ { NULL, 0, UT_TEXT_NULL, 0 }, "(null)           begin", "null" },
		{ { NULL, 0, UT_TEXT_FAULT, 16 },
		  "<fault 0x10>     begin",
		  "{\"error\":\"fault\",\"address\":\"0x10\"}" },
		{ { "<fault 0x10>", 12, UT_TEXT_WHOLE, 0 }, "\"<fault 0x10>\"   begin", "\"<fault 0x10>\"" },
		{ { "abc", 3, UT_TEXT_CUT_LIMIT, 0 },
		  "abc…[cut at 3]   begin",
		  "{\"text\":\"abc\",\"truncated\":\"limit\",\"limit\":3}" },
		{ { "abc…[cut at 3]", 16, UT_TEXT_WHOLE, 0 }, "\"abc…[cut at 3]\" begin", "\"abc…[cut at 3]\"" },
		{ { "abc", 3, UT_TEXT_CUT_FAULT, 0 },
		  "abc<fault>       begin",
		  "{\"text\":\"abc\",\"truncated\":\"fault\"}" },
		{ { "abc<fault>", 10, UT_TEXT_WHOLE, 0 }, "\"abc<fault>\"     begin", "\"abc<fault>\"" },
		{ { "\"\"", 2, UT_TEXT_WHOLE, 0 }, "\"\\\"\\\"\"           begin", "\"\\\"\\\"\"" },
		{ { "full gc", 7, UT_TEXT_WHOLE, 0 }, "\"full gc\"        begin", "\"full gc\"" },
		{ { "a\n\x1b\xff\\", 5, UT_TEXT_WHOLE, 0 },
		  "a\\n\\x1b\\xff\\\\    begin",
		  "\"a\\n\\u001b\xef\xbf\xbd\\\\\"" },
		{ { "日本語 a longer name", 23, UT_TEXT_WHOLE, 0 },
		  "\"日本語 a longer name\" begin",
		  "\"日本語 a longer name\"" },
	};
	struct live_user u = event(LIVE_USER_BEGIN);
	char expected[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		u.name = rows[i].name;
		assert_string_equal(print(&text_options, &u) + 32, rows[i].column);
		snprintf(expected, sizeof(expected), "\"cpu\":1,\"name\":%s,\"value\":0}", rows[i].json);
		assert_json(&u, "begin", expected);
	}
}

static void test_ends(void **state)
{
	static const struct {
		enum span_end end;
		const char *line, *json;
	} rows[] = {
		{ SPAN_COMPLETE, "end", "complete" },
		{ SPAN_BEFORE_ATTACH, "end (began before tracing)", "before-attach" },
		{ SPAN_ORPHAN, "end (no begin)", "orphan" },
		{ SPAN_LOST, "end (its begin may be lost)", "lost" },
		{ SPAN_INHERITED, "end (began in the parent)", "inherited" },
	};
	struct live_user u = event(LIVE_USER_END);
	char expected[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		u.end = rows[i].end;
		assert_line(&u, rows[i].line);
		snprintf(expected, sizeof(expected), "\"cpu\":1,\"name\":\"gc\",\"value\":0,\"end\":\"%s\"}",
			 rows[i].json);
		assert_json(&u, "end", expected);
	}
}

static void test_matched(void **state)
{
	struct live_user u = event(LIVE_USER_END);
	struct span s = span_of(1234567);

	(void)state;
	u.span = &s;
	assert_line(&u, "end 1.23 ms");
	assert_json(&u, "end",
		    "\"cpu\":1,\"name\":\"gc\",\"value\":0,\"end\":\"complete\",\"begin_ns\":1000000000,\"duration_"
		    "ns\":1234567,\"own_ns\":617283,"
		    "\"depth\":1}");
	u.value = 7;
	s.flags = SPAN_LOST_INSIDE;
	assert_line(&u, "end 1.23 ms, events lost inside value=7");
	s.flags = SPAN_CROSSED;
	assert_line(&u, "end 1.23 ms, crossed value=7");
	s.flags = SPAN_LOST_INSIDE | SPAN_CLOCK_STEP | SPAN_CROSSED;
	s.end_ns = s.begin_ns - 1;
	s.own_ns = 0;
	u.has_id = true;
	u.id = 42;
	assert_line(&u, "end 0 ns, events lost inside, crossed, clock stepped back value=7 id=42");
	assert_json(&u, "end",
		    "\"cpu\":1,\"name\":\"gc\",\"value\":7,\"id\":\"42\",\"end\":\"complete\",\"begin_ns\":1000000000,"
		    "\"duration_ns\":0,\"own_ns\":0,"
		    "\"depth\":1,\"lost_inside\":true,\"crossed\":true,\"clock_stepped\":true}");
}

static void test_closed(void **state)
{
	static const struct {
		enum span_end end;
		bool known;
		int code;
		const char *line, *word, *exit;
	} rows[] = {
		{ SPAN_OPEN, true, 9, "open for 50 µs", "open", "" },
		{ SPAN_THREAD_EXITED, true, 9, "thread exited after 50 µs", "thread-exited", "" },
		{ SPAN_PROCESS_EXITED, false, 9, "process exited after 50 µs", "process-exited", "" },
		{ SPAN_PROCESS_EXITED, true, 11, "process exited after 50 µs: signal 11 (SIGSEGV)", "process-exited",
		  ",\"exit_signal\":11" },
		{ SPAN_PROCESS_EXITED, true, 0x80 | 6, "process exited after 50 µs: signal 6 (SIGABRT)",
		  "process-exited", ",\"exit_signal\":6" },
		{ SPAN_PROCESS_EXITED, true, 40, "process exited after 50 µs: signal 40", "process-exited",
		  ",\"exit_signal\":40" },
		{ SPAN_PROCESS_EXITED, true, 3 << 8, "process exited after 50 µs: exit status 3", "process-exited",
		  ",\"exit_status\":3" },
		{ SPAN_EXEC, false, 0, "replaced by exec after 50 µs", "exec", "" },
		{ SPAN_EVICTED, false, 0, "evicted after 50 µs: too many open spans", "evicted", "" },
	};
	struct live_user u = event(LIVE_USER_CLOSED);
	struct span s = span_of(50000);
	char expected[300];

	(void)state;
	u.has_cpu = false;
	u.span = &s;
	u.value = 8;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		s.end = rows[i].end;
		s.exit_known = rows[i].known;
		s.exit_code = rows[i].code;
		assert_line(&u, rows[i].line);
		assert_string_equal(live_user_word(&u), rows[i].word);
		snprintf(expected, sizeof(expected),
			 "\"name\":\"gc\",\"value\":8,\"end\":\"%s\",\"begin_ns\":1000000000,\"duration_ns\":50000%s}",
			 rows[i].word, rows[i].exit);
		assert_json(&u, "end", expected);
	}
	u.has_id = true;
	u.id = 9;
	s.flags = SPAN_LOST_INSIDE;
	s.end = SPAN_OPEN;
	assert_line(&u, "open for 50 µs, events lost inside id=9");
}

static void test_columns(void **state)
{
	struct live_options options = { .since_start = true, .cpu = true, .start_ns = 4000000000u };
	struct live_user u = event(LIVE_USER_BEGIN);

	(void)state;
	u.ns_pid = 7;
	assert_string_equal(print(&options, &u),
			    "1.000000     1   4711(7) 4712    java            gc               begin");
	u.has_cpu = false;
	assert_string_equal(print(&options, &u),
			    "1.000000     -   4711(7) 4712    java            gc               begin");
	memcpy(u.comm, "sixteen bytes...", 16);
	assert_string_equal(print(&text_options, &u), "4711(7) 4712    sixteen bytes... gc               begin");
	options = (struct live_options){ .json = true, .mono_ns = 4000000000u, .wall_ns = 1769862896500000000u };
	assert_string_equal(print(&options, &u),
			    "{\"type\":\"begin\",\"kind\":\"user\",\"time_ns\":5000000000,\"wall_ns\":"
			    "1769862897500000000,\"pid\":4711,\"ns_pid\":7,"
			    "\"tid\":4712,\"comm\":\"sixteen bytes...\",\"name\":\"gc\",\"value\":0}");
}

/* One printer for all: the columns kept ready are not those of a name that only looks alike. */
static void test_kept_columns(void **state)
{
	static const struct ut_text names[] = {
		{ "(null)", 6, UT_TEXT_WHOLE, 0 }, { "(null)", 6, UT_TEXT_NULL, 0 }, { "ab", 2, UT_TEXT_WHOLE, 0 },
		{ "ab", 2, UT_TEXT_CUT_LIMIT, 0 }, { "ab", 1, UT_TEXT_WHOLE, 0 },    { "ab", 2, UT_TEXT_FAULT, 1 },
	};
	static const char *const columns[] = { "\"(null)\"", "(null)", "ab", "ab…[cut at 2]", "a", "<fault 0x1>" };
	struct live_printer *p = live_printer_new(&text_options);
	struct live_user u = event(LIVE_USER_MARK);
	struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < 4 * ARRAY_SIZE(names); i++) {
		const char *want = columns[i / 2 % ARRAY_SIZE(names)];

		u.name = names[i / 2 % ARRAY_SIZE(names)];
		buf_reset(&out);
		live_print_user(p, &u, &out);
		assert_memory_equal(out.data + 32, want, strlen(want));
		assert_int_equal(out.data[32 + strlen(want)], ' ');
		assert_string_equal(strstr(out.data, "mark"), "mark\n");
	}
	buf_done(&out);
	live_printer_free(p);
}

/* Every word that is printed is one that the language knows as a kind. */
static void test_words(void **state)
{
	struct span s = span_of(1);
	char probe[100];

	(void)state;
	for (int i = 0; i < LIVE_USER_CLOSED + SPAN_EVICTED; i++) {
		struct live_user u = event(i < LIVE_USER_CLOSED ? (enum live_user_kind)i : LIVE_USER_CLOSED);
		struct probe_checked *c;
		struct ut_err err;

		s.end = i < LIVE_USER_CLOSED ? SPAN_COMPLETE : (enum span_end)(SPAN_OPEN + i - LIVE_USER_CLOSED);
		u.span = &s;
		snprintf(probe, sizeof(probe), "e:* (kind == \"%s\") value", live_user_word(&u));
		c = check_text(probe, &err);
		if (!c)
			fail_msg("%s", err.msg);
		probe_checked_free(c);
	}
}

static void assert_refused(const struct live_options *options, uint64_t n, const char *comm, const char *expected)
{
	struct live_printer *p = live_printer_new(options);
	struct buf out = { 0 };

	live_print_throttled(p, n, 4711, comm, 1000000000u, 2500000000u, &out);
	assert_string_equal(out.data, expected);
	buf_done(&out);
	live_printer_free(p);
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused(&text_options, 12345, "flood\n",
		       "-- 12345 events of process 4711 (flood\\n) throttled between 1.000000 and 2.500000: "
		       "it filled the buffer alone --\n");
	assert_refused(&text_options, 1, NULL,
		       "-- 1 event of process 4711 throttled between 1.000000 and 2.500000: "
		       "it filled the buffer alone --\n");
	assert_refused(&json_options, 2, "flood",
		       "{\"type\":\"throttled\",\"count\":2,\"pid\":4711,\"comm\":\"flood\",\"begin_ns\":1000000000,"
		       "\"end_ns\":2500000000}\n");
	assert_refused(
		&json_options, 2, NULL,
		"{\"type\":\"throttled\",\"count\":2,\"pid\":4711,\"begin_ns\":1000000000,\"end_ns\":2500000000}\n");
}

UNIT_TESTS(user)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),	cmocka_unit_test(test_texts),	     cmocka_unit_test(test_names),
		cmocka_unit_test(test_ends),	cmocka_unit_test(test_matched),	     cmocka_unit_test(test_closed),
		cmocka_unit_test(test_columns), cmocka_unit_test(test_kept_columns), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_words),
	};

	return unit_run(tests, NULL, NULL);
}

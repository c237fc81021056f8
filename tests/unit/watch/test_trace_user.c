/* SPDX-License-Identifier: MIT */
/* User events in `usertrace trace`: which requests print them, whose they are, what spans they make, what is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auto.h"
#include "watch/trace_user.h"
#include "model/span.h"
#include "probe/eval.h"
#include "record/user_event.h"
#include "plan/plan_priv.h"
#include "unit.h"

#define PID 0x7ffffff0u /* nobody's */

struct scene {
	struct plan *plan;
	struct live_printer *printer;
	struct trace_user *user;
	struct buf out;
	uint64_t now;
};

static void add_request(struct plan *plan, unsigned i)
{
	struct plan_probe p = { .request = i };
	struct ut_err err = { 0 };

	if (plan_check(plan, i, eval_user_scope(), NULL, &p.checked, &err))
		fail_msg("%s", err.msg);
	p.provider = strdup("e");
	p.func = strdup(plan->requests.v[i].spec->name);
	assert_int_equal(plan_add_probe(plan, &p), i);
}

static void begin(struct scene *s, const char *const *requests, size_t n)
{
	struct plan_options po = { .gen = { .text_limit = 200, .ncpus = 4 } };
	struct live_options lo = { 0 };
	struct trace_user_options o = { .out = &s->out };
	struct ut_err err = { 0 };

	*s = (struct scene){ .now = 1000000 };
	if (plan_new(requests, n, &po, &s->plan, &err))
		fail_msg("%s", err.msg);
	for (unsigned i = 0; i < n; i++)
		add_request(s->plan, i);
	s->printer = live_printer_new(&lo);
	o.plan = s->plan;
	o.printer = s->printer;
	s->user = trace_user_new(&o);
	assert_non_null(s->user);
}

#define BEGIN(s, ...) \
	do { \
		static const char *const requests_[] = { __VA_ARGS__ }; \
		begin(s, requests_, ARRAY_SIZE(requests_)); \
	} while (0)

static void end(struct scene *s)
{
	assert_null(trace_user_free(s->user));
	live_printer_free(s->printer);
	plan_free(s->plan);
	buf_done(&s->out);
}

static struct ut_text text_of(const char *s)
{
	return (struct ut_text){ .bytes = s ? s : "",
				 .len = s ? strlen(s) : 0,
				 .state = s ? UT_TEXT_WHOLE : UT_TEXT_NULL };
}

/* An event of process PID + @who, a microsecond after the last; for how many requests it was printed. */
static int send(struct scene *s, unsigned who, struct user_event e)
{
	struct ut_rec_event head = { .time_ns = s->now += 1000, .pid = PID + who, .tid = PID + who, .comm = "zoo" };

	e.head = &head;
	return trace_user_event(s->user, &e, 1, UINT64_MAX);
}

static int say(struct scene *s, unsigned who, enum user_kind kind, const char *name)
{
	return send(s, who, (struct user_event){ .kind = kind, .name = text_of(name), .text = text_of(NULL) });
}

static void life(struct scene *s, unsigned who, struct session_lifecycle l)
{
	l.time_ns = s->now += 1000;
	l.pid = PID + who;
	if (!l.tid)
		l.tid = l.pid;
	memcpy(l.comm, "parent", 7);
	trace_user_life(s->user, &l);
}

/* What has been printed since the last call: for each line process, name and the rest, with one blank between. */
static const char *printed(struct scene *s)
{
	static struct buf words;
	char *line, *save, *word, *inner;

	buf_reset(&words);
	buf_addc(&s->out, '\0');
	for (line = strtok_r(s->out.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		word = strtok_r(line, " ", &inner);
		buf_addf(&words, "%s%u", words.len ? "|" : "", (unsigned)strtoul(word, NULL, 10) - PID);
		for (int i = 1; (word = strtok_r(NULL, " ", &inner)); i++)
			if (i > 1)
				buf_addf(&words, " %s", word);
	}
	buf_reset(&s->out);
	buf_addc(&words, '\0');
	return words.data;
}

static const char *totals(const struct scene *s)
{
	static struct buf text;

	buf_reset(&text);
	trace_user_totals(s->user, &text);
	buf_addc(&text, '\0');
	return text.data;
}

static void requests_choose_by_name(void **state)
{
	struct scene s;

	(void)state;
	BEGIN(&s, "e:gc", "e:g*", "e:*", "e:\"\"", "e:?");
	assert_int_equal(say(&s, 0, USER_MARK, "gc"), 3);
	assert_string_equal(printed(&s), "0 zoo gc mark|0 zoo gc mark|0 zoo gc mark");
	assert_int_equal(say(&s, 0, USER_MARK, "g"), 3);
	assert_int_equal(say(&s, 0, USER_MARK, "other"), 1);
	assert_int_equal(say(&s, 0, USER_MARK, ""), 2);
	printed(&s);
	assert_int_equal(say(&s, 0, USER_MARK, NULL), 1);
	assert_string_equal(printed(&s), "0 zoo (null) mark");
	assert_int_equal(trace_user_count(s.user, 0), 1);
	assert_int_equal(trace_user_count(s.user, 1), 2);
	assert_int_equal(trace_user_count(s.user, 2), 5);
	assert_int_equal(trace_user_count(s.user, 3), 1);
	assert_int_equal(trace_user_count(s.user, 4), 1);
	assert_int_equal(trace_user_count(s.user, 99), 0);
	end(&s);
}

static void names_of_every_length(void **state)
{
	static char name[UT_NAME_ROOM];
	struct scene s;

	(void)state;
	BEGIN(&s, "e:*x", "e:* \"%s\", name");
	for (size_t n = 0; n < UT_NAME_ROOM; n++) {
		struct user_event e = { .kind = USER_BEGIN,
					.name = { .bytes = name, .len = n },
					.text = text_of(NULL) };

		memset(name, 'x', sizeof(name)); /* not terminated */
		assert_int_equal(send(&s, 0, e), n ? 2 : 1);
		e.kind = USER_END;
		assert_int_equal(send(&s, 0, e), n ? 2 : 1);
	}
	assert_string_equal(totals(&s), "spans: 128 complete\n");
	end(&s);
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}

/* None closes another, and each is still what it was when something else closes it. */
static void names_that_are_not_whole(void **state)
{
	static char longest[UT_NAME_ROOM];
	const struct ut_text names[] = {
		text_of(NULL),
		text_of(""),
		{ .bytes = "", .state = UT_TEXT_FAULT, .address = 16 },
		{ .bytes = "", .state = UT_TEXT_FAULT, .address = 17 },
		{ .bytes = "ab", .len = 2 },
		{ .bytes = "ab", .len = 2, .state = UT_TEXT_CUT_FAULT },
		{ .bytes = longest, .len = UT_NAME_ROOM - 1 },
		{ .bytes = longest, .len = UT_NAME_ROOM - 1, .state = UT_TEXT_CUT_LIMIT },
	};
	const enum user_kind kinds[] = { USER_BEGIN, USER_END, USER_BEGIN };
	const char *text;
	struct scene s;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	BEGIN(&s, "e:*");
	for (size_t i = 0; i < 3 * ARRAY_SIZE(names); i++)
		send(&s, 0,
		     (struct user_event){ .kind = kinds[i / ARRAY_SIZE(names)],
					  .name = names[i % ARRAY_SIZE(names)],
					  .text = text_of(NULL) });
	assert_int_equal(count(printed(&s), "end 8 µs"), ARRAY_SIZE(names));
	trace_user_stop(s.user, s.now);
	text = printed(&s);
	assert_int_equal(count(text, "open for"), ARRAY_SIZE(names));
	assert_non_null(strstr(text, "(null) open"));
	assert_non_null(strstr(text, "\"\" open"));
	assert_non_null(strstr(text, "<fault 0x10> open"));
	assert_non_null(strstr(text, "<fault 0x11> open"));
	assert_non_null(strstr(text, "ab open"));
	assert_non_null(strstr(text, "ab<fault"));
	assert_int_equal(count(text, "x open"), 1);
	assert_int_equal(count(text, "x…[cut at 127] open"), 1);
	end(&s);
}

static void predicates_see_spans(void **state)
{
	struct scene s;

	(void)state;
	BEGIN(&s, "e:* (kind == \"end\" && duration >= 2us)", "e:* (value > 4 && id == 7 && text == NULL)",
	      "e:* (text == \"t\")");
	assert_int_equal(say(&s, 0, USER_BEGIN, "a"), 0);
	assert_int_equal(say(&s, 0, USER_BEGIN, "b"), 0);
	assert_int_equal(say(&s, 0, USER_END, "b"), 0); /* 1 µs */
	assert_int_equal(say(&s, 0, USER_END, "a"), 1);
	assert_string_equal(printed(&s), "0 zoo a end 3 µs");
	assert_int_equal(say(&s, 0, USER_END, "a"), 0); /* no begin, no duration */
	assert_int_equal(send(&s, 0,
			      (struct user_event){ .kind = USER_COUNT,
						   .name = text_of("c"),
						   .text = text_of(NULL),
						   .has_id = true,
						   .id = 7,
						   .value = 5 }),
			 1);
	assert_int_equal(send(&s, 0,
			      (struct user_event){ .kind = USER_COUNT,
						   .name = text_of("c"),
						   .text = text_of("t"),
						   .has_text = true,
						   .has_id = true,
						   .id = 7,
						   .value = 5 }),
			 1);
	assert_int_equal(send(&s, 0,
			      (struct user_event){
				      .kind = USER_COUNT, .name = text_of("c"), .text = text_of(NULL), .value = 5 }),
			 0);
	end(&s);
}

static void formats(void **state)
{
	struct scene s;

	(void)state;
	BEGIN(&s, "e:gc \"%s-%d-%u-%s\", kind, value, id, text");
	assert_int_equal(send(&s, 0,
			      (struct user_event){ .kind = USER_MARK,
						   .name = text_of("gc"),
						   .text = text_of("t"),
						   .has_text = true,
						   .has_id = true,
						   .id = 7,
						   .value = -5 }),
			 1);
	assert_string_equal(printed(&s), "0 zoo gc mark--5-7-t");
	assert_int_equal(say(&s, 0, USER_MARK, "gc"), 1);
	assert_string_equal(printed(&s), "0 zoo gc mark-0-0-(null)");
	end(&s);
}

static void events_that_speak_for_the_parent(void **state)
{
	struct user_event e = { .kind = USER_BEGIN, .for_parent = true, .name = text_of("s"), .text = text_of(NULL) };
	struct scene s;

	(void)state;
	BEGIN(&s, "e:*");
	life(&s, 1, (struct session_lifecycle){ .what = UT_LIFE_FORK, .child = PID + 2 });
	life(&s, 1, (struct session_lifecycle){ .what = UT_LIFE_FORK, .child = PID + 3 });
	send(&s, 2, e);
	life(&s, 2, (struct session_lifecycle){ .what = UT_LIFE_EXIT, .last = true });
	e.kind = USER_END;
	send(&s, 3, e);
	assert_string_equal(printed(&s), "1 parent s begin|1 parent s end 2 µs");
	e.kind = USER_MARK;
	send(&s, 9, e); /* nobody knows who started it, nor is it there to be asked for */
	assert_string_equal(printed(&s), "9 zoo s mark");
	end(&s);
}

/* Whoever was there before is asked for its parent. */
static void parents_that_were_not_seen(void **state)
{
	struct ut_rec_event head = { .time_ns = 5, .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid(), .comm = "me" };
	struct user_event e = {
		.head = &head, .kind = USER_MARK, .for_parent = true, .name = text_of("s"), .text = text_of(NULL)
	};
	struct scene s;

	(void)state;
	if (getppid() <= 1)
		skip();
	BEGIN(&s, "e:*");
	assert_int_equal(trace_user_event(s.user, &e, 0, UINT64_MAX), 1);
	buf_addc(&s.out, '\0');
	assert_int_equal(strtol(s.out.data, NULL, 10), getppid());
	end(&s);
}

static void lives_close_spans(void **state)
{
	struct scene s;

	(void)state;
	BEGIN(&s, "e:*");
	say(&s, 0, USER_BEGIN, "a");
	life(&s, 0, (struct session_lifecycle){ .what = UT_LIFE_EXIT, .tid = PID + 50 }); /* another thread */
	life(&s, 0, (struct session_lifecycle){ .what = UT_LIFE_EXEC });
	say(&s, 0, USER_BEGIN, "b");
	life(&s, 0, (struct session_lifecycle){ .what = UT_LIFE_FORK, .child = PID + 1 });
	say(&s, 1, USER_END, "b");
	say(&s, 1, USER_BEGIN, "c");
	life(&s, 1, (struct session_lifecycle){ .what = UT_LIFE_EXIT, .last = true, .code_known = true, .code = 11 });
	life(&s, 0,
	     (struct session_lifecycle){ .what = UT_LIFE_EXIT, .last = true, .code_known = true, .code = 3 << 8 });
	say(&s, 2, USER_BEGIN, "d");
	life(&s, 2, (struct session_lifecycle){ .what = UT_LIFE_EXIT });
	say(&s, 3, USER_BEGIN, "e");
	life(&s, 3, (struct session_lifecycle){ .what = UT_LIFE_EXIT, .last = true });
	say(&s, 4, USER_BEGIN, "f");
	trace_user_stop(s.user, s.now + 1000);
	assert_string_equal(
		printed(&s),
		"0 zoo a begin|0 zoo a replaced by exec after 2 µs|0 zoo b begin|"
		"1 zoo b end (began in the parent)|1 zoo c begin|1 zoo c process exited after 1 µs: signal 11 "
		"(SIGSEGV)|"
		"0 zoo b process exited after 5 µs: exit status 3|2 zoo d begin|2 zoo d thread exited after 1 µs|"
		"3 zoo e begin|3 zoo e process exited after 1 µs|4 zoo f begin|4 zoo f open for 1 µs");
	assert_string_equal(totals(&s), "spans: 1 still open, 5 ended by the exit of their thread or process, "
					"1 began before tracing or before a fork\n");
	end(&s);
}

/* What else closes a span is printed for who asked for its name, and is no event. */
static void closed_spans_are_no_events(void **state)
{
	struct scene s;

	(void)state;
	BEGIN(&s, "e:b", "e:* (kind == \"end\")");
	say(&s, 0, USER_BEGIN, "a");
	say(&s, 0, USER_BEGIN, "b");
	trace_user_stop(s.user, s.now + 1000);
	assert_string_equal(printed(&s), "0 zoo b begin|0 zoo b open for 1 µs");
	assert_int_equal(trace_user_count(s.user, 0), 1);
	assert_int_equal(trace_user_count(s.user, 1), 0);
	end(&s);
}

static void losses(void **state)
{
	struct scene s;

	(void)state;
	BEGIN(&s, "e:*");
	say(&s, 0, USER_BEGIN, "a");
	say(&s, 1, USER_BEGIN, "a");
	trace_user_lost(s.user, PID, s.now, s.now + 500);
	s.now += 1000;
	say(&s, 0, USER_END, "a");
	say(&s, 1, USER_END, "a");
	say(&s, 0, USER_END, "x");
	say(&s, 1, USER_END, "x");
	assert_string_equal(printed(&s),
			    "0 zoo a begin|1 zoo a begin|0 zoo a end 3 µs, events lost inside|1 zoo a end 3 µs|"
			    "0 zoo x end (its begin may be lost)|1 zoo x end (began before tracing)");
	assert_string_equal(totals(&s),
			    "spans: 2 complete, 1 began before tracing or before a fork, 1 without a begin\n");
	end(&s);
}

/* What was asked for by name or with a predicate is less than what is counted. */
static void totals_say_what_they_count(void **state)
{
	static const char *const requests[] = { "e:gc", "e:g*", "e:* (kind == \"mark\")", "e:*" };
	struct scene s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		bool all = !strcmp(requests[i], "e:*");

		begin(&s, requests, i + 1);
		say(&s, 0, USER_BEGIN, "other");
		say(&s, 0, USER_END, "other");
		assert_string_equal(totals(&s), all ? "spans: 1 complete\n" : "spans, printed or not: 1 complete\n");
		end(&s);
	}
}

static void nothing_to_tell(void **state)
{
	struct scene s;

	(void)state;
	BEGIN(&s, "e:*");
	assert_string_equal(totals(&s), "");
	say(&s, 0, USER_MARK, "a");
	assert_string_equal(totals(&s), "");
	trace_user_stop(s.user, s.now);
	end(&s);
	assert_null(trace_user_free(NULL));
}

UNIT_TESTS(trace_user)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_choose_by_name),
		cmocka_unit_test(names_of_every_length),
		cmocka_unit_test(names_that_are_not_whole),
		cmocka_unit_test(predicates_see_spans),
		cmocka_unit_test(formats),
		cmocka_unit_test(events_that_speak_for_the_parent),
		cmocka_unit_test(parents_that_were_not_seen),
		cmocka_unit_test(lives_close_spans),
		cmocka_unit_test(closed_spans_are_no_events),
		cmocka_unit_test(losses),
		cmocka_unit_test(totals_say_what_they_count),
		cmocka_unit_test(nothing_to_tell),
	};

	return unit_run(tests, NULL, NULL);
}

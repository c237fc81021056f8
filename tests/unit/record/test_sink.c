/* SPDX-License-Identifier: MIT */
/* One sink for several: who receives what, in which order, and what ends a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/sink.h"
#include "unit.h"

static char heard[64]; /* a letter of each receiver that was called */

struct receiver {
	char letter;
	int result;
	uint64_t room;
};

static int hear(void *ctx)
{
	struct receiver *r = ctx;

	strncat(heard, &r->letter, 1);
	return r->result;
}

static int on_life(void *ctx, const struct session_lifecycle *life)
{
	(void)life;
	return hear(ctx);
}

static int on_user(void *ctx, const struct user_event *e, unsigned cpu, uint64_t room)
{
	(void)e;
	(void)cpu;
	((struct receiver *)ctx)->room = room;
	return hear(ctx);
}

static void on_note(void *ctx, const char *text)
{
	assert_string_equal(text, "a note");
	hear(ctx);
}

static struct session_sink tee(struct session_tee *t, struct receiver *a, struct receiver *b)
{
	const struct session_sink first = { .ctx = a, .life = on_life, .user = on_user, .flush = hear };
	const struct session_sink second = { .ctx = b, .life = on_life, .user = on_user, .note = on_note };

	heard[0] = '\0';
	*t = (struct session_tee){ 0 };
	session_tee_add(t, &first);
	session_tee_add(t, &second);
	return session_tee_sink(t);
}

static void all_receive_in_order(void **state)
{
	struct receiver a = { .letter = 'a' }, b = { .letter = 'b' };
	struct session_tee t;
	struct session_sink sink = tee(&t, &a, &b);

	(void)state;
	assert_int_equal(sink.life(sink.ctx, &(struct session_lifecycle){ 0 }), 0);
	assert_int_equal(sink.flush(sink.ctx), 0);
	sink.note(sink.ctx, "a note");
	assert_string_equal(heard, "abab");
}

static void has_no_method_that_none_has(void **state)
{
	struct receiver a = { .letter = 'a' }, b = { .letter = 'b' };
	struct session_tee t;
	struct session_sink sink = tee(&t, &a, &b);

	(void)state;
	assert_null(sink.event);
	assert_null(sink.process);
	assert_null(sink.sample);
	assert_non_null(sink.note);
}

static void a_failure_ends_the_call(void **state)
{
	struct receiver a = { .letter = 'a', .result = -5 }, b = { .letter = 'b' };
	struct session_tee t;
	struct session_sink sink = tee(&t, &a, &b);

	(void)state;
	assert_int_equal(sink.life(sink.ctx, &(struct session_lifecycle){ 0 }), -5);
	assert_int_equal(sink.user(sink.ctx, NULL, 0, 9), -5);
	assert_string_equal(heard, "aa");
}

static void printed_events_share_the_room(void **state)
{
	struct receiver a = { .letter = 'a', .result = 2 }, b = { .letter = 'b', .result = 3 };
	struct session_tee t;
	struct session_sink sink = tee(&t, &a, &b);

	(void)state;
	assert_int_equal(sink.user(sink.ctx, NULL, 0, 9), 5);
	assert_int_equal(a.room, 9);
	assert_int_equal(b.room, 7);
}

UNIT_TESTS(sink)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_receive_in_order),
		cmocka_unit_test(has_no_method_that_none_has),
		cmocka_unit_test(a_failure_ends_the_call),
		cmocka_unit_test(printed_events_share_the_room),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Values of records by the names in their formats: numbers by their types, texts, and what could not be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "live/values.h"
#include "live_records.h"
#include "unit.h"

static int read_values(const struct test_event *t, struct collect_value ret[LIVE_VALUES_MAX], struct live_values **keep)
{
	*keep = live_values_new(t->probe);
	assert_non_null(*keep);
	return live_values_read(*keep, &t->event, ret);
}

static void assert_number(const struct collect_value *v, const char *name, int64_t number)
{
	assert_string_equal(v->name, name);
	assert_false(v->is_text);
	assert_int_equal(v->number, number);
}

static void test_numbers(void **state)
{
	struct test_event *t = event_new("u:zoo:i32 \"a=%d (b=%u) %d x-y=%x\", arg1, arg2, arg1, arg2", 64);
	struct collect_value v[LIVE_VALUES_MAX];
	struct live_values *keep;

	(void)state;
	event_set(t, 0, (uint64_t)-5);
	event_set(t, 1, 7);
	event_set(t, 3, 255);
	assert_int_equal(read_values(t, v, &keep), 3); /* the third has no name */
	assert_number(&v[0], "a", -5);
	assert_number(&v[1], "b", 7);
	assert_number(&v[2], "x-y", 255);
	live_values_free(keep);
	event_free(t);
}

static void test_faults_are_left_out(void **state)
{
	struct test_event *t = event_new("u:zoo:i32 \"a=%d b=%d\", arg1, arg2", 64);
	struct collect_value v[LIVE_VALUES_MAX];
	struct live_values *keep;

	(void)state;
	event_set(t, 1, 3);
	t->u.rec.faults = t->layout.slot[0].fault;
	assert_int_equal(read_values(t, v, &keep), 1);
	assert_number(&v[0], "b", 3);
	live_values_free(keep);
	t->u.rec.faults = 0;
	t->unreadable[1] = "is in %xmm0";
	assert_int_equal(read_values(t, v, &keep), 1);
	assert_string_equal(v[0].name, "a");
	live_values_free(keep);
	event_free(t);
}

static void test_texts(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 \"name=%s cause=%.*s n=%s\", arg1, arg2, arg1, arg1", 16);
	struct collect_value v[LIVE_VALUES_MAX];
	struct live_values *keep;

	(void)state;
	event_set_text(t, 0, "young", 5, UT_TEXT_CUT_LIMIT);
	event_set_text(t, 1, "Sys\0tem", 7, UT_TEXT_WHOLE);
	event_set_text(t, 2, "", 0, UT_TEXT_NULL);
	assert_int_equal(read_values(t, v, &keep), 2);
	assert_string_equal(v[0].name, "name");
	assert_true(v[0].is_text);
	assert_int_equal(v[0].len, 5);
	assert_memory_equal(v[0].text, "young", 5);
	assert_string_equal(v[1].name, "cause");
	assert_int_equal(v[1].len, 3); /* no further than a NUL */
	live_values_free(keep);
	event_free(t);
}

static void test_records_that_lie(void **state)
{
	struct test_event *t = event_new("u:zoo:u64 \"name=%s\", arg1", 16);
	struct collect_value v[LIVE_VALUES_MAX];
	struct live_values *keep = live_values_new(t->probe);

	(void)state;
	assert_int_equal(live_values_read(keep, &t->event, v), 1);
	((struct ut_rec_text *)(void *)(t->u.bytes + t->layout.slot[0].text))->len = 17;
	assert_int_equal(live_values_read(keep, &t->event, v), -EBADMSG);
	t->event.size = 40;
	assert_int_equal(live_values_read(keep, &t->event, v), -EBADMSG);
	live_values_free(keep);
	event_free(t);
}

UNIT_TESTS(values)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_faults_are_left_out),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_records_that_lie),
	};

	return unit_run(tests, NULL, NULL);
}

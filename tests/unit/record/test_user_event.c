/* SPDX-License-Identifier: MIT */
/* Records of user events, as programs fill them: what is taken, what is refused, and that nothing is read behind them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/user_event.h"
#include "usertrace.h"
#include "unit.h"

#define ADDRESS 0x7f0000001234u

static struct ut_rec_user_long record;

/* A record of @what with a name and, with @text, that text; the NULs are counted, as the kernel does. */
static void fill(uint32_t what, const char *name, const char *text)
{
	memset(&record, 0xee, sizeof(record));
	record.user.what = what;
	record.user.name_addr = name ? ADDRESS : 0;
	record.user.name_len = name ? (int32_t)strlen(name) + 1 : -EFAULT;
	record.user.text_addr = text ? ADDRESS : 0;
	record.user.text_len = text ? (int32_t)strlen(text) + 1 : 0;
	record.user.id = 42;
	record.user.value = -7;
	if (name)
		strcpy(record.user.name, name);
	if (text)
		strcpy(record.text, text);
}

static int decode(size_t size, struct user_event *e) { return user_event_decode(&record.user.head, size, e); }

static void assert_text(const struct ut_text *t, enum ut_text_state state, const char *bytes)
{
	assert_int_equal(t->state, state);
	assert_int_equal(t->len, strlen(bytes));
	assert_memory_equal(t->bytes, bytes, t->len);
}

/* What a string of prctl's string form is taken for. */
static void assert_string(const char *string, enum user_kind kind, const char *name)
{
	struct user_event e;

	fill(0, string, NULL);
	assert_int_equal(decode(sizeof(record), &e), 0);
	assert_true(e.string_form);
	assert_int_equal(e.kind, kind);
	assert_text(&e.name, UT_TEXT_WHOLE, name);
	assert_false(e.has_id || e.has_text || e.for_parent);
	assert_int_equal(e.id, 0);
	assert_int_equal(e.value, 0);
}

static void the_string_form(void **state)
{
	(void)state;
	assert_string("entry: gc", USER_BEGIN, "gc");
	assert_string("entry:gc", USER_BEGIN, "gc");
	assert_string("entry: \t  gc ", USER_BEGIN, "gc ");
	assert_string("exit: gc", USER_END, "gc");
	assert_string("exit:", USER_END, "");
	assert_string("entry:   ", USER_BEGIN, "");
	assert_string("entry", USER_MARK, "entry");
	assert_string("exit", USER_MARK, "exit");
	assert_string("entr", USER_MARK, "entr");
	assert_string(" entry: gc", USER_MARK, " entry: gc");
	assert_string("Exit: gc", USER_MARK, "Exit: gc");
	assert_string("entry:exit: gc", USER_BEGIN, "exit: gc");
	assert_string("", USER_MARK, "");
}

static void a_string_that_cannot_be_read(void **state)
{
	struct user_event e;

	(void)state;
	fill(0, "entry: gc", NULL);
	record.user.name_len = -EFAULT;
	assert_int_equal(decode(sizeof(record), &e), 0);
	assert_int_equal(e.kind, USER_MARK);
	assert_text(&e.name, UT_TEXT_FAULT, "");
	assert_int_equal(e.name.address, ADDRESS);
	/* read later, it is taken apart then */
	user_event_set_name(&e, &(struct ut_text){ .bytes = "exit: gc", .len = 8, .state = UT_TEXT_WHOLE });
	assert_int_equal(e.kind, USER_END);
	assert_text(&e.name, UT_TEXT_WHOLE, "gc");
	user_event_set_name(&e, &(struct ut_text){ .bytes = "entry: long", .len = 11, .state = UT_TEXT_CUT_LIMIT });
	assert_int_equal(e.kind, USER_BEGIN);
	assert_text(&e.name, UT_TEXT_CUT_LIMIT, "long");
	user_event_set_name(&e, &(struct ut_text){ .bytes = NULL, .len = 0, .state = UT_TEXT_FAULT });
	assert_int_equal(e.kind, USER_MARK);
}

/* A name that looks like it is a name, where the operation is given. */
static void set_names_are_left_alone_otherwise(void **state)
{
	struct user_event e;

	(void)state;
	fill(UT_END, "entry: gc", NULL);
	assert_int_equal(decode(sizeof(record), &e), 0);
	assert_false(e.string_form);
	assert_int_equal(e.kind, USER_END);
	assert_text(&e.name, UT_TEXT_WHOLE, "entry: gc");
	user_event_set_name(&e, &(struct ut_text){ .bytes = "exit: gc", .len = 8, .state = UT_TEXT_WHOLE });
	assert_int_equal(e.kind, USER_END);
	assert_text(&e.name, UT_TEXT_WHOLE, "exit: gc");
}

static void operations(void **state)
{
	struct user_event e;

	(void)state;
	for (uint64_t what = 1; what < 1u << 12; what++) {
		bool good = (what & 0xf) >= UT_BEGIN && (what & 0xf) <= UT_COUNT && !(what & ~0x7full);

		fill((uint32_t)what, "gc", "text");
		assert_int_equal(decode(sizeof(record), &e), good ? 0 : -EINVAL);
		if (!good)
			continue;
		assert_int_equal(e.kind, what & 0xf);
		assert_int_equal(e.value, -7);
		assert_int_equal(e.has_id, (what & UT_ID) != 0);
		assert_int_equal(e.id, what & UT_ID ? 42 : 0);
		assert_int_equal(e.for_parent, (what & UT_PARENT) != 0);
		assert_int_equal(e.has_text, (what & UT_TEXT) != 0);
		assert_text(&e.text, what & UT_TEXT ? UT_TEXT_WHOLE : UT_TEXT_NULL, what & UT_TEXT ? "text" : "");
		assert_ptr_equal(e.head, &record.user.head);
	}
	for (int bit = 12; bit < 32; bit++) {
		fill(UT_MARK | 1u << bit, "gc", NULL);
		assert_int_equal(decode(sizeof(record), &e), -EINVAL);
	}
}

/* @got from the kernel's read into @room bytes that hold @fill, without a NUL. */
static struct ut_text name_of(size_t size, int32_t got, uint64_t address)
{
	struct user_event e;

	fill(UT_MARK, "", NULL);
	memset(record.user.name, 'n', sizeof(record.user.name));
	memset(record.name_rest, 'n', sizeof(record.name_rest));
	record.user.name_len = got;
	record.user.name_addr = address;
	assert_int_equal(decode(size, &e), 0);
	return e.name;
}

static void names_by_what_the_kernel_returned(void **state)
{
	const size_t small = sizeof(record.user), large = sizeof(record);
	static const struct {
		int32_t got;
		bool small, large;
		enum ut_text_state state;
		size_t len;
	} cases[] = {
		{ 1, true, true, UT_TEXT_WHOLE, 0 },
		{ 2, true, true, UT_TEXT_WHOLE, 1 },
		{ 0, true, true, UT_TEXT_WHOLE, 0 },
		{ 32, true, true, UT_TEXT_WHOLE, 31 },
		{ 33, true, false, UT_TEXT_CUT_LIMIT, 31 },
		{ 33, false, true, UT_TEXT_WHOLE, 32 },
		{ 128, false, true, UT_TEXT_WHOLE, 127 },
		{ 129, false, true, UT_TEXT_CUT_LIMIT, 127 },
		{ INT32_MAX, true, false, UT_TEXT_CUT_LIMIT, 31 },
		{ INT32_MAX, false, true, UT_TEXT_CUT_LIMIT, 127 },
		{ -1, true, true, UT_TEXT_FAULT, 0 },
		{ -EFAULT, true, true, UT_TEXT_FAULT, 0 },
		{ INT32_MIN, true, true, UT_TEXT_FAULT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int k = 0; k < 2; k++) {
			struct ut_text t;

			if (!(k ? cases[i].large : cases[i].small))
				continue;
			t = name_of(k ? large : small, cases[i].got, ADDRESS);
			assert_int_equal(t.state, cases[i].state);
			assert_int_equal(t.len, cases[i].len);
			t = name_of(k ? large : small, cases[i].got, 0);
			assert_int_equal(t.state, UT_TEXT_NULL);
			assert_int_equal(t.len, 0);
		}
}

/* A program may change its memory while it is read: a NUL before the end is one. */
static void a_length_that_lies(void **state)
{
	struct user_event e;

	(void)state;
	fill(UT_MARK | UT_TEXT, "abc", "de");
	record.user.name_len = 100;
	record.user.text_len = 200;
	assert_int_equal(decode(sizeof(record), &e), 0);
	assert_text(&e.name, UT_TEXT_WHOLE, "abc");
	assert_text(&e.text, UT_TEXT_WHOLE, "de");
}

static void texts_by_what_the_kernel_returned(void **state)
{
	static const struct {
		int32_t got;
		enum ut_text_state state;
		size_t len;
	} cases[] = {
		{ 0, UT_TEXT_WHOLE, 0 },       { 1, UT_TEXT_WHOLE, 0 },		{ 255, UT_TEXT_WHOLE, 254 },
		{ 256, UT_TEXT_WHOLE, 255 },   { 257, UT_TEXT_CUT_LIMIT, 255 }, { INT32_MAX, UT_TEXT_CUT_LIMIT, 255 },
		{ -EFAULT, UT_TEXT_FAULT, 0 },
	};
	struct user_event e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fill(UT_MARK | UT_TEXT, "n", "");
		memset(record.text, 't', sizeof(record.text));
		record.user.text_len = cases[i].got;
		assert_int_equal(decode(sizeof(record), &e), 0);
		assert_true(e.has_text);
		assert_int_equal(e.text.state, cases[i].state);
		assert_int_equal(e.text.len, cases[i].len);
		record.user.text_addr = 0;
		assert_int_equal(decode(sizeof(record), &e), 0);
		assert_text(&e.text, UT_TEXT_NULL, "");
		assert_int_equal(decode(sizeof(record.user), &e), 0); /* asked for, but there was none to read */
		assert_true(e.has_text);
		assert_text(&e.text, UT_TEXT_NULL, "");
	}
}

/* Each record in memory of just its size, so that a sanitizer sees a read behind it. */
static void every_size_and_any_bytes(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (size_t size = 0; size <= sizeof(record) + 8; size++)
		for (int round = 0; round < 20; round++) {
			unsigned char *bytes = malloc(size ? size : 1);
			struct user_event e;
			int r;

			for (size_t i = 0; i < size; i++) {
				seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
				bytes[i] = (unsigned char)seed;
			}
			if (round % 2 && size >= sizeof(struct ut_rec_user))
				((struct ut_rec_user *)(void *)bytes)->what = (uint32_t)(seed & 0x77);
			r = user_event_decode((const void *)bytes, size, &e);
			assert_true(size < sizeof(struct ut_rec_user) ? r == -EBADMSG : r == 0 || r == -EINVAL);
			if (!r) {
				assert_true(e.kind >= USER_BEGIN && e.kind <= USER_COUNT);
				assert_true(e.name.len < UT_NAME_ROOM && e.text.len < UT_USER_TEXT_ROOM);
				assert_true(!e.name.len || !memchr(e.name.bytes, '\0', e.name.len));
				assert_true(!e.text.len || !memchr(e.text.bytes, '\0', e.text.len));
			}
			free(bytes);
		}
}

UNIT_TESTS(user_event)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_string_form),
		cmocka_unit_test(a_string_that_cannot_be_read),
		cmocka_unit_test(set_names_are_left_alone_otherwise),
		cmocka_unit_test(operations),
		cmocka_unit_test(names_by_what_the_kernel_returned),
		cmocka_unit_test(a_length_that_lies),
		cmocka_unit_test(texts_by_what_the_kernel_returned),
		cmocka_unit_test(every_size_and_any_bytes),
	};

	return unit_run(tests, NULL, NULL);
}

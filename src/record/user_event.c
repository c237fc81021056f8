/* SPDX-License-Identifier: MIT */
/* Validates a record once; wire/record.h and <usertrace.h> define the numbers. */
#include "record/user_event.h"

#include <errno.h>
#include <string.h>

#include "usertrace.h"

_Static_assert((int)USER_BEGIN == (int)UT_BEGIN && (int)USER_END == (int)UT_END && (int)USER_MARK == (int)UT_MARK &&
		       (int)USER_COUNT == (int)UT_COUNT,
	       "the kinds of <usertrace.h>");

#define KIND_MASK 0xfu
#define FLAGS ((uint32_t)UT_ID | (uint32_t)UT_TEXT | (uint32_t)UT_PARENT)

/* @got: the result of the kernel's read: bytes with the NUL, 0 (older kernels, for an empty string) or an error. */
static struct ut_text string_of(const char *bytes, int32_t got, uint64_t address, uint32_t room)
{
	struct ut_text t = { .bytes = bytes, .address = address };

	if (!address) {
		t.state = UT_TEXT_NULL;
	} else if (got < 0) {
		t.state = UT_TEXT_FAULT;
	} else if ((uint32_t)got > room) {
		t.state = UT_TEXT_CUT_LIMIT;
		t.len = room - 1;
	} else {
		t.state = UT_TEXT_WHOLE;
		t.len = got ? (size_t)got - 1 : 0;
	}
	t.len = t.len ? strnlen(bytes, t.len) : 0;
	return t;
}

static bool strip_prefix(struct ut_text *t, const char *prefix)
{
	size_t n = strlen(prefix);

	if (t->len < n || memcmp(t->bytes, prefix, n))
		return false;
	t->bytes += n;
	t->len -= n;
	while (t->len && (*t->bytes == ' ' || *t->bytes == '\t')) {
		t->bytes++;
		t->len--;
	}
	return true;
}

static void parse_string_form(struct user_event *e)
{
	e->kind = USER_MARK;
	if (e->name.state == UT_TEXT_NULL || e->name.state == UT_TEXT_FAULT)
		return;
	if (strip_prefix(&e->name, "entry:"))
		e->kind = USER_BEGIN;
	else if (strip_prefix(&e->name, "exit:"))
		e->kind = USER_END;
}

void user_event_set_name(struct user_event *e, const struct ut_text *name)
{
	e->name = *name;
	if (e->string_form)
		parse_string_form(e);
}

int user_event_decode(const struct ut_rec_event *rec, size_t size, struct user_event *ret)
{
	const struct ut_rec_user *u = (const void *)rec;
	const struct ut_rec_user_long *l = (const void *)rec;
	bool is_long = size >= sizeof(*l);

	memset(ret, 0, sizeof(*ret));
	if (size < sizeof(*u))
		return -EBADMSG;
	ret->head = rec;
	ret->uid = u->uid;
	ret->name = string_of(u->name, u->name_len, u->name_addr, is_long ? UT_NAME_ROOM : UT_NAME_SHORT);
	ret->text.state = UT_TEXT_NULL;
	if (!u->what) {
		ret->string_form = true;
		parse_string_form(ret);
		return 0;
	}
	if (u->what & ~(KIND_MASK | FLAGS) || (u->what & KIND_MASK) < UT_BEGIN || (u->what & KIND_MASK) > UT_COUNT)
		return -EINVAL;
	ret->kind = (enum user_kind)(u->what & KIND_MASK);
	ret->for_parent = u->what & UT_PARENT;
	ret->has_id = u->what & UT_ID;
	ret->id = ret->has_id ? u->id : 0;
	ret->value = u->value;
	ret->has_text = u->what & UT_TEXT;
	if (ret->has_text && is_long)
		ret->text = string_of(l->text, u->text_len, u->text_addr, UT_USER_TEXT_ROOM);
	return 0;
}

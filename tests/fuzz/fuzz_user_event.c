/* SPDX-License-Identifier: MIT */
/* Fuzzes what programs put into records of user events: an event within its limits, or a refusal. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/user_event.h"
#include "fuzz.h"

static void check_text(const struct ut_text *t, const char *record, size_t size, size_t room)
{
	if (t->len >= room || t->state > UT_TEXT_CUT_FAULT)
		abort();
	if (!t->len)
		return;
	if (t->bytes < record || t->bytes + t->len > record + size || memchr(t->bytes, '\0', t->len))
		abort();
	if (t->state == UT_TEXT_NULL || t->state == UT_TEXT_FAULT)
		abort();
}

FUZZ_TARGET(user_event)
{
	char *copy = malloc(size ? size : 1);
	struct user_event e;
	int r;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	r = user_event_decode((const void *)copy, size, &e);
	if (r && r != -EBADMSG && r != -EINVAL)
		abort();
	if (!r) {
		if (e.kind < USER_BEGIN || e.kind > USER_COUNT || (!e.has_id && e.id))
			abort();
		check_text(&e.name, copy, size, UT_NAME_ROOM);
		check_text(&e.text, copy, size, UT_USER_TEXT_ROOM);
		user_event_set_name(
			&e, &(struct ut_text){ .bytes = copy, .len = strnlen(copy, size), .state = UT_TEXT_CUT_FAULT });
		check_text(&e.name, copy, size, size + 1);
	}
	free(copy);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Records of user events, as programs filled them, to events that can be relied on. Pure. */
#ifndef UT_RECORD_USER_EVENT_H
#define UT_RECORD_USER_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/record.h"

enum user_kind { USER_BEGIN = 1, USER_END, USER_MARK, USER_COUNT }; /* numbers of <usertrace.h> */

struct user_event {
	const struct ut_rec_event *head;
	enum user_kind kind;
	uint32_t uid; /* of the thread that sent it */
	bool is_signal; /* of s: the run of a signal's handler; value is the code at its begin */
	bool for_parent; /* it speaks for the process that started its own */
	bool has_id, has_text;
	uint64_t id;
	int64_t value;
	struct ut_text name, text; /* text: UT_TEXT_NULL when there is none */
};

/*
 * -EBADMSG for what is no record of a user event; -EINVAL for one whose operation does not exist. The string form
 * ("entry: gc", "exit: gc", or any other string: a mark) is taken apart here.
 */
int user_event_decode(const struct ut_rec_event *rec, size_t size, struct user_event *ret);
/* What name is, when it could only be read later; takes the string form apart like the above. */
void user_event_set_name(struct user_event *e, bool string_form, const char *bytes, size_t len,
			 enum ut_text_state state);
/* Is its name the string of prctl's string form? */
bool user_event_is_string_form(const struct ut_rec_event *rec);

#endif

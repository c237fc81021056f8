/* SPDX-License-Identifier: MIT */
/* Validates the records of user events, whose contents come from programs. Pure. */
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
	bool is_signal; /* s: a signal handler runs; value is the signal's code at its begin */
	bool for_parent; /* the event belongs to the parent of its process */
	bool has_id, has_text;
	bool string_form; /* prctl's string form: its string is the kind and the name */
	uint64_t id;
	int64_t value;
	struct ut_text name, text; /* text: UT_TEXT_NULL when there is none */
};

/*
 * -EBADMSG for a record that is not a user event, -EINVAL for an unknown operation. Parses the string form: "entry: gc",
 * "exit: gc", any other string is an instant event.
 */
int user_event_decode(const struct ut_rec_event *rec, size_t size, struct user_event *ret);
/* Sets a name that had to be read later; parses the string form. */
void user_event_set_name(struct user_event *e, const struct ut_text *name);

#endif

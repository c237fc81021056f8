/* SPDX-License-Identifier: MIT */
/*
 * Checked expressions of user events (e:), worked out here and not in the kernel: pairing needs every event, printing
 * only those that the predicate lets through. Pure. The results are those that the generated instructions would have:
 * division by zero is 0, a remainder by zero the dividend, shifts by the low six bits.
 */
#ifndef UT_PROBE_EVAL_H
#define UT_PROBE_EVAL_H

#include "probe/spec.h"
#include "wire/record.h"

/* What a user event offers, in this order, as the fields of its probe_scope. */
enum user_field { USER_KIND, USER_NAME, USER_VALUE, USER_ID, USER_TEXT, USER_DURATION, USER_FIELDS };

/* Comparisons see the bytes alone: what is not there differs from every string, "" too, and equals NULL. */
struct eval_text {
	const char *bytes; /* not terminated; NULL: there is none, or it could not be read */
	size_t len;
	enum ut_text_state state; /* for printing: UT_TEXT_WHOLE without bytes prints as UT_TEXT_NULL */
};

struct eval_scope {
	uint64_t values[USER_FIELDS]; /* of the fields that are numbers */
	struct eval_text texts[USER_FIELDS]; /* of those that are text */
	uint32_t pid, tid, cpu;
	uint64_t time_ns;
	char comm[16];
};

/* The scope against which e: requests are checked; static. */
const struct probe_scope *eval_user_scope(void);

/* @e has been checked against eval_user_scope() and reads no memory. */
uint64_t eval_expr(const struct expr *e, const struct eval_scope *scope);

/*
 * The outputs of @checked as a record that the printer takes, appended to @out (8-byte aligned when @out is empty): the
 * head's time, pid, tid and comm from @scope, its site 0. -ENOMEM.
 */
int eval_record(const struct probe_checked *checked, const struct eval_scope *scope, struct buf *out);

#endif

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

struct eval_scope {
	uint64_t values[USER_FIELDS]; /* of the fields that are numbers */
	struct ut_text texts[USER_FIELDS]; /* of those that are strings */
	uint32_t pid, tid, cpu;
	uint64_t time_ns;
	char comm[16];
};

/* The scope against which e: requests are checked; static. */
const struct probe_scope *eval_user_scope(void);

/*
 * Comparisons see the bytes alone: what is not there differs from every string, "" too, and equals NULL. @e has been checked
 * against eval_user_scope() and reads no memory.
 */
uint64_t eval_expr(const struct expr *e, const struct eval_scope *scope);

/* What an expression that is a string is; of comm the bytes are in @scope. */
struct ut_text eval_string(const struct expr *e, const struct eval_scope *scope);

#endif

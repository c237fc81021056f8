/* SPDX-License-Identifier: MIT */
/*
 * Evaluates checked expressions of user events (e:) in the tracer and not in the kernel: pairing needs every event, printing
 * only those that match the predicate. Pure. The results are those of the generated instructions:
 * division by zero is 0, a remainder by zero the dividend, shifts by the low six bits.
 */
#ifndef UT_PROBE_EVAL_H
#define UT_PROBE_EVAL_H

#include "probe/spec.h"
#include "wire/record.h"

/* The fields of a user event, in the order of its probe_scope. */
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
 * Comparisons compare bytes only: a missing string differs from every string, also "", and equals NULL. @e has been checked
 * against eval_user_scope() and reads no memory.
 */
uint64_t eval_expr(const struct expr *e, const struct eval_scope *scope);

/* The value of an expression that is a string; the bytes of comm are in @scope. */
struct ut_text eval_string(const struct expr *e, const struct eval_scope *scope);

#endif

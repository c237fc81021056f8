/* SPDX-License-Identifier: MIT */
/* What the programs of user events and of signals share. Not for others. */
#ifndef UT_GEN_GEN_USER_PRIV_H
#define UT_GEN_GEN_USER_PRIV_H

#include <stddef.h>

#include "gen/gen_user.h"
#include "wire/record.h"

/* The stack of these programs, 512 bytes down from FP. gen_program uses SP_KEY alone, before they begin. */
enum user_stack {
	SU_KEY = -8,
	SU_WHAT = -16,
	SU_NAME_ADDR = -24,
	SU_VALUE = -32,
	SU_ID = -40,
	SU_TEXT_ADDR = -48,
	SU_NAME_LEN = -56,
	SU_TEXT_LEN = -64,
	SU_AVAILABLE = -72, /* bytes in the ring before this event */
	SU_REFUSED = -96, /* struct gen_refused, for a process that has none */
	SU_NAME = -240, /* UT_NAME_ROOM and a word more, to tell the longest from a longer one */
	SU_HANDLERS = -320, /* struct gen_handlers, for a thread that has none */
};

struct user {
	struct asm_buf *a;
	const struct gen_options *options;
	const struct gen_prctl *prctl;
	unsigned out;
};

/* R7 = a new record; what does not fit is counted at @counter. */
void user_reserve(struct asm_buf *a, uint32_t size, int counter, unsigned out);
void user_head(struct asm_buf *a);
/* *(R7 + @to) = *(FP + @from) */
void user_copy_word(struct asm_buf *a, unsigned size, int to, int from);
/* Whose user the thread is. */
void user_uid(struct asm_buf *a, int to);
/* A whole event with a short name from what stands on the stack. */
void user_short(struct user *u);
/* Exits, at @out too. */
int user_finish(struct asm_buf *a, unsigned out, struct ut_err *err);

#endif

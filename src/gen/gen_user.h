/* SPDX-License-Identifier: MIT */
/*
 * The programs of user events: the same record from both transports. Pure. As in gen.h the results are snippets:
 * gen_program puts the filter and the ring in front.
 */
#ifndef UT_GEN_GEN_USER_H
#define UT_GEN_GEN_USER_H

#include "gen/gen.h"
#include "wire/record.h"

/* The operands of the header's probe, to the letter: a site with others is of a header that we do not know. */
#define GEN_USER_OPERANDS "4@%edi 8@%rsi -8@%rdx 8@%rcx 8@%r8"

/*
 * How full a ring must be (gen_options.fair_bytes) for a process to be throttled, and how many bytes it may still
 * write in each window of time: a sixteenth of what is left. That is for the others, until the reader has caught up.
 */
#define GEN_FAIR_FROM(ring_bytes) ((ring_bytes) / 4 * 3)
#define GEN_FAIR_BYTES(fair_bytes) ((fair_bytes) / 48)

/* Offsets of the arguments in the record of syscalls:sys_enter_prctl. */
struct gen_prctl {
	unsigned option, arg[4];
};

/* The transport of <usertrace.h>: a uprobe. @prctl NULL; else that of the system call: a tracepoint, which cannot
 * sleep. */
int gen_user_snippet(const struct gen_prctl *prctl, const struct gen_options *options, struct gen_snippet *ret,
		     struct ut_err *err);

#endif

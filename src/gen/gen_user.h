/* SPDX-License-Identifier: MIT */
/*
 * The programs of user events: the same record from both lanes. Pure. As in gen.h the results are bodies: gen_program puts
 * the filter and the ring in front.
 */
#ifndef UT_GEN_GEN_USER_H
#define UT_GEN_GEN_USER_H

#include "gen/gen.h"
#include "wire/record.h"

/* The operands of the header's probe, to the letter: a site with others is of a header that we do not know. */
#define GEN_USER_OPERANDS "4@%edi 8@%rsi -8@%rdx 8@%rcx 8@%r8"

/*
 * From how full a ring on (gen_options.fair_bytes) a process is held back, and how many bytes it may still write in each
 * window of time: a sixteenth of what is left. That is for the others, until the reader has caught up.
 */
#define GEN_FAIR_FROM(ring_bytes) ((ring_bytes) / 4 * 3)
#define GEN_FAIR_WINDOW_SHIFT 24 /* 2^24 ns: 16.8 ms */
#define GEN_FAIR_BYTES(fair_bytes) ((fair_bytes) / 48)

/* Value of GEN_MAP_REFUSED, by process. */
struct gen_refused {
	uint64_t window; /* time >> GEN_FAIR_WINDOW_SHIFT */
	uint64_t bytes; /* in it */
	uint64_t refused; /* events, since the start */
};

/* Offsets of the arguments in the record of syscalls:sys_enter_prctl. */
struct gen_prctl {
	unsigned option, arg[4];
};

/* The lane of <usertrace.h>: a uprobe. @prctl NULL; else the lane of the system call: a tracepoint, which cannot sleep. */
int gen_user_body(const struct gen_prctl *prctl, const struct gen_options *options, struct gen_body *ret,
		  struct ut_err *err);

/* Value of GEN_MAP_HANDLERS, by thread: the signals whose handlers it runs. */
#define GEN_HANDLERS 8 /* a power of two */
struct gen_handlers {
	uint64_t depth, number[GEN_HANDLERS];
};

/* In the record of signal:signal_deliver. */
struct gen_signal {
	unsigned number, code, handler;
};

/*
 * A run of a signal's handler: its begin, on that event, or with @s NULL its end, on syscalls:sys_enter_rt_sigreturn. The
 * record is a struct ut_rec_user without a name: its id is the signal's number, its value the code.
 */
int gen_signal_body(const struct gen_signal *s, const struct gen_options *options, struct gen_body *ret,
		    struct ut_err *err);

#endif

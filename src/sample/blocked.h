/* SPDX-License-Identifier: MIT */
/*
 * Stacks of threads that were blocked before the recording, which the kernel's programs never see leave a processor.
 * They are walked from here, by the same walker and with the tables that the kernel has. Of a blocked thread the stack
 * pointer and the place of execution are known (/proc/PID/task/TID/syscall), not the other registers. One thread.
 */
#ifndef UT_SAMPLE_BLOCKED_H
#define UT_SAMPLE_BLOCKED_H

#include <sys/types.h>

#include "sample/unwind_maps.h"
#include "wire/sample.h"

struct blocked;

/* NULL: out of memory. */
struct blocked *blocked_new(void);
struct blocked *blocked_free(struct blocked *s);
/* A thread that is blocked. Threads of one process come one after the other. Nothing once they were walked. */
void blocked_add(struct blocked *s, pid_t pid, pid_t tid);
/*
 * Walks them all, after the scheduler's events are watched: each stack to @fn, user addresses alone, with an id as the
 * kernel makes it. Threads that ran meanwhile have none, nor have those that are left after a while. @fn returns a
 * negative number to end it.
 */
int blocked_walk(struct blocked *s, const struct unwind_maps *maps,
		 int (*fn)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips), void *ctx);
/* Gives a wait from before the recording its stack, if it was walked during that wait. Once for each thread. */
void blocked_fill_wait(struct blocked *s, struct ut_rec_wait *rec);

/* The text of /proc/PID/task/TID/syscall: false when the thread runs. Pure. */
bool blocked_parse(const char *text, uint64_t *ret_sp, uint64_t *ret_ip);

#endif

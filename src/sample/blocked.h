/* SPDX-License-Identifier: MIT */
/*
 * Stacks of threads that were blocked before the recording, which the BPF programs never see leave a CPU. The recorder
 * unwinds them with the same walker and the same tables. The stack pointer and the instruction pointer of a blocked thread
 * are known (/proc/PID/task/TID/syscall), the other registers are not. Not thread-safe.
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
/* Adds a blocked thread. Threads of one process must be added together. Ignored after blocked_walk. */
void blocked_add(struct blocked *s, pid_t pid, pid_t tid);
/*
 * Unwinds all of them; call it when the scheduler's programs are attached. @fn gets each stack, user addresses only, with
 * the same ID as the BPF programs use. Threads that ran meanwhile have no stack, nor have those left after a time limit.
 * A negative result of @fn ends it.
 */
int blocked_walk(struct blocked *s, const struct unwind_maps *maps,
		 int (*fn)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips), void *ctx);
/* Sets the stack of a wait that began before the recording, if it was unwound during that wait. Once for each thread. */
void blocked_fill_wait(struct blocked *s, struct ut_rec_wait *rec);

/* Parses /proc/PID/task/TID/syscall: false when the thread is running. Pure. */
bool blocked_parse(const char *text, uint64_t *ret_sp, uint64_t *ret_ip);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Measuring how processes stand: the programs on the scheduler's events, and which processes they count. See
 * gen/gen_state.h for what is counted.
 */
#ifndef UT_RECORD_MEASURE_H
#define UT_RECORD_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "proc/runtime.h"

struct measure;

/* 0, or -ENOTSUP with a sentence where the kernel does not tell what is needed (its type information, BTF). */
int measure_possible(struct ut_err *err);
int measure_open(uint64_t base_ns, struct measure **ret, struct ut_err *err);
struct measure *measure_close(struct measure *m);
/* Its descriptors, into an array of GEN_MAPS. */
void measure_maps(const struct measure *m, int *fds);
/*
 * Counts process @pid from now on; again for one that is counted: the names of its threads alone are learnt. @runtime
 * (NULL: none) says whose its threads are; it lives as long as @m. @fresh: it may be running; else it is held, or
 * measure_settle follows. 0, or a negative errno when there is no room for it: it is not measured.
 */
int measure_process(struct measure *m, pid_t pid, const struct runtime *runtime, bool fresh);
bool measure_has(const struct measure *m, pid_t pid);
/* It is gone. */
void measure_forget(struct measure *m, pid_t pid);
/*
 * Makes every processor switch once, so that who runs there is known. False when it may not visit all of them: then
 * processes are fresh.
 */
bool measure_settle(void);

#endif

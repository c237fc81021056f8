/* SPDX-License-Identifier: MIT */
/*
 * Measuring how processes stand: the tables that src/bpf/state.h keeps, and which processes are in them. The programs are
 * those of record/sched.h and record/lifecycle.h.
 */
#ifndef UT_RECORD_MEASURE_H
#define UT_RECORD_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "proc/runtime.h"

struct measure;

/* Descriptors of the tables (wire/state.h). */
struct state_maps {
	int processes_fd, threads_fd, current_fd, names_fd;
};

/* 0, or -ENOTSUP with a sentence where the kernel does not tell what is needed (its type information, BTF). */
int measure_possible(struct ut_err *err);
/* The tables, empty. */
int measure_open(uint64_t base_ns, struct measure **ret, struct ut_err *err);
struct measure *measure_close(struct measure *m);
const struct state_maps *measure_maps(const struct measure *m);
/*
 * Counts process @pid from now on; again for one that is counted: the names of its threads alone are learnt. @runtime
 * (NULL: none) says whose its threads are; it lives as long as @m. @fresh: it may be running; else it is held, or
 * measure_visit_cpus follows. 0, or a negative errno when there is no room for it: it is not measured.
 */
int measure_process(struct measure *m, pid_t pid, const struct runtime *runtime, bool fresh);
bool measure_has(const struct measure *m, pid_t pid);
/* It is gone. */
void measure_forget(struct measure *m, pid_t pid);
/*
 * Makes every processor switch once, so that who runs there is known. False when it may not visit all of them: then
 * processes are fresh.
 */
bool measure_visit_cpus(void);

#endif

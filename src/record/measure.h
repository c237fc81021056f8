/* SPDX-License-Identifier: MIT */
/*
 * Measuring stopped time: the tables of src/bpf/state.h, and which processes are in them. The programs that update them are
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

/* 0, or -ENOTSUP where the kernel lacks what is needed (its type information, BTF). */
int measure_possible(struct ut_err *err);
/* The tables, empty. */
int measure_open(uint64_t base_ns, struct measure **ret, struct ut_err *err);
struct measure *measure_close(struct measure *m);
const struct state_maps *measure_maps(const struct measure *m);
/*
 * Measures process @pid from now on; for a measured process, only adds the names of its threads. @runtime (NULL: none) names
 * the threads of its collector; it must outlive @m. @fresh: the process may be running; otherwise it is suspended, or
 * measure_visit_cpus follows. 0, or a negative errno when the table is full: the process is not measured.
 */
int measure_process(struct measure *m, pid_t pid, const struct runtime *runtime, bool fresh);
bool measure_has(const struct measure *m, pid_t pid);
/* The process has exited. */
void measure_forget(struct measure *m, pid_t pid);
/*
 * Visits every CPU, which forces a switch there, so that the running thread of each is known. False when some CPUs may not
 * be visited: processes are fresh then.
 */
bool measure_visit_cpus(void);

#endif

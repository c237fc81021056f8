/* SPDX-License-Identifier: MIT */
/* The descendants of processes, and which runtimes they run. */
#ifndef UT_PROC_DESCENDANTS_H
#define UT_PROC_DESCENDANTS_H

#include "base/buf.h"
#include "proc/process.h"
#include "proc/runtime.h"

struct process_parent {
	pid_t pid, parent; /* parent 0: unknown */
};

/*
 * Sets @ret[i] if @all[i] (ascending PIDs) descends from one of @roots and not through @except (0: no exception). A root
 * and @except are no descendants. Parents that were read at different times may contradict each other: it ends all the
 * same. Pure.
 */
void descendants_mark(const struct process_parent *all, size_t n, const int *roots, size_t nroots, pid_t except,
		      bool *ret);
/* The present descendants of @roots, ascending, without this process and its own descendants. The caller frees *@ret. */
int descendants_list(const int *roots, size_t nroots, struct process_id **ret, size_t *ret_n, struct ut_err *err);
/*
 * Appends how many of the processes run which runtime, in the order of PIDs: "3 child processes that run CPython and 1 that
 * runs Ruby". Libraries that other runtimes use do not count. Returns how many run one; 0: nothing was appended.
 */
size_t descendants_runtimes(const struct runtimes *r, const struct process_id *v, size_t n, struct buf *out);
/* The same from what each process runs, NULL for none. Pure. */
size_t descendants_count(const struct runtime *const *v, size_t n, struct buf *out);

#endif

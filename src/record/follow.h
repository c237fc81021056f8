/* SPDX-License-Identifier: MIT */
/*
 * Following processes: the set of followed processes is in the kernel and grows at each fork, so that no event of a child
 * is missed. The processes of a command can also be suspended after an exec or the loading of libraries, until their probes
 * are attached: SIGSTOP stops them before they return to their own code, and SIGCONT continues them. A watchdog process
 * continues them if the tracer is killed meanwhile.
 */
#ifndef UT_RECORD_FOLLOW_H
#define UT_RECORD_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct follow;

/* Creates an empty set; record/lifecycle.h has the programs. @suspend: suspend its processes at exec and library loading. */
int follow_open(bool suspend, struct follow **ret, struct ut_err *err);
/* Call it after lifecycle_stop. Continues all suspended processes. */
struct follow *follow_close(struct follow *f);
int follow_map_fd(const struct follow *f); /* GEN_MAP_FOLLOW */
int follow_control_fd(
	const struct follow *f); /* the ring of process IDs that are being suspended; -1 without @suspend */
int follow_add(struct follow *f, pid_t pid, struct ut_err *err);
bool follow_contains(const struct follow *f, pid_t pid);
/* Removes processes that have exited, so that a reused PID is not followed. */
void follow_sweep(struct follow *f);

/* Waits until the next suspended process has stopped, and returns it; 0 without one. */
pid_t follow_next_suspended(struct follow *f);
/* Attaches @prog to the dynamic linker of @pid, which is stopped: suspends it when libraries were loaded. Once per file. */
int follow_linker(struct follow *f, pid_t pid, int prog, struct ut_err *err);
void follow_continue(pid_t pid);

#endif

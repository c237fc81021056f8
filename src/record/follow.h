/* SPDX-License-Identifier: MIT */
/*
 * Following processes: the set of followed ones lives in the kernel and grows at each fork, so that no event of a child
 * is missed. A command's processes can also be held, when they have exec'ed or loaded libraries, until probes are in
 * place: they are stopped by SIGSTOP before they return to their own code, and told to go on by SIGCONT. A guardian
 * process does the latter when the tracer is killed meanwhile.
 */
#ifndef UT_RECORD_FOLLOW_H
#define UT_RECORD_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct follow;

/* The set, empty; record/lifecycle.h has the programs. @hold: those in it are stopped at exec and at library loading. */
int follow_open(bool suspend, struct follow **ret, struct ut_err *err);
/* The programs that hold do not run any more. */
struct follow *follow_close(struct follow *f);
int follow_map_fd(const struct follow *f); /* GEN_MAP_FOLLOW */
int follow_control_fd(const struct follow *f); /* the ring for the ids of those that are being held; -1 without hold */
int follow_add(struct follow *f, pid_t pid, struct ut_err *err);
bool follow_contains(const struct follow *f, pid_t pid);
/* Takes out processes that have ended, so that a reused pid is not followed. */
void follow_sweep(struct follow *f);

/* Next process that waits, once it has stopped; 0 when none does. */
pid_t follow_next_suspended(struct follow *f);
/* Also hold it, by @prog, when its dynamic linker has loaded libraries; @pid is stopped. Once per linker file. */
int follow_linker(struct follow *f, pid_t pid, int prog, struct ut_err *err);
void follow_continue(struct follow *f, pid_t pid);

#endif

/* SPDX-License-Identifier: MIT */
/* The command after --: forked at once, suspended before its exec until the probes are attached. */
#ifndef UT_RECORD_CHILD_H
#define UT_RECORD_CHILD_H

#include <sys/types.h>

#include "base/err.h"

struct child {
	pid_t pid; /* 0: none */
	int release_fd; /* write end: a byte lets the child continue to its exec */
	int failed_fd; /* read end: errno if exec fails, end of file if it succeeds */
};

/* Forks; the child waits. @argv is NULL-terminated. The child blocks no signals and SIGPIPE ends it. */
int child_start(char *const *argv, struct child *ret, struct ut_err *err);
/* Lets the child exec, and waits until it has. On failure the error names the command. */
int child_release(struct child *c, const char *name, struct ut_err *err);
/* Ends a child that was not released. */
void child_abandon(struct child *c);
/* Waits for the child. Returns its exit status as a shell reports it (128 + signal), -1 without a child. */
int child_wait(struct child *c);

#endif

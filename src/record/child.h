/* SPDX-License-Identifier: MIT */
/* The command behind «--»: made at once, held before its exec until the probes are in place. */
#ifndef UT_RECORD_CHILD_H
#define UT_RECORD_CHILD_H

#include <sys/types.h>

#include "base/err.h"

struct child {
	pid_t pid; /* 0: none */
	int release_fd; /* our end; writing lets it go on to exec */
	int failed_fd; /* gives errno when exec fails, end of file when it worked */
};

/* Forks; the child waits. @argv is NULL-terminated. The child blocks no signals and SIGPIPE ends it. */
int child_start(char *const *argv, struct child *ret, struct ut_err *err);
/* Lets it exec, and waits until it did. -ENOENT and the like with a sentence naming the command when it cannot. */
int child_release(struct child *c, const char *name, struct ut_err *err);
/* Ends a child that was never released. */
void child_abandon(struct child *c);
/* Its exit status as a shell has it (128 + signal); waits for it. -1 when there is no child. */
int child_wait(struct child *c);

#endif

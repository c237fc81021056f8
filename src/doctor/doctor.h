/* SPDX-License-Identifier: MIT */
/* Checks of this machine, of processes and of runtime definitions: each a state, what it means, and a remedy. */
#ifndef UT_DOCTOR_H
#define UT_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"

enum check_state { CHECK_OK, CHECK_WARN, CHECK_NO };

struct check {
	enum check_state state;
	pid_t pid; /* 0: the machine, not a process */
	char *thing, *meaning; /* owned */
	char *remedy; /* owned; NULL: nothing to do */
};

struct checks {
	VEC(struct check) all;
	pid_t pid; /* for the checks that are added next */
	bool failed; /* out of memory: some are missing */
};

void checks_done(struct checks *c);

/* The kernel release, our capabilities, the settings that restrict them, namespaces and tracefs. */
void doctor_privileges(struct checks *c);
/* Tests which features of the kernel can be used. */
void doctor_kernel(struct checks *c);

/* Checks one process: identity, namespaces, runtime, probes, semaphores, switches. */
void doctor_process(struct checks *c, pid_t pid);

/*
 * Checks the runtime definitions against the installed and running runtimes or, if @npaths is not 0, against the files
 * @paths only. @file: one more definition, or NULL.
 */
void doctor_runtimes(struct checks *c, const char *file, char *const *paths, size_t npaths);

#endif

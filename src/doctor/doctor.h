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

/* Who we are to this machine: its kernel, our rights, settings, namespaces, the trace filesystem. */
void doctor_rights(struct checks *c);
/* What the kernel lets us do, tried. */
void doctor_kernel(struct checks *c);

/* What one process offers: identity, namespaces, runtime, probes, semaphores, switches. */
void doctor_process(struct checks *c, pid_t pid);

/*
 * The descriptions of runtimes against what is installed and runs here, or, if there are any, against the files @paths
 * alone. @file: one more description, or NULL.
 */
void doctor_runtimes(struct checks *c, const char *file, char *const *paths, size_t npaths);

#endif

/* SPDX-License-Identifier: MIT */
/* What `usertrace doctor` found out: a list of checks, collected first and printed at the end. */
#ifndef UT_CLI_DOCTOR_H
#define UT_CLI_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "record/doctor.h"

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

/* Adds one; @remedy may be NULL, the meaning has printf's rules. */
void checks_add(struct checks *c, enum check_state state, const char *thing, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void checks_done(struct checks *c);

/* Who we are to this machine: its kernel, our rights, settings, namespaces, the trace filesystem. */
void doctor_rights(struct checks *c);
/* May we attach at all, as far as capabilities tell? */
bool doctor_may_attach(void);
/* What the kernel lets us do, tried. */
void doctor_kernel(struct checks *c);
/* What programs announce themselves: the two lanes, and their cost. @rights: the trials had them. */
void doctor_user_events(struct checks *c, const struct machine *m, bool rights);

/* What one process offers: identity, namespaces, runtime, probes, semaphores, switches. */
void doctor_process(struct checks *c, pid_t pid);
/* The switches of its runtime that make it announce more, from its command line and environment. */
void doctor_switches(struct checks *c, pid_t pid, const char *runtime);

/*
 * The descriptions of runtimes against what is installed and runs here, or, if there are any, against the files @paths
 * alone. @file: one more description, or NULL.
 */
void doctor_runtimes(struct checks *c, const char *file, char *const *paths, size_t npaths);

#endif

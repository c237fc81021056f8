/* SPDX-License-Identifier: MIT */
/* Shared by the files of this directory. */
#ifndef UT_DOCTOR_DOCTOR_PRIV_H
#define UT_DOCTOR_DOCTOR_PRIV_H

#include "doctor/doctor.h"
#include "doctor/machine.h"

/* Adds a check; @remedy may be NULL, and @fmt formats the meaning as printf does. */
void checks_add(struct checks *c, enum check_state state, const char *thing, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Do our capabilities permit attaching? */
bool doctor_may_attach(void);
/* The two transports of user events, and their cost. @privileged: the tests were permitted. */
void doctor_user_events(struct checks *c, const struct machine *m, bool privileged);
/* The switches that make the runtime of a process report more, from its command line and environment. */
void doctor_switches(struct checks *c, pid_t pid, const char *runtime);

#endif

/* SPDX-License-Identifier: MIT */
/* What the parts of the doctor share. */
#ifndef UT_DOCTOR_DOCTOR_PRIV_H
#define UT_DOCTOR_DOCTOR_PRIV_H

#include "doctor/doctor.h"
#include "doctor/machine.h"

/* Adds one; @remedy may be NULL, the meaning has printf's rules. */
void checks_add(struct checks *c, enum check_state state, const char *thing, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* May we attach at all, as far as capabilities tell? */
bool doctor_may_attach(void);
/* What programs announce themselves: the two lanes, and their cost. @rights: the trials had them. */
void doctor_user_events(struct checks *c, const struct machine *m, bool rights);
/* The switches of its runtime that make it announce more, from its command line and environment. */
void doctor_switches(struct checks *c, pid_t pid, const char *runtime);

#endif

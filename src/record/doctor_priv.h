/* SPDX-License-Identifier: MIT */
/* What the parts of the doctor's trials share. */
#ifndef UT_RECORD_DOCTOR_PRIV_H
#define UT_RECORD_DOCTOR_PRIV_H

#include "record/doctor.h"

/* A uprobe program that does nothing, loaded. */
int doctor_load_empty(bool multi);
/* Puts a program on a place of our own file; the link. *@event is what it sits on, the older way. */
int doctor_attach_own(int prog, bool multi, uint64_t offset, uint64_t sem_offset, int *event);
/* User events: the prctl lane, and the costs of both lanes. After the other trials. */
void doctor_try_user(struct machine *m);

#endif

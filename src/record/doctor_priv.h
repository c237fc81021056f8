/* SPDX-License-Identifier: MIT */
/* What the parts of the doctor's trials share. */
#ifndef UT_RECORD_DOCTOR_PRIV_H
#define UT_RECORD_DOCTOR_PRIV_H

#include "record/doctor.h"

/* User events: the prctl lane, and the costs of both lanes. After the other trials. */
void doctor_try_user(struct machine *m);

#endif

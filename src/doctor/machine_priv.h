/* SPDX-License-Identifier: MIT */
/* Shared by the trials. */
#ifndef UT_DOCTOR_MACHINE_PRIV_H
#define UT_DOCTOR_MACHINE_PRIV_H

#include "gen/gen.h"
#include "doctor/machine.h"
#include "kernel/kernel.h"

/* Finishes and loads @a, whose one map (GEN_MAP_LOST) is @map_fd, and frees it. A descriptor or a negative errno. */
int doctor_load(struct asm_buf *a, struct kernel_prog *prog, int map_fd);
/* User events: the prctl transport, and the costs of both transports. After the other trials. */
void doctor_try_user(struct machine *m);

#endif

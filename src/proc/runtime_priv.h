/* SPDX-License-Identifier: MIT */
/* What the two files about runtimes share. */
#ifndef UT_PROC_RUNTIME_PRIV_H
#define UT_PROC_RUNTIME_PRIV_H

#include "proc/runtime.h"

/* Frees what a runtime owns; half-built ones, too. */
void runtime_done(struct runtime *r);

#endif

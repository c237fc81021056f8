/* SPDX-License-Identifier: MIT */
/* What the linker gets: one semaphore for each probe, defined once for the whole program. */
#ifndef UT_DTRACE_OBJECT_H
#define UT_DTRACE_OBJECT_H

#include "dtrace/provider.h"
#include "elf/write.h"

/* Appends the object's bytes to @out; no probes give an object that defines nothing. 0 or a negative errno. */
int dtrace_object(const struct dtrace_providers *p, enum elf_machine machine, struct buf *out, struct ut_err *err);

#endif

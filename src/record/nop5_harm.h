/* SPDX-License-Identifier: MIT */
/*
 * A traced program must never be changed by being traced. Since Linux 6.18 a probe on a 5-byte nop is turned into a CALL
 * into a page of the kernel's, which does harm in two ways:
 *
 * - It writes 8 and more bytes below the stack pointer: harmless where a function begins, fatal in a leaf function that
 *   keeps data in the red zone there (System V ABI for x86-64, 3.2.2).
 * - A child of fork() has the CALL, but not the page: its next call of the site ends it.
 *
 * Kernels that do neither may come, so what this one does is tried.
 */
#ifndef UT_RECORD_NOP5_HARM_H
#define UT_RECORD_NOP5_HARM_H

#include <stdbool.h>

#include "plan/nop5.h"

enum nop5_harm {
	NOP5_RED_ZONE = 1, /* tried: it writes into the red zone */
	NOP5_FORKS = 2, /* tried: it ends forked children */
	NOP5_UNTRIED = 4, /* could not be tried (no rights) */
};
/* What this kernel does: a set of enum nop5_harm, 0 for none. Tried on a function of our own, once. */
unsigned nop5_harm_of_kernel(void);
/* NULL where a probe may be put there; else why not, a clause. @no_forks: the user says that the programs do not fork. */
const char *nop5_unsafe(enum nop5_location place, bool no_forks);

#endif

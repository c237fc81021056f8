/* SPDX-License-Identifier: MIT */
/*
 * Tracing must never change a program. Since Linux 6.18 the kernel turns a probe on a 5-byte nop into a CALL into a page of
 * its own, which does harm in two ways:
 *
 * - The CALL writes 8 bytes and more below the stack pointer: harmless at the start of a function, fatal in a leaf function
 *   with data in the red zone (System V ABI for x86-64, 3.2.2).
 * - A child of fork() inherits the CALL, but not the page, and crashes when it reaches the site.
 *
 * Later kernels may do neither, so an experiment decides.
 */
#ifndef UT_RECORD_NOP5_HARM_H
#define UT_RECORD_NOP5_HARM_H

#include <stdbool.h>

#include "plan/nop5.h"

enum nop5_harm {
	NOP5_RED_ZONE = 1, /* the kernel writes into the red zone */
	NOP5_FORKS = 2, /* the kernel crashes forked children */
	NOP5_UNTRIED = 4, /* no experiment was possible (no privileges) */
};
/* The harm that this kernel does: a set of enum nop5_harm, 0 for none. The experiment, on a function of our own, runs once. */
unsigned nop5_harm_of_kernel(void);
/* NULL where a probe is safe; otherwise the reason, a clause. @no_forks: the user asserts that targets never fork. */
const char *nop5_unsafe(enum nop5_location place, bool no_forks);

#endif

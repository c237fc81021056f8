/* SPDX-License-Identifier: MIT */
/* What became of the calls whose returns are traced without the kernel's trampoline. */
#ifndef UT_RECORD_CALLS_H
#define UT_RECORD_CALLS_H

#include <stdbool.h>

#include "wire/call.h"

struct plan;

/* Are returns of the plan traced in this way? */
bool calls_are_paired(const struct plan *plan);
/*
 * Adds up after everything is detached: the kernel's counts, and the calls in progress whose thread has ended meanwhile.
 * @starts_fd, @calls_fd: GEN_MAP_STARTS and GEN_MAP_CALLS.
 */
void calls_count(int starts_fd, int calls_fd, struct ut_call_counts *ret);

#endif

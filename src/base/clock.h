/* SPDX-License-Identifier: MIT */
/* Clocks in nanoseconds. */
#ifndef UT_BASE_CLOCK_H
#define UT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* CLOCK_MONOTONIC, the clock of all records. */
static inline uint64_t monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* One moment on CLOCK_MONOTONIC and on CLOCK_REALTIME. */
static inline void clock_both(uint64_t *ret_mono_ns, uint64_t *ret_wall_ns)
{
	*ret_mono_ns = monotonic_ns();
	*ret_wall_ns = clock_ns(CLOCK_REALTIME);
}

#endif

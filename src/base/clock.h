/* SPDX-License-Identifier: MIT */
/* Clocks in nanoseconds. */
#ifndef UT_BASE_CLOCK_H
#define UT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t timespec_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return timespec_ns(&ts);
}

/* CLOCK_MONOTONIC, the clock of all records. */
static inline uint64_t monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/*
 * One moment on CLOCK_MONOTONIC and on CLOCK_REALTIME. The CPU can be taken away between the two readings: the closest of a
 * few is taken.
 */
static inline void clock_both(uint64_t *ret_mono_ns, uint64_t *ret_wall_ns)
{
	uint64_t least = UINT64_MAX;

	*ret_mono_ns = *ret_wall_ns = 0;
	for (int i = 0; i < 5; i++) {
		uint64_t before = monotonic_ns(), wall = clock_ns(CLOCK_REALTIME), after = monotonic_ns();

		if (after - before >= least)
			continue;
		least = after - before;
		*ret_mono_ns = before + least / 2;
		*ret_wall_ns = wall;
	}
}

#endif

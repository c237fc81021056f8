/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packed counters (wire/record.h): a count of threads and a sum of times in one number, changed by additions alone, so that
 * no lock is needed and the order in which CPUs add does not matter. What begins adds 1 and subtracts the time; what ends
 * subtracts 1 and adds the time: at any moment sum + count * now is the time that all of them took.
 *
 * The host compiles this file as well: a test puts every order of several CPUs' steps between the additions.
 */
#ifndef UT_BPF_PACKED_H
#define UT_BPF_PACKED_H

#include "wire/record.h"

#ifndef PACKED_ADD /* a test has its own */
#define PACKED_ADD(counter, value) ((void)__sync_fetch_and_add((counter), (value)))
#define PACKED_FETCH_ADD(counter, value) __sync_fetch_and_add((counter), (value))
#define PACKED_LOAD(counter) (*(const volatile uint64_t *)(counter))
#endif

#define PACKED_COUNT(value) ((value) & ((1u << UT_WORD_COUNT_BITS) - 1))

/* A time where counters have it. All that is called `now` below is one. */
static inline __attribute__((always_inline)) uint64_t packed_time(uint64_t ns, uint64_t base_ns)
{
	return (ns - base_ns) >> UT_WORD_UNIT_SHIFT << UT_WORD_COUNT_BITS;
}

/* One more and one fewer of a counter that adds up the time of all. */
static inline __attribute__((always_inline)) void packed_enter(uint64_t *counter, uint64_t now)
{
	PACKED_ADD(counter, 1 - now);
}

static inline __attribute__((always_inline)) void packed_leave(uint64_t *counter, uint64_t now)
{
	PACKED_ADD(counter, now - 1);
}

/*
 * The same of a counter that adds up the time of none: the first to come adds the time, the last to go subtracts it. These
 * are two steps. Who looks between them sees a sum that is wrong by a whole now, and can tell (model/stall.h).
 */
static inline __attribute__((always_inline)) void packed_enter_any(uint64_t *counter, uint64_t now)
{
	if (!PACKED_COUNT(PACKED_FETCH_ADD(counter, 1)))
		PACKED_ADD(counter, now);
}

static inline __attribute__((always_inline)) void packed_leave_any(uint64_t *counter, uint64_t now)
{
	if (PACKED_COUNT(PACKED_FETCH_ADD(counter, (uint64_t)-1)) == 1)
		PACKED_ADD(counter, -now);
}

/* @n fewer, who end now; how many there were before. */
static inline __attribute__((always_inline)) uint64_t packed_leave_many(uint64_t *counter, uint64_t n, uint64_t now)
{
	return PACKED_COUNT(PACKED_FETCH_ADD(counter, n * (now - 1)));
}

/* The count becomes 0. Who came or went between the look and the subtraction is subtracted, or added back, after it. */
static inline __attribute__((always_inline)) void packed_clear(uint64_t *counter, uint64_t now)
{
	uint64_t seen = PACKED_COUNT(PACKED_LOAD(counter)), there = packed_leave_many(counter, seen, now);

	if (there != seen)
		packed_leave_many(counter, there - seen, now);
}

/*
 * One fewer, unless packed_clear() has subtracted it already: then there is none to leave. (One that began to wait between
 * the two would be taken for it; the epoch is compared just before, so that all three have to meet in a few nanoseconds.)
 */
static inline __attribute__((always_inline)) void packed_leave_cleared(uint64_t *counter, uint64_t now)
{
	if (!packed_leave_many(counter, 1, now))
		packed_enter(counter, now);
}

#endif

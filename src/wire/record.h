/* SPDX-License-Identifier: MIT */
/* Layouts of the records in the kernel's rings, shared by the generated programs, src/bpf and C. Numbers are never
 * reused. All times are CLOCK_MONOTONIC nanoseconds. */
#ifndef UT_WIRE_RECORD_H
#define UT_WIRE_RECORD_H

#ifndef __bpf__
#include <assert.h>
#include <stdint.h>
#define UT_ASSERT(cond, why) _Static_assert(cond, why)
#else
#define UT_ASSERT(cond, why) _Static_assert(cond, why)
#endif

/* The head of every event, 48 bytes. Behind it: the values, a return address where stacks want it, the texts. */
struct ut_rec_event {
	uint64_t time_ns;	/* read after the reservation */
	uint32_t site;		/* index into the session's sites */
	uint32_t lost;		/* events lost in this ring before this one, since the start (modulo 2^32) */
	uint32_t pid, tid;	/* of the initial namespace */
	char comm[16];		/* of the thread, at the event */
	uint32_t faults;	/* bit i: value i could not be read; the value is the address then */
	uint32_t text_room;	/* bytes of room of each text: the tier that was used */
	/* uint64_t value[]; one per output that needs room, in order */
};
UT_ASSERT(sizeof(struct ut_rec_event) == 48, "record layout");

/*
 * Behind the values, at a function's entry with a user stack: uint64_t, where the function will return to, which a walk
 * by frame pointers misses.
 */

/* Every text (string, bytes, chars, stack) of a record, after all values: */
struct ut_rec_text {
	uint32_t len;		/* bytes that follow, without a terminating NUL; stacks: bytes of 64-bit addresses */
	uint32_t state;		/* enum ut_text_state */
	/* char bytes[text_room] */
};

enum ut_text_state {
	UT_TEXT_WHOLE = 0,	/* all of it */
	UT_TEXT_NULL = 1,	/* the pointer was NULL */
	UT_TEXT_FAULT = 2,	/* nothing could be read at the address */
	UT_TEXT_CUT_LIMIT = 3,	/* longer than the limit */
	UT_TEXT_CUT_FAULT = 4,	/* what follows lies in memory that cannot be read */
};

#endif

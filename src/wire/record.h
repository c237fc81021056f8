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

#include "wire/text.h"

/* The head of every event, 48 bytes. Behind it: the values, a return address where stacks want it, the texts. */
struct ut_rec_event {
	uint64_t time_ns; /* read after the reservation */
	uint32_t site; /* index into the session's sites */
	uint32_t lost; /* events lost in this ring before this one, since the start (modulo 2^32) */
	uint32_t pid, tid; /* of the initial namespace */
	char comm[16]; /* of the thread, at the event */
	uint32_t faults; /* bit i: value i could not be read; the value is the address then */
	uint32_t text_room; /* bytes of room of each text: the tier that was used */
	/* uint64_t value[]; one per output that needs room, in order */
};
UT_ASSERT(sizeof(struct ut_rec_event) == 48, "record layout");

/*
 * The state of a process at this moment: after the values of spans' begins and ends, when a session measures. Words of
 * two numbers, which differ from moment to moment: what lies between two of them is how long something lasted
 * (model/stall.h).
 */
#define UT_WORD_COUNT_BITS 14 /* below: how many threads are so now; above, signed: time */
#define UT_WORD_UNIT_SHIFT 4 /* time in units of 16 ns, since the session's base */

struct ut_rec_state {
	uint64_t none_runs; /* time in which no thread of the program ran; count: threads of it that run */
	uint64_t program; /* time of the program's threads on processors, added up */
	uint64_t collector; /* of the collector's, and of those that collect at the moment */
	uint64_t waiting; /* of threads that wait for an open span that stops the program */
	uint64_t held; /* time in which no thread is stopped by a signal or a debugger; count: threads that are */
	uint32_t known; /* 0: the process is not measured; 1: since before; 2: since just now, do not believe it */
	uint32_t open; /* spans that stop the program and are open now */
};
UT_ASSERT(sizeof(struct ut_rec_state) == 48, "record layout");

/*
 * Behind the values, at a function's entry with a user stack: uint64_t, where the function will return to, which a walk
 * by frame pointers misses.
 */

/* Every text (string, bytes, chars, stack) of a record, after all values: */
struct ut_rec_text {
	uint32_t len; /* bytes that follow, without a terminating NUL; stacks: bytes of 64-bit addresses */
	uint32_t state; /* enum ut_text_state */
	/* char bytes[text_room] */
};

/*
 * User events: what programs announce through <usertrace.h> or prctl(PR_USER_TRACE, …). Not checked in the kernel:
 * each number is as the program gave it.
 */
#define UT_NAME_ROOM 128 /* bytes of a name that are copied, its NUL among them */
#define UT_NAME_SHORT 32 /* the same in the short record */
#define UT_USER_TEXT_ROOM 256

struct ut_rec_user {
	struct ut_rec_event head; /* faults and text_room are 0 */
	uint64_t id;
	int64_t value;
	uint64_t name_addr, text_addr; /* in the program: what could not be read at once may be read later */
	uint32_t what; /* UT_BEGIN… with its flags; 0: name is the string of prctl's string form */
	/*
	 * Bytes read, the NUL among them; more than the room: cut there; 0 and below: could not be read, as an address of 0
	 * cannot be.
	 */
	int32_t name_len, text_len;
	uint32_t uid; /* of the thread */
	char name[UT_NAME_SHORT];
};
UT_ASSERT(sizeof(struct ut_rec_user) == 128, "record layout");

/* The same with a longer name, or with a text. The size of the record distinguishes them. */
struct ut_rec_user_long {
	struct ut_rec_user user;
	char name_rest[UT_NAME_ROOM - UT_NAME_SHORT]; /* continues user.name */
	char text[UT_USER_TEXT_ROOM + 8]; /* room to tell the longest from a longer one */
};
UT_ASSERT(sizeof(struct ut_rec_user_long) == 488, "record layout");

/* Numbers of sites that no plan has: of records that are nobody's event. wire/sample.h has more. */
#define UT_SITE_LIFE 0xffffff04u
#define UT_SITE_SIGNAL 0xffffff05u /* a struct ut_rec_user: a signal's handler begins or ends */

/* By process, of those that flood with user events while a ring is nearly full. */
#define UT_FAIR_WINDOW_SHIFT 24 /* 2^24 ns: 16.8 ms */
struct ut_throttled {
	uint64_t window; /* time >> UT_FAIR_WINDOW_SHIFT */
	uint64_t bytes; /* in it */
	uint64_t throttled; /* events, since the start */
};

/* What happens to threads and processes, as far as spans need it. */
enum ut_life {
	UT_LIFE_FORK = 1, /* other: the child process; the head is its parent's */
	UT_LIFE_EXEC =
		2, /* the head's comm is the new program's; other: the thread's number before, 0 if it was the first */
	UT_LIFE_EXIT = 3, /* of the head's thread; other: UT_EXIT_*; code: as wait(2) has it, where known */
};
#define UT_EXIT_LAST 1u /* the last thread: the process is gone */
#define UT_EXIT_CODE_KNOWN 2u
#define UT_EXIT_GROUP 4u /* all threads are ending, not this one alone */

struct ut_rec_life {
	struct ut_rec_event head;
	uint32_t what, other;
	int32_t code;
	uint32_t uid; /* of the head's thread */
};
UT_ASSERT(sizeof(struct ut_rec_life) == 64, "record layout");

#endif

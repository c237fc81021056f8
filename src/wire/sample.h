/* SPDX-License-Identifier: MIT */
/* Records of samples, in the same rings as events, distinguished by the site in their head. */
#ifndef UT_WIRE_SAMPLE_H
#define UT_WIRE_SAMPLE_H

#include "wire/unwind.h"

/* Numbers of sites that no plan has. */
#define UT_SITE_STACK 0xffffff01u
#define UT_SITE_SAMPLE 0xffffff02u
#define UT_SITE_WAIT 0xffffff03u

/* A stack, sent when it is met for the first time (and again when the kernel has forgotten that). */
struct ut_rec_stack {
	struct ut_rec_event head;
	uint64_t id; /* hash of process and frames, never 0; two stacks of one id are one */
	uint64_t end_addr;
	uint32_t end; /* enum ut_walk_end */
	uint16_t kernel, user; /* addresses that follow: the kernel's, then the program's, innermost first each */
	/* uint64_t ip[kernel + user]; user addresses with UT_IP_EXACT */
};
UT_ASSERT(sizeof(struct ut_rec_stack) == 72, "record layout");

enum ut_sample_kind {
	UT_SAMPLE_CPU = 0, /* the clock */
	UT_SAMPLE_PROBE = 1, /* a probe of the session; probe_site says which */
};

struct ut_rec_sample {
	struct ut_rec_event head;
	uint64_t stack; /* id */
	uint64_t weight_ns; /* of the clock's: the time that passed since the last one on this CPU; else 0 */
	uint32_t kind; /* enum ut_sample_kind */
	uint32_t probe_site;
};
UT_ASSERT(sizeof(struct ut_rec_sample) == 72, "record layout");

/* A thread ran again after it had not: the head is the thread's, its time the moment it was put on a processor. */
struct ut_rec_wait {
	struct ut_rec_event head;
	/* Where it left the CPU; 0: not known. From before the recording: without the kernel's part. */
	uint64_t stack;
	uint64_t from_ns; /* when it left; 0: before the recording */
	uint64_t runnable_ns; /* when it was woken, from_ns if it never slept; 0: not seen */
	uint32_t waker; /* thread that woke it; 0: not known */
	uint32_t state; /* the kernel's, of the thread as it left: 0 runnable, 1 sleeping, 2 uninterruptible, … */
};
#define UT_STATE_NEW 0x800u /* TASK_NEW: it has not run yet, and has no stack */
UT_ASSERT(sizeof(struct ut_rec_wait) == 80, "record layout");

#endif

/* SPDX-License-Identifier: MIT */
/* What the files behind samples.h share. Nobody else includes this. */
#ifndef UT_MODEL_SAMPLES_PRIV_H
#define UT_MODEL_SAMPLES_PRIV_H

#include "base/hash.h"
#include "base/index.h"
#include "model/samples.h"
#include "model/waits.h"
#include "wire/sample.h"

#define SAMPLES_NONE INDEX_NONE
#define SAMPLES_FRAMES (2 * UT_WALK_FRAMES) /* of a stack, at most; half of them the kernel's */

/* What a process has mapped from a time on, until its next age. */
struct samples_age {
	uint64_t time_ns;
	uint32_t age;
};

/* A program that runs in a process, until its exec or end. */
struct samples_process {
	uint32_t pid;
	char comm[16];
	bool over;
	uint32_t age; /* of its beginning; ages count what was mapped, over all processes */
	VEC(struct samples_age) ages; /* those that followed, by time */
	uint64_t runtime; /* new stacks that touch code compiled at run time */
};

struct samples_thread {
	uint32_t process, tid; /* process: number */
	char comm[16];
	bool over;
	uint64_t first_ns, last_ns; /* when it was seen */
};

struct samples_stack {
	uint64_t id, end_addr;
	uint64_t at; /* of its addresses, in the arena */
	uint32_t pid;
	uint32_t age; /* of its process when `runtime` was worked out */
	uint16_t kernel, user;
	uint8_t end;
	bool known, runtime;
};

struct samples_row {
	uint64_t moment; /* a millisecond, or SAMPLES_AGE with an age */
	uint64_t time_ns; /* of the first */
	uint64_t count, value_ns;
	uint32_t stack, thread; /* stack SAMPLES_NONE: it waited since before the recording, or was new */
	uint32_t age; /* of its process */
	uint8_t state; /* enum profile_state */
	uint8_t waits; /* enum samples_waits */
	bool in_gc;
};
#define SAMPLES_AGE (1ull << 63)

typedef VEC(struct samples_reason) samples_reasons;

struct samples {
	struct names *names;
	uint64_t start_ns, count;
	uint32_t ages;
	VEC(struct samples_process) processes;
	VEC(struct samples_thread) threads;
	VEC(struct samples_stack) stacks;
	VEC(struct samples_row) rows;
	VEC(unsigned char) arena;
	struct index process_index, thread_index, stack_index, row_index;
	samples_reasons cuts, unnamed;
	VEC(char *) texts; /* of the reasons */
};

/* Addresses packed as differences to the one before. Kernel ones first. 0 or -ENOMEM. */
int samples_pack(struct samples *s, struct samples_stack *stack, const uint64_t *ips);
void samples_unpack(const struct samples *s, const struct samples_stack *stack, uint64_t ips[SAMPLES_FRAMES]);

/* samples_idle.c: frames of a stack by their numbers in the profile, innermost first, the kernel's (so many) first. */
bool samples_is_event_wait(const struct profile *p, const uint32_t *frames, size_t n, size_t kernel);
/* Of the same frames: is it a wait for a lock? */
bool samples_is_lock_wait(const struct profile *p, const uint32_t *frames, size_t n, size_t kernel);
/* By stack: one that stands for all with the same part of the program. Caller frees; NULL: no memory. So the next ones. */
uint32_t *samples_same_program(const struct samples *s);
/* By thread: the stack that stands for where it slept nearly all the time, else SAMPLES_NONE. */
uint32_t *samples_idle_stacks(const struct samples *s, const uint32_t *same);
/* By thread: has it run? */
bool *samples_have_run(const struct samples *s);

#endif

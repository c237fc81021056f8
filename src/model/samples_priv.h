/* SPDX-License-Identifier: MIT */
/* Private to the files that implement samples.h. */
#ifndef UT_MODEL_SAMPLES_PRIV_H
#define UT_MODEL_SAMPLES_PRIV_H

#include "base/hash.h"
#include "base/index.h"
#include "model/samples.h"
#include "model/waits.h"
#include "wire/sample.h"

#define SAMPLES_NONE INDEX_NONE
#define SAMPLES_FRAMES (2 * UT_WALK_FRAMES) /* of a stack, at most; half of them the kernel's */

/* The mappings of a process from a time on, until its next age. */
struct samples_age {
	uint64_t time_ns;
	uint32_t age;
};

/* A program that runs in a process, until its exec or end. */
struct samples_process {
	uint32_t pid;
	char comm[16];
	bool over;
	uint32_t age; /* at its start; ages count the changes of mappings in all processes */
	VEC(struct samples_age) ages; /* those that followed, by time */
	uint64_t runtime; /* new stacks with JIT code */
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
	uint32_t age; /* of its process when `runtime` was determined */
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

/* Stores addresses as differences to the previous one, those of the kernel first. 0 or -ENOMEM. */
int samples_pack(struct samples *s, struct samples_stack *stack, const uint64_t *ips);
void samples_unpack(const struct samples *s, const struct samples_stack *stack, uint64_t ips[SAMPLES_FRAMES]);

/* samples_idle.c. @frames: the @n frames of a stack by their numbers in the profile, innermost first, @kernel of the kernel. */
bool samples_is_event_wait(const struct profile *p, const uint32_t *frames, size_t n, size_t kernel);
bool samples_is_lock_wait(const struct profile *p, const uint32_t *frames, size_t n, size_t kernel);
/* For each stack, the first one with the same user part. The caller frees it; NULL: out of memory. Also the next two. */
uint32_t *samples_same_program(const struct samples *s);
/* For each thread, the stack (of samples_same_program) in which it slept nearly all the time, else SAMPLES_NONE. */
uint32_t *samples_idle_stacks(const struct samples *s, const uint32_t *same);
/* For each thread, whether it has run. */
bool *samples_have_run(const struct samples *s);

#endif

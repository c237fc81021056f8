/* SPDX-License-Identifier: MIT */
/*
 * The samples of a recording, counted by thread and stack until they become a profile. Each stack is stored once; equal
 * samples are one row. A stack with JIT code has one row per millisecond, because the address of such code may soon belong
 * to another function; any other stack has one row for as long as the mappings of its process are the same. Pure except for
 * its calls of sym/names.h. One thread; fed in time order.
 */
#ifndef UT_MODEL_SAMPLES_H
#define UT_MODEL_SAMPLES_H

#include "model/profile.h"
#include "sym/names.h"

struct ut_rec_sample;
struct ut_rec_stack;
struct ut_rec_wait;

struct samples;
/* @names outlives it. NULL: out of memory. */
struct samples *samples_new(struct names *names);
struct samples *samples_free(struct samples *s);
/* The recording starts: earlier samples are dropped, and waits that began earlier are clipped. */
void samples_start(struct samples *s, uint64_t time_ns);

/* Records of the session; 0 or -ENOMEM. @in_gc: the process was inside a stop-the-world collection. */
int samples_stack(struct samples *s, const struct ut_rec_stack *rec, const uint64_t *ips);
int samples_sample(struct samples *s, const struct ut_rec_sample *rec, bool in_gc);
int samples_wait(struct samples *s, const struct ut_rec_wait *rec);

/* The name of the process, until a sample of its first thread has a newer one. */
void samples_process(struct samples *s, uint32_t pid, const char comm[16]);
/*
 * The process mapped something at @time_ns; called before any later sample. An address that was sampled before and after
 * that time may belong to two functions. 0 or -ENOMEM.
 */
int samples_mapped(struct samples *s, uint32_t pid, uint64_t time_ns);
void samples_exec(struct samples *s, uint32_t pid);
void samples_exit(struct samples *s, uint32_t pid, uint32_t tid, bool last);

uint64_t samples_count(const struct samples *s); /* of all kinds */
/* Stacks of the process that have JIT code and are new since the last call. */
uint64_t samples_new_runtime(struct samples *s, uint32_t pid);

struct samples_options {
	uint64_t stop_ns; /* when the recording ended */
	uint64_t period_ns; /* of the clock; 0: none */
	bool idle; /* keep the stacks of idle waits, see below */
	const char *unit; /* as profile_totals */
};

/*
 * The profile, outermost frame first: «[GC]» for what ran inside a collection; the placeholder frame that says why a stack
 * does not reach its thread's start, «[truncated]»; the program's frames; the kernel's; and of a wait, what kind it was.
 *
 * Blocked intervals of idle threads are one «[idle]» with the thread's name under it, unless options.idle. Idle is
 *  - a wait for something outside the process: epoll_wait, poll, select, accept, nanosleep, pause, sigwait, wait,
 *    pthread_join and the like, by the kernel's functions in the stack or the innermost of the program's;
 *  - a thread that did not run at all, from before the recording to its end, and has no stack;
 *  - a thread, not its process's first, that slept in one and the same stack for 99 % of the time it was there, unless it
 *    waits for a lock there. The kernel's part of the stack does not count: of waits from before the recording it is
 *    not known;
 *  - a sleeping thread of the kernel.
 * Uninterruptible waits, and time in which a thread waits for a CPU, are never idle.
 *
 * Everything of the totals but `lost` and `begin_wall_ns` is set. Call it once: it completes the names. 0 or -ENOMEM.
 */
int samples_build(struct samples *s, const struct samples_options *o, struct profile **ret);

/* After samples_build: why stacks are truncated, and why frames have no name, without addresses, by count of samples, the
 * most frequent first. *@ret lives as long as the samples. */
struct samples_reason {
	const char *text;
	uint64_t count;
};
size_t samples_cuts(const struct samples *s, const struct samples_reason **ret);
size_t samples_unnamed(const struct samples *s, const struct samples_reason **ret);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The log of a recording of samples: what was seen how often where, by thread, on its way to a profile. Each stack is
 * kept once; equal samples are one row. A stack that touches code compiled at run time has rows of a millisecond each,
 * for that code's address may be another function's soon; any other stack has one row for as long as its process has
 * the same things mapped. Pure but for what it asks of names. One thread; fed in time order.
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
/* What was before is not looked at: samples are left out, waits are clipped. */
void samples_start(struct samples *s, uint64_t time_ns);

/* As the session gives them; 0 or -ENOMEM. @in_gc: its process was inside a collection that stops it. */
int samples_stack(struct samples *s, const struct ut_rec_stack *rec, const uint64_t *ips);
int samples_sample(struct samples *s, const struct ut_rec_sample *rec, bool in_gc);
int samples_wait(struct samples *s, const struct ut_rec_wait *rec);

/* How the process is called, until a sample of its first thread says so. */
void samples_process(struct samples *s, uint32_t pid, const char comm[16]);
/*
 * It mapped something at @time_ns; told before any sample that is later. What was sampled at an address before and after
 * that time may be two functions. 0 or -ENOMEM.
 */
int samples_mapped(struct samples *s, uint32_t pid, uint64_t time_ns);
void samples_exec(struct samples *s, uint32_t pid);
void samples_exit(struct samples *s, uint32_t pid, uint32_t tid, bool last);

uint64_t samples_count(const struct samples *s); /* of all kinds */
uint64_t samples_bytes(const struct samples *s); /* of memory, nearly */
/* Stacks of the process that touch code compiled at run time and have come since the last call. */
uint64_t samples_new_runtime(struct samples *s, uint32_t pid);

struct samples_options {
	uint64_t stop_ns; /* when the recording ended */
	uint64_t period_ns; /* of the clock; 0: none */
	bool idle; /* idle waits as they are, see below */
	const char *unit; /* as profile_totals */
};

/*
 * The profile, outermost frame first: «[GC]» for what ran inside a collection; the reason for which a stack does not
 * reach its thread's start, «[truncated]»; the program's frames; the kernel's; and of a wait, what kind it was.
 *
 * Blocked intervals of idle threads are one «[idle]» with the thread's name under it, unless options.idle. Idle is
 *  - a wait for whatever comes from outside: epoll_wait, poll, select, accept, nanosleep, pause, sigwait, wait,
 *    pthread_join and the like, by the kernel's functions in the stack or the innermost of the program's;
 *  - a thread that did not run at all, from before the recording to its end, and has no stack;
 *  - a thread, not its process's first, that slept in one and the same stack for 99 % of the time it was there, unless it
 *    waits for a lock there. The kernel's part of the stack does not count: of waits from before the recording it is
 *    not known;
 *  - a sleeping thread of the kernel.
 * Uninterruptible waits, and time in which a thread waits for a processor, are never idle.
 *
 * Everything of the totals but `lost` and `begin_wall_ns` is set. Can be made once: names are settled. 0 or -ENOMEM.
 */
int samples_build(struct samples *s, const struct samples_options *o, struct profile **ret);

/* After that, by count of samples, the most frequent first; *@ret lives as long as the samples: why stacks are cut, and
 * why frames have no name. Addresses are left out of these. */
struct samples_reason {
	const char *text;
	uint64_t count;
};
size_t samples_cuts(const struct samples *s, const struct samples_reason **ret);
size_t samples_unnamed(const struct samples *s, const struct samples_reason **ret);

#endif

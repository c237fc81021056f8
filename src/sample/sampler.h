/* SPDX-License-Identifier: MIT */
/* Takes samples: loads src/bpf/sample.bpf.c, tells it of processes, and attaches it to the clock and the scheduler. */
#ifndef UT_SAMPLE_SAMPLER_H
#define UT_SAMPLE_SAMPLER_H

#include "sample/unwind_maps.h"
#include "wire/sample.h"

/* Samples of stacks, by the clock, by waiting, or by probes. */
struct session_sampling {
	uint32_t frequency_hz; /* samples of each processor in a second, on average; 0: none */
	bool waits; /* where threads leave the processor, and for how long */
	size_t probes; /* so many of the first probes: each event of them is a sample instead of an event */
	bool no_kernel; /* without the kernel's part of stacks */
};

struct sampler;

struct sampler_options {
	const struct session_sampling *sampling;
	bool all; /* every process; else those that are told */
	int rings_fd, lost_fd; /* the session's */
	unsigned ncpus;
	bool verbose; /* libbpf's own words to standard error: why the kernel refuses a program */
	bool multi; /* probes are attached many at a time: a program of that kind takes their samples */
};

int sampler_open(const struct sampler_options *o, struct sampler **ret, struct ut_err *err);
struct sampler *sampler_close(struct sampler *s);
/* GEN_MAP_WALK_*: into @fds. */
void sampler_maps(const struct sampler *s, int *fds);
/* The map of processes, which record/lifecycle.h looks after. */
int sampler_processes_fd(const struct sampler *s);
struct unwind_maps *sampler_unwind(struct sampler *s);
/* A process that is there: which of its threads wait now. */
void sampler_add_threads(struct sampler *s, pid_t pid);
/* From here on samples come. */
int sampler_start(struct sampler *s, struct ut_err *err);
/* Then: the stacks of threads that were noted and still wait, as blocked_walk() gives them. */
int sampler_walk_blocked(struct sampler *s, int (*fn)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips),
			 void *ctx);
/* A wait from before the recording gets the stack that was found so. */
void sampler_fill_wait(struct sampler *s, struct ut_rec_wait *rec);
/*
 * Changes the periods of CPUs whose time has come; call it each few milliseconds. A CPU that took no sample of a wanted
 * process since its last change is left alone: the change would wake it.
 */
void sampler_vary_periods(struct sampler *s, uint64_t now_ns);
/* No more samples. */
void sampler_stop(struct sampler *s);
/* After that: threads that are still away, as records cut at @now_ns. @fn returns a negative number to end it. */
int sampler_unfinished(struct sampler *s, uint64_t now_ns, int (*fn)(void *ctx, const struct ut_rec_wait *rec),
		       void *ctx);
/* Walks that were not made, as another was under way on that processor. */
uint64_t sampler_busy(const struct sampler *s);

#endif

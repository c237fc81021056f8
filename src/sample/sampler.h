/* SPDX-License-Identifier: MIT */
/* Takes samples: loads src/bpf/sample.bpf.c, and attaches it to the clock and to the scheduler's tracepoints. */
#ifndef UT_SAMPLE_SAMPLER_H
#define UT_SAMPLE_SAMPLER_H

#include "sample/unwind_maps.h"
#include "wire/sample.h"

/* Samples of stacks, by the clock, by waiting, or by probes. */
struct session_sampling {
	uint32_t frequency_hz; /* average samples per CPU and second; 0: none */
	bool waits; /* record where threads leave the CPU, and for how long */
	size_t probes; /* the events of this many first probes become samples */
	bool no_kernel; /* leave the kernel's part of stacks out */
};

struct sampler;

struct sampler_options {
	const struct session_sampling *sampling;
	bool all; /* every process; else those added to sampler_unwind() */
	int rings_fd, lost_fd; /* the session's */
	unsigned ncpus;
	bool verbose; /* libbpf's messages go to standard error: why the kernel rejects a program */
	bool multi; /* probes are attached with uprobe-multi links, which need a program of that type */
};

int sampler_open(const struct sampler_options *o, struct sampler **ret, struct ut_err *err);
struct sampler *sampler_close(struct sampler *s);
/* GEN_MAP_WALK_*: into @fds. */
void sampler_maps(const struct sampler *s, int *fds);
/* The map of sampled processes, which record/lifecycle.h updates. */
int sampler_processes_fd(const struct sampler *s);
struct unwind_maps *sampler_unwind(struct sampler *s);
/* Adds the threads of an existing process that are blocked now. */
void sampler_add_threads(struct sampler *s, pid_t pid);
/* Attaches the programs: samples are recorded from here on. */
int sampler_start(struct sampler *s, struct ut_err *err);
/* After that: unwinds the threads that were added and are still blocked, as blocked_walk() does. */
int sampler_walk_blocked(struct sampler *s, int (*fn)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips),
			 void *ctx);
/* Sets the stack of a wait that began before the recording, if it was unwound. */
void sampler_fill_wait(struct sampler *s, struct ut_rec_wait *rec);
/*
 * Changes the periods of CPUs that are due; call it every few milliseconds. A CPU without a sample of a sampled process
 * since its last change is skipped, because the change would wake it.
 */
void sampler_vary_periods(struct sampler *s, uint64_t now_ns);
/* Detaches the programs. */
void sampler_stop(struct sampler *s);
/* After sampler_stop: threads that are still off the CPU, as waits that end at @now_ns. A negative result of @fn ends it. */
int sampler_unfinished(struct sampler *s, uint64_t now_ns, int (*fn)(void *ctx, const struct ut_rec_wait *rec),
		       void *ctx);
/* Unwinds that were skipped because another one was running on their CPU. */
uint64_t sampler_busy(const struct sampler *s);

#endif

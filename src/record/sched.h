/* SPDX-License-Identifier: MIT */
/* Loads src/bpf/sched.bpf.c, the programs on the scheduler's events, and attaches them. */
#ifndef UT_RECORD_SCHED_H
#define UT_RECORD_SCHED_H

#include "gen/gen.h"
#include "record/measure.h"

struct sched;

struct sched_setup {
	struct state_maps state;
	uint64_t base_ns; /* what the times of packed counters count from */
	bool verbose; /* libbpf's own words to standard error: why the kernel refuses a program */
};

/* Loads and attaches. The descriptors in @setup stay the caller's. */
int sched_open(const struct sched_setup *setup, struct sched **ret, struct ut_err *err);
struct sched *sched_close(struct sched *s);
/* What the programs of spans' begins and ends call; lives as long as @s. */
const struct gen_functions *sched_functions(const struct sched *s);

#endif

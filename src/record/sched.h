/* SPDX-License-Identifier: MIT */
/* Loads src/bpf/sched.bpf.c, the programs on the scheduler's events, and attaches them. */
#ifndef UT_RECORD_SCHED_H
#define UT_RECORD_SCHED_H

#include "gen/gen.h"
#include "record/measure.h"

struct sched;

struct sched_setup {
	struct state_maps state;
	uint64_t base_ns; /* origin of the times in packed counters */
	bool verbose; /* print libbpf's messages, and so the reason of a rejected program, to standard error */
};

/* Loads and attaches the programs. The caller keeps the descriptors in @setup. */
int sched_open(const struct sched_setup *setup, struct sched **ret, struct ut_err *err);
struct sched *sched_close(struct sched *s);
/* Functions for the programs at begins and ends of spans; valid until sched_close. */
const struct gen_functions *sched_functions(const struct sched *s);

#endif

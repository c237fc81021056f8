/* SPDX-License-Identifier: MIT */
/* Loads src/bpf/lifecycle.bpf.c, the programs on fork, exec and exit, and attaches them. */
#ifndef UT_RECORD_LIFECYCLE_H
#define UT_RECORD_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/measure.h"
#include "wire/kernel.h"

struct lifecycle;

struct lifecycle_setup {
	bool records; /* a struct ut_rec_life for each event */
	bool targets; /* of the processes in the followed set alone */
	bool children, hold; /* the set grows at forks; its processes are suspended at exec and library loading */
	bool sample_children; /* what is known of sampled processes holds for their children */
	unsigned ncpus;
	int rings_fd, lost_fd; /* the session's rings, */
	int ring_fd; /* and the one of CPU 0 */
	int follow_fd, control_fd; /* of record/follow.h; -1: no set, no holding */
	int sampled_fd; /* the sampler's processes; -1: nothing is sampled */
	const struct state_maps *state; /* NULL: nothing is measured */
	uint64_t base_ns; /* what the times of packed counters count from */
	bool multi; /* lifecycle_libraries_prog is attached many at a time */
	const struct ut_kernel_offsets *at; /* NULL: this kernel's */
	bool verbose; /* libbpf's own words to standard error: why the kernel refuses a program */
};

/* Loads the parts that @setup asks for and attaches them; the descriptors in it stay the caller's. */
int lifecycle_open(const struct lifecycle_setup *setup, struct lifecycle **ret, struct ut_err *err);
/*
 * Detaches. When this returns, no program runs any more: whoever is suspended is in the control ring. NULL is fine.
 */
void lifecycle_stop(struct lifecycle *l);
struct lifecycle *lifecycle_close(struct lifecycle *l);
/* What suspends the process that runs it, for the function of the dynamic linker; with hold. */
int lifecycle_libraries_prog(const struct lifecycle *l);
/* Events that the kernel did not hand to these programs. */
uint64_t lifecycle_missed(const struct lifecycle *l);

#endif

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
	bool records; /* send a struct ut_rec_life for each event */
	bool targets; /* only of processes in the followed set */
	bool children, suspend; /* the set grows at forks; its processes are suspended at exec and library loading */
	bool thread_execs; /* send the execs of second threads, also without records, and wake the reader */
	bool sample_children; /* children of sampled processes are sampled too */
	unsigned ncpus;
	int rings_fd, lost_fd; /* the session's rings */
	int ring_fd; /* the ring of CPU 0 */
	int follow_fd, control_fd; /* of record/follow.h; -1: no set, no suspension */
	int sampled_fd; /* the sampler's processes; -1: no sampling */
	const struct state_maps *state; /* NULL: no measuring */
	uint64_t base_ns; /* origin of the times in packed counters */
	bool multi; /* lifecycle_libraries_prog is attached many at a time */
	const struct ut_kernel_offsets *at; /* NULL: this kernel's */
	bool verbose; /* print libbpf's messages, and so the reason of a rejected program, to standard error */
};

/* Loads and attaches the programs that @setup needs. The caller keeps its descriptors. */
int lifecycle_open(const struct lifecycle_setup *setup, struct lifecycle **ret, struct ut_err *err);
/* Detaches. No program runs when this returns, so the control ring lists all suspended processes. NULL is fine. */
void lifecycle_stop(struct lifecycle *l);
struct lifecycle *lifecycle_close(struct lifecycle *l);
/* The program that suspends its process, for a uprobe in the dynamic linker; with suspend. */
int lifecycle_libraries_prog(const struct lifecycle *l);
/* Events missed by these programs (BPF recursion). */
uint64_t lifecycle_missed(const struct lifecycle *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The kernel's rings: one BPF ring buffer for each CPU, and the counters of what did not fit. One reader, one
 * thread.
 */
#ifndef UT_RECORD_RING_H
#define UT_RECORD_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/merge.h"

struct rings {
	unsigned n; /* possible CPUs */
	int outer_fd; /* array of rings by CPU, for the programs */
	int lost_fd; /* array of one value: 64 bytes for each CPU */
	uint64_t size_bytes; /* of one ring */
	struct ring *v;
	uint64_t *lost; /* mapped; [cpu * 8] */
	uint64_t lost_size;
};

/* Rings of @size_bytes, a power of two of at least a page. */
int rings_open(struct rings *ret, unsigned ncpus, uint64_t size_bytes, struct ut_err *err);
void rings_close(struct rings *r);
/* The descriptor that becomes readable (edge-triggered) when a producer wakes the reader. */
int rings_fd(const struct rings *r, unsigned cpu);

/*
 * Takes all records that are there now into @merge, without copying: their memory is given back by rings_release, once
 * they have left the merge. *@ret_n: how many there were. Gaps become items without a record. -ENOMEM.
 */
int rings_read(struct rings *r, struct merge *merge, uint64_t *ret_n);
/* Gives back the memory of all records that are not held by the merge any more. */
void rings_release(struct rings *r, struct merge *merge);
/* After the last attachment is gone: nothing more can come; everything may be given out. */
void rings_end_watermarks(struct rings *r, struct merge *merge);
/* User events of processes that were refused, on all CPUs, since the start. */
uint64_t rings_throttled(const struct rings *r);
/* The same of records of forks, execs and exits that did not fit. */
uint64_t rings_lost_lifecycle(const struct rings *r);
/* Bytes waiting in the fullest ring, as a share of its size: how close we are to losing events. */
double rings_pressure(const struct rings *r);
/* Default size of a ring: large enough for 80 ms at a million events a second, small enough for many CPUs. */
uint64_t rings_default_size(unsigned ncpus);

#endif

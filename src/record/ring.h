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

/* A BPF ring buffer, mapped for its one reader. */
struct ringbuf {
	int fd; /* -1: none */
	unsigned long *consumer; /* a page that the reader writes */
	const unsigned long *producer; /* a page that the kernel writes, in front of the data */
	const char *data;
};

/* Creates and maps a ring buffer of @size bytes, a power of two of at least a page. On failure ringbuf_close is due. */
int ringbuf_open(struct ringbuf *ret, const char *name, uint64_t size, struct ut_err *err);
/* Unmaps and closes it, also after ringbuf_open has failed. */
void ringbuf_close(struct ringbuf *b, uint64_t size);

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
 * Adds all present records to @merge, without copying: rings_release frees their memory once they have left the merge.
 * *@ret_n: number of records. Gaps become items without a record. -ENOMEM.
 */
int rings_read(struct rings *r, struct merge *merge, uint64_t *ret_n);
/* Frees the memory of all records that have left the merge. */
void rings_release(struct rings *r, struct merge *merge);
/* After the last probe is detached: no record can follow, so the merge may return all of them. */
void rings_end_watermarks(struct rings *r, struct merge *merge);
/* Dropped user events of throttled processes, on all CPUs, since the start. */
uint64_t rings_throttled(const struct rings *r);
/* Lifecycle records that did not fit, on all CPUs, since the start. */
uint64_t rings_lost_lifecycle(const struct rings *r);
/* Bytes in the fullest ring as a share of its size: how close the session is to losing events. */
double rings_pressure(const struct rings *r);
/* Default size of a ring: large enough for 80 ms at a million events a second, small enough for many CPUs. */
uint64_t rings_default_size(unsigned ncpus);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Merges the records of several rings into exact time order. Pure.
 *
 * A producer reserves space in a ring before it reads the clock. So if the reader takes the time T, then the producer
 * position, and then reads up to that position, every later record of this ring is later than T: T is the *watermark* of
 * the ring. Records older than the lowest watermark of all rings can be returned, since no older record can come. A ring
 * whose next record is reserved but not yet submitted keeps its old watermark.
 *
 * An interrupt can nest inside a reservation, and a thread can be preempted inside one, so a ring is almost sorted: each
 * record is inserted from the end, which costs about one comparison. The oldest head and the lowest watermark cost a few
 * comparisons more with each doubling of the number of rings.
 */
#ifndef UT_RECORD_MERGE_H
#define UT_RECORD_MERGE_H

#include <stddef.h>
#include <stdint.h>

struct merge;

struct merge_item {
	uint64_t time_ns;
	const void *rec; /* NULL: events were lost here */
	uint32_t size;
	uint32_t lost; /* rec NULL: number of lost events */
	uint64_t since_ns; /* rec NULL: time of the last record before the gap; 0: none */
	/* The caller's: merge_oldest returns the lowest one in the merge. Increases within a ring; UINT64_MAX: none. */
	uint64_t position;
};

struct merge *merge_new(unsigned nrings); /* NULL: out of memory */
struct merge *merge_free(struct merge *m);

/* 0 or -ENOMEM. Items of a ring with equal times keep their order. */
int merge_add(struct merge *m, unsigned ring, const struct merge_item *item);
/* All later additions to @ring are later than @time_ns. Watermarks never decrease. */
void merge_set_watermark(struct merge *m, unsigned ring, uint64_t time_ns);
/* Removes and returns the next item in order; NULL when a watermark is not later than it. The pointer is valid until the
 * next call of a merge function. *@ret_ring: its ring. */
const struct merge_item *merge_next(struct merge *m, unsigned *ret_ring);
/* Lowest position of the items of @ring in the merge; @otherwise without one. */
uint64_t merge_oldest(struct merge *m, unsigned ring, uint64_t otherwise);
size_t merge_count(const struct merge *m, unsigned ring);

#endif

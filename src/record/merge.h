/* SPDX-License-Identifier: MIT */
/*
 * Records of several rings into one exact order. Pure.
 *
 * A producer reserves its place in a ring first and reads the clock after. So when the reader notes the time T, then
 * looks how far the ring is reserved, and then reads all of that, every record that it has not read yet is later than
 * T: the ring is *sealed* up to T. What is older than the oldest seal over all rings can be given out; nothing older
 * can come. A ring whose next record is reserved but not yet submitted keeps its old seal.
 *
 * An interrupt may nest inside a reservation, and a thread may be put off the CPU inside one, so a ring is nearly, not
 * strictly, sorted: records are put in place by insertion, which for nearly sorted input costs a comparison each. Which
 * ring is next, and which seal is the least, costs a few comparisons more with each doubling of the number of rings.
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
	uint32_t lost; /* rec NULL: how many */
	uint64_t since_ns; /* rec NULL: time of the last record before the gap; 0: none */
	/* Of the caller: merge_oldest tells the lowest that is still held. Within a ring each is above those that were added
	 * before; UINT64_MAX for what has none. */
	uint64_t position;
};

struct merge *merge_new(unsigned nrings); /* NULL: out of memory */
struct merge *merge_free(struct merge *m);

/* 0 or -ENOMEM. Of equal times, what was added first to a ring stays first. */
int merge_add(struct merge *m, unsigned ring, const struct merge_item *item);
/* All later additions to @ring are later than @time_ns. Seals only grow. */
void merge_set_watermark(struct merge *m, unsigned ring, uint64_t time_ns);
/* The next item in order, or NULL when a ring's seal is in the way. It is gone from the merge; the pointer holds until
 * the next call of any merge function. *@ret_ring: where it came from. */
const struct merge_item *merge_next(struct merge *m, unsigned *ret_ring);
/* Lowest position that is still held of @ring; @otherwise when none is. */
uint64_t merge_oldest(struct merge *m, unsigned ring, uint64_t otherwise);
size_t merge_held(const struct merge *m, unsigned ring);

#endif

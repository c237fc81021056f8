/* SPDX-License-Identifier: MIT */
/*
 * Recent rates of one process: collections per second, share of stop-the-world time, allocation rate, and the last minute
 * second by second. Pure, of fixed size; fed with spans in the order of their ends, as in collect.h.
 */
#ifndef UT_MODEL_RATE_H
#define UT_MODEL_RATE_H

#include "model/collect.h"

#define RATE_SLOTS 60 /* seconds that are kept */
#define RATE_WINDOW 10 /* seconds of recent rates */
#define RATE_JOINED 32 /* stops that later ones may still overlap */
#define RATE_BUCKETS 256 /* of lengths of stops: 8 to each power of two of a microsecond */

struct rate_slot {
	uint64_t count, stopped_ns, longest_ns;
	uint64_t allocated, allocated_ns; /* bytes, and the part of this second in which they are known */
};

/* Overlapping stops, joined: each moment counts once. */
struct rate_stop {
	uint64_t begin_ns, end_ns, stopped_ns;
};

struct rate {
	uint64_t start_ns;
	const char *kind; /* what counts as a collection; NULL: each span */
	uint64_t newest; /* the newest second, counted from the start */
	struct rate_slot slot[RATE_SLOTS]; /* by second modulo RATE_SLOTS */
	struct rate_stop stop[RATE_JOINED];
	unsigned nstops;
	uint64_t count, stopped_ns;
	bool unmeasured; /* the stop-the-world time of some stop is unknown: the length of its span counts */
	uint64_t longest_ns, longest_begin_ns;
	char longest_label[64], longest_cause[COLLECT_TEXT_MAX];
	bool has_after, has_allocation;
	uint64_t after, after_ns; /* of the newest collection with a value */
	uint64_t pair_bytes, pair_ns; /* allocated between the last two, and the time between them */
	uint64_t bucket[RATE_BUCKETS];
	uint64_t nlengths;
};

struct rate_view {
	double per_second, share; /* of the last RATE_WINDOW seconds; share from 0 to 1 */
	double total_share; /* since the start */
	uint64_t count, stopped_ns, longest_ns, minute_longest_ns;
	bool measured; /* shares are of stop-the-world time; else of the length of collections */
	bool has_allocation;
	double allocation; /* bytes a second */
	unsigned nbar; /* columns of the bar asked for */
	float bar[RATE_SLOTS]; /* share of each column's time, the newest last; <0: before the start */
};

/* @kind outlives it. */
void rate_init(struct rate *r, uint64_t start_ns, const char *kind);
void rate_add(struct rate *r, const struct collect_span *span);
/* @columns: a divisor of RATE_SLOTS. A column stands for the same seconds until the next one begins. */
void rate_view(const struct rate *r, uint64_t now_ns, unsigned columns, struct rate_view *ret);
/* The length that @share (0 to 1) of all stops did not exceed, to an eighth; 0 without stops. */
uint64_t rate_quantile(const struct rate *r, double share);

#endif

/* SPDX-License-Identifier: MIT */
/* Private to the files that implement gcstat.h: lengths, covered time, and stops. */
#ifndef UT_MODEL_GCSTAT_PRIV_H
#define UT_MODEL_GCSTAT_PRIV_H

#include "base/vec.h"
#include "model/gcstat.h"

/* gcstat_length.c. Lengths of spans: exactly, or from @max on in buckets. */
struct lengths {
	VEC(uint64_t) exact;
	uint64_t *bucket; /* NULL: all are in exact */
	size_t max;
	uint64_t n, shortest, longest;
	bool sorted;
};

int lengths_add(struct lengths *l, uint64_t ns);
/* Nearest rank: the smallest that @permille of all are not longer than. 0 without any. */
uint64_t lengths_percentile(struct lengths *l, unsigned permille);
void lengths_done(struct lengths *l);

/* gcstat_cover.c. What spans cover, each moment once, and their times without those inside. Spans come in the order of their ends. */
#define COVER_MAX 4096 /* disjoint pieces; the time before the last dropped one counts as covered */

enum cover_time { COVER_STOPPED, COVER_WAITED, COVER_COLLECTOR, COVER_PROGRAM, COVER_HELD, COVER_TIMES };
struct cover_times {
	uint64_t ns[COVER_TIMES];
};
struct cover_piece {
	uint64_t begin_ns, end_ns;
	struct cover_times times;
};

struct cover {
	VEC(struct cover_piece) piece; /* in order */
	uint64_t floor_ns, total_ns;
	struct cover_times times;
};

int cover_add(struct cover *c, uint64_t begin_ns, uint64_t end_ns, const struct cover_times *times);
void cover_done(struct cover *c);

/* gcstat_stop.c. When the program was stopped, and for how long in each stop. */
struct stop {
	uint64_t begin_ns, end_ns, stopped_ns;
	bool counted; /* in the histogram already */
	bool joined; /* of several: the position of the stopped time in it is unknown */
};

struct stops {
	VEC(struct stop) list; /* in order, without overlaps */
	size_t max;
	bool joined;
	uint64_t stopped_ns, pause_ns;
	uint64_t counted, histogram[GCSTAT_BUCKETS]; /* of those that were counted before they were joined */
};

int stops_add(struct stops *s, uint64_t begin_ns, uint64_t end_ns, uint64_t stopped_ns);
/* Least share of a window between the two times in which the program could run; below 0: there is no such window. */
double stops_utilisation(const struct stops *s, uint64_t start_ns, uint64_t end_ns, uint64_t window_ns);
/* How many there were, and of which lengths. */
uint64_t stops_histogram(const struct stops *s, uint64_t ret[GCSTAT_BUCKETS]);
void stops_done(struct stops *s);

/* For tests: with other limits. */
struct gcstat *gcstat_new_limited(uint64_t start_ns, size_t max_exact, size_t max_stops, size_t max_labels);

#endif

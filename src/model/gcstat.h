/* SPDX-License-Identifier: MIT */
/*
 * Statistics of the spans of one process: count, length and stop-the-world time for each kind and label; percentiles;
 * minimum mutator utilization; a histogram. Pure; one thread. Memory is bounded: the first GCSTAT_EXACT lengths of a row
 * are exact, more go to buckets of 1/128 of their size; beyond GCSTAT_STOPS stops the shortest neighbors are joined
 * (joined_stops); labels of a kind beyond GCSTAT_LABELS share one row.
 *
 * A stop is the time that spans that stop the program cover without a gap. Of nested spans, the stopped time of the inner
 * one counts for its time, and what the outer one has beyond that is spread over the rest of it.
 */
#ifndef UT_MODEL_GCSTAT_H
#define UT_MODEL_GCSTAT_H

#include "model/collect.h"

#define GCSTAT_EXACT 65536
#define GCSTAT_STOPS 262144
#define GCSTAT_LABELS 64
#define GCSTAT_OTHERS "(others)"

struct gcstat;

struct gcstat_longest {
	uint64_t ns, begin_ns; /* 0: there is none */
	char kind[16], label[64], cause[COLLECT_TEXT_MAX];
};

/*
 * One kind and label, or one kind with all of its labels (label NULL). Times in ns. The times from stopped_ns to
 * held_ns of a span in another of its row are in those of the other; stopped_ns and waited_ns are of spans that stop
 * the program.
 */
struct gcstat_row {
	const char *runtime, *kind, *label;
	const char *part_of; /* "gc": each had count / part_of_count of these on average */
	uint64_t part_of_count;
	uint64_t count, total_ns, median_ns, p90_ns, p99_ns, p999_ns;
	uint64_t covered_ns; /* in which at least one was open, each moment once: for the share of the run */
	uint64_t stopped_count; /* with known stop-the-world time */
	uint64_t stopped_ns, waited_ns, collector_ns, program_ns, held_ns;
	uint64_t freed; /* bytes, of those where it is known */
	bool stops, has_freed;
	struct gcstat_longest longest, longest_stop;
	uint64_t incomplete; /* spans without their begin or end, not in the numbers above */
};

#define GCSTAT_WINDOWS 5 /* 1 ms, 10 ms, 100 ms, 1 s, 10 s */
#define GCSTAT_BUCKETS 40 /* bucket i holds [2^i, 2^(i+1)) µs, the first all below 2 */

struct gcstat_report {
	uint64_t start_ns, end_ns;
	const struct gcstat_row *rows; /* the kind's row before those of its labels; by kind, then by total */
	size_t nrows;
	uint64_t stops; /* adjacent ones are one */
	uint64_t stopped_ns, pause_ns; /* of all spans that stop the program, each moment once */
	bool measured; /* stopped_ns is known; else it is pause_ns */
	uint64_t unmeasured; /* spans that stop, for an unknown time: stopped_ns has their whole length */
	struct gcstat_longest longest_stop; /* of a collection, if it is nearly as long as the longest of all */
	uint64_t window_ns[GCSTAT_WINDOWS];
	double utilisation
		[GCSTAT_WINDOWS]; /* the least share of such a window in which the program could run; <0: the run was shorter */
	uint64_t histogram[GCSTAT_BUCKETS]; /* of stops */
	bool joined_stops; /* utilisation is a lower bound */
	uint64_t ends[SPAN_ENDS]; /* spans by how they ended, also those that are in no row's numbers */
	uint64_t lost_inside;
};

struct gcstat *gcstat_new(uint64_t start_ns);
struct gcstat *gcstat_free(struct gcstat *g);
int gcstat_add(struct gcstat *g, const struct collect_span *span); /* 0 or -ENOMEM */
/* The statistics until now; valid until the next call with @g. @end_ns: of the run, or of the process. */
int gcstat_report(struct gcstat *g, uint64_t end_ns, struct gcstat_report *ret);

#endif

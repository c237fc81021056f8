/* SPDX-License-Identifier: MIT */
/* The summary of `usertrace gc`: from a report of gcstat to text for a person or one JSON object. Pure. */
#ifndef UT_REPORT_GC_H
#define UT_REPORT_GC_H

#include "base/buf.h"
#include "model/gcstat.h"

struct report_gc_who {
	uint32_t pid;
	const char *comm, *runtime, *version; /* runtime NULL: none was recognised; version NULL or "": not known */
	uint64_t wall_start_ns; /* CLOCK_REALTIME of the report's start; 0: not known */
	uint64_t lost; /* events lost in the kernel's rings meanwhile, of any process */
	bool ended; /* the process is gone */
	const char *const *hints; /* sentences: what needs an option, what is not known */
	size_t nhints;
};

/* "stopped 3.1 % of the time; longest stop 84 ms (full collection)": one sentence without a line feed. */
void report_gc_sentence(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out);
/* The sentence, a table, the MMU, a histogram, and notes on what is missing. */
void report_gc_text(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out);
/* One object and a line feed; times are CLOCK_MONOTONIC except wall_ns. Unknown values have no key. */
void report_gc_json(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out);

#endif

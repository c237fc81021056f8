/* SPDX-License-Identifier: MIT */
/* Spans of collections that are added to sums, written in a line. */
#ifndef UT_TESTS_GC_CASES_H
#define UT_TESTS_GC_CASES_H

#include <string.h>

#include "model/gcstat.h"
#include "unit.h"

#define START UINT64_C(5000000000) /* when the sums begin */

struct gc_case {
	const struct collect_def *def;
	const char *label;
	uint64_t begin_ns, ns; /* from START on */
	bool known; /* stall is */
	struct stall stall;
	/* In the place of the two above: the shares follow from these; collector_ns 0: not measured. */
	uint64_t stopped_ns, collector_ns;
	enum span_end end;
	const char *cause;
	bool has_freed; /* also when that is 0 */
	uint64_t freed;
	bool lost_inside;
};

static inline void gc_case_add(struct gcstat *g, const struct gc_case *c)
{
	struct collect_span span = {
		.def = c->def,
		.label = c->label,
		.begin_ns = START + c->begin_ns,
		.end_ns = START + c->begin_ns + c->ns,
		.stall = c->stall,
		.end = c->end,
		.has_freed = c->has_freed || c->freed,
		.freed = c->freed,
		.lost_inside = c->lost_inside,
	};

	span.stall.known = c->known;
	if (c->collector_ns)
		span.stall = (struct stall){ .known = true,
					     .stopped_ns = c->stopped_ns,
					     .collector_ns = c->collector_ns,
					     .waited_ns = 2 * c->stopped_ns,
					     .program_ns = (c->ns - c->stopped_ns) / 2 };
	if (c->cause)
		strcpy(span.cause, c->cause);
	assert_int_equal(gcstat_add(g, &span), 0);
}

#define ADD(g, d, l, begin, length, ...) \
	gc_case_add(g, &(struct gc_case){ .def = d, .label = l, .begin_ns = begin, .ns = length, ##__VA_ARGS__ })

#endif

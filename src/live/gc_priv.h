/* SPDX-License-Identifier: MIT */
/* Shared by the text and JSON halves of src/live/gc.h; the table of `top` uses the same thresholds. */
#ifndef UT_LIVE_GC_PRIV_H
#define UT_LIVE_GC_PRIV_H

#include "live/gc.h"

/* Stops of at least these lengths are yellow and red. */
#define GC_LONG_NS 10000000u
#define GC_VERY_LONG_NS 100000000u

static inline uint64_t gc_duration_ns(const struct collect_span *s)
{
	return s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0;
}

void gc_json(const struct live_gc_options *o, const struct collect_span *s, struct buf *out);
void gc_lost_json(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out);

#endif

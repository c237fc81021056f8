/* SPDX-License-Identifier: MIT */
/* What the two halves of src/live/gc.h share, lines for people and lines for programs; and the table its colours. */
#ifndef UT_LIVE_GC_PRIV_H
#define UT_LIVE_GC_PRIV_H

#include "live/gc.h"

/* From here on a stop is yellow, and red. */
#define GC_LONG_NS 10000000u
#define GC_VERY_LONG_NS 100000000u

void gc_json(const struct live_gc_options *o, const struct collect_span *s, struct buf *out);
void gc_lost_json(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The two halves of src/live/gc.h: lines for people, and lines for programs. */
#ifndef UT_LIVE_GC_PRIV_H
#define UT_LIVE_GC_PRIV_H

#include "live/gc.h"

/* Bytes that it freed, told or from what was there before and after. */
bool gc_freed(const struct collect_span *s, uint64_t *ret);

void gc_json(const struct live_gc_options *o, const struct collect_span *s, struct buf *out);
void gc_lost_json(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out);

#endif

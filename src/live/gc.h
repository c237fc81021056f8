/* SPDX-License-Identifier: MIT */
/* Formats spans of runtimes as lines: aligned columns, or one JSON object per line. */
#ifndef UT_LIVE_GC_H
#define UT_LIVE_GC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/collect.h"

struct live_gc_options {
	bool json;
	bool color; /* print escape sequences; the caller has checked for a terminal */
	bool process; /* columns PID and COMM, for more than one process */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t mono_ns, wall_ns; /* one moment on CLOCK_MONOTONIC and on CLOCK_REALTIME; wall_ns 0: not known */
};

/* Column titles; nothing for JSON. */
void live_gc_header(const struct live_gc_options *o, struct buf *out);
/* How many of @columns a line without PID and COMM may use, so that no number is truncated. */
size_t live_gc_columns(size_t columns);
/* One line with its line feed. Foreign text is escaped for the format. */
void live_gc_line(const struct live_gc_options *o, const struct collect_span *span, struct buf *out);
/* The line of @n lost events between two times. */
void live_gc_lost(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out);

#endif

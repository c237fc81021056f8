/* SPDX-License-Identifier: MIT */
/* Spans of runtimes as lines: aligned columns for people, or one JSON object a line. */
#ifndef UT_LIVE_GC_H
#define UT_LIVE_GC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/collect.h"

struct live_gc_options {
	bool json;
	bool color; /* escape sequences; the caller has looked whether it is a terminal */
	bool process; /* columns PID and COMM: more than one process may come */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t mono_ns, wall_ns; /* one moment on CLOCK_MONOTONIC and on CLOCK_REALTIME; wall_ns 0: not known */
};

/* Column titles; nothing for JSON. */
void live_gc_header(const struct live_gc_options *o, struct buf *out);
/* How much of a line without PID and COMM to show in so many columns, so that no number is cut into another one. */
size_t live_gc_columns(size_t columns);
/* One line, «\n» included. Foreign text is escaped for where it stands. */
void live_gc_line(const struct live_gc_options *o, const struct collect_span *span, struct buf *out);
/* The line of @n lost events between two times. */
void live_gc_lost(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out);

#endif

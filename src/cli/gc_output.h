/* SPDX-License-Identifier: MIT */
/* What `usertrace gc` does with spans: lines as they end, and a summary of each process. */
#ifndef UT_CLI_GC_OUTPUT_H
#define UT_CLI_GC_OUTPUT_H

#include "watch/gc_defs.h"
#include "watch/gc_watch.h"
#include "live/gc.h"

struct gc_output_options {
	struct live_gc_options live; /* its start_ns comes later */
	int fd;
	bool lines, summary;
	gc_kinds kinds; /* of which there are lines */
	uint64_t min_ns; /* shorter ones have no line */
	bool all; /* processes that nothing happened in are counted only */
};

struct gc_output;

struct gc_output *gc_output_new(const struct gc_output_options *o); /* NULL: no memory */
struct gc_output *gc_output_free(struct gc_output *o);
/* For the watch. Errors of writing come back as its result. */
struct gc_watch_sink gc_output_sink(struct gc_output *o);
/* Since when; the titles of the columns are written. As the sink's methods. */
int gc_output_start(struct gc_output *o, uint64_t start_ns);
/* The summaries, the busiest process first. As the sink's methods. */
int gc_output_end(struct gc_output *o, uint64_t end_ns);
size_t gc_output_processes(const struct gc_output *o); /* that were watched */

#endif

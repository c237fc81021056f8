/* SPDX-License-Identifier: MIT */
/* The output of `usertrace gc`: a line for each span as it ends, and a summary of each process. */
#ifndef UT_CLI_GC_OUTPUT_H
#define UT_CLI_GC_OUTPUT_H

#include "watch/gc_defs.h"
#include "watch/gc_watch.h"
#include "live/gc.h"

struct gc_output_options {
	struct live_gc_options live; /* its start_ns is set by gc_output_start */
	int fd;
	bool lines, summary;
	gc_kinds kinds; /* that are printed as lines */
	uint64_t min_ns; /* shorter spans are not printed */
	bool all; /* processes without events are only counted */
};

struct gc_output;

struct gc_output *gc_output_new(const struct gc_output_options *o); /* NULL: no memory */
struct gc_output *gc_output_free(struct gc_output *o);
/* The sink for the watch; its methods return errors of writing. */
struct gc_watch_sink gc_output_sink(struct gc_output *o);
/* Sets the start time and writes the column titles. Returns as the methods of the sink. */
int gc_output_start(struct gc_output *o, uint64_t start_ns);
/* Writes the summaries, the busiest process first. Returns as the methods of the sink. */
int gc_output_end(struct gc_output *o, uint64_t end_ns);
size_t gc_output_processes(const struct gc_output *o); /* that were watched */

#endif

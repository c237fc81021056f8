/* SPDX-License-Identifier: MIT */
/* The output of `usertrace trace`: the events of a session as lines in a file or a pipe. */
#ifndef UT_CLI_TRACE_OUTPUT_H
#define UT_CLI_TRACE_OUTPUT_H

#include "live/print.h"
#include "record/session.h"

struct trace_output;

struct trace_output_options {
	struct live_options live; /* its names are set by trace_output_start */
	int fd; /* where lines go; borrowed */
	bool header;
};

/* @plan is the session's; it and @runtimes outlive the output. NULL: out of memory. */
struct trace_output *trace_output_new(const struct trace_output_options *options, const struct plan *plan,
				      const struct runtimes *runtimes);
struct trace_output *trace_output_free(struct trace_output *o);
/* The sink for the session; its methods return errors of writing (-EPIPE when the reader is gone). */
struct session_sink trace_output_sink(struct trace_output *o);
/* Reads what stacks of a process need, while it runs. A method of the sink: @ctx is the output. */
void trace_output_add_process(void *ctx, pid_t pid);
int trace_output_start(struct trace_output *o, uint64_t start_ns); /* -ENOMEM */
/* At the end of the stream: reports spans that are still open. Returns as the methods of the sink. */
int trace_output_stop(struct trace_output *o, uint64_t stop_ns);
/* User events that were printed for a probe of the plan: the session does not count them. */
uint64_t trace_output_count(const struct trace_output *o, size_t probe);
/* Append sentences for the summary. */
void trace_output_totals(const struct trace_output *o, struct buf *out);
void trace_output_silent(const struct trace_output *o,
			 struct buf *out); /* user events that were requested and did not occur */

#endif

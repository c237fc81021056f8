/* SPDX-License-Identifier: MIT */
/*
 * How a span ends, and what an end without a begin is: one list for user spans (span.h) and spans of runtimes
 * (collect.h). docs/spans.md has the rules.
 */
#ifndef UT_MODEL_SPAN_END_H
#define UT_MODEL_SPAN_END_H

#include <stdbool.h>

enum span_end {
	SPAN_COMPLETE, /* by its own end */
	/* Something else closed it. */
	SPAN_OPEN, /* still open when tracing ended */
	SPAN_THREAD_EXITED,
	SPAN_PROCESS_EXITED,
	SPAN_EXEC, /* the program was replaced */
	SPAN_EVICTED, /* too many open spans */
	SPAN_LOST, /* events were lost, its end or, of an end without a begin, its begin among them */
	/* An end without a begin. */
	SPAN_INHERITED, /* it began in the parent, before the fork */
	SPAN_BEFORE_ATTACH, /* it most likely began before tracing */
	SPAN_ORPHAN, /* its begin would have been seen */
	SPAN_ENDS
};

/* "complete", "open", "thread-exited", "process-exited", "exec", "evicted", "lost", "inherited", "before-attach",
 * "orphan". */
const char *span_end_name(enum span_end end);
/* When such a span began or ended is not known at all. */
static inline bool span_has_no_length(enum span_end end)
{
	return end == SPAN_INHERITED || end == SPAN_LOST || end == SPAN_EVICTED || end == SPAN_ORPHAN;
}

#endif

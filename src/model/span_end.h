/* SPDX-License-Identifier: MIT */
/*
 * What begins and ends are paired by, how a span ends, and the cause of an end without a begin, for user spans (span.h) and spans of runtimes (collect.h).
 * docs/spans.md has the rules.
 */
#ifndef UT_MODEL_SPAN_END_H
#define UT_MODEL_SPAN_END_H

#include <stdbool.h>

/* What begin and end have in common. PAIR_BY_ID: an id within the process. */
enum pair_by { PAIR_BY_THREAD, PAIR_BY_PROCESS, PAIR_BY_ID };

enum span_end {
	SPAN_COMPLETE, /* by its own end */
	/* Another event closed it. */
	SPAN_OPEN, /* still open when tracing ended */
	SPAN_THREAD_EXITED,
	SPAN_PROCESS_EXITED,
	SPAN_EXEC, /* the program was replaced */
	SPAN_EVICTED, /* too many open spans */
	SPAN_LOST, /* its end was lost or, of an end without a begin, its begin */
	/* An end without a begin. */
	SPAN_INHERITED, /* it began in the parent, before the fork */
	SPAN_BEFORE_ATTACH, /* it most likely began before tracing */
	SPAN_ORPHAN, /* its begin would have been seen */
	SPAN_ENDS
};

/* "complete", "open", "thread-exited", "process-exited", "exec", "evicted", "lost", "inherited", "before-attach",
 * "orphan". */
const char *span_end_name(enum span_end end);
/* Is the time of its begin or end unknown? */
static inline bool span_has_no_length(enum span_end end)
{
	return end == SPAN_INHERITED || end == SPAN_LOST || end == SPAN_EVICTED || end == SPAN_ORPHAN;
}

#endif

/* SPDX-License-Identifier: MIT */
/* User events in `usertrace trace`: their owners, their spans, and the requests that print them. */
#ifndef UT_WATCH_TRACE_USER_H
#define UT_WATCH_TRACE_USER_H

#include "live/print.h"
#include "record/session.h"

struct trace_user;

struct trace_user_options {
	const struct plan *plan;
	struct live_printer *printer;
	struct buf *out; /* lines are appended */
};

struct trace_user *trace_user_new(const struct trace_user_options *options); /* NULL: out of memory */
struct trace_user *trace_user_free(struct trace_user *u);

/* Returns for how many requests it was printed, at most @room; -ENOMEM. */
int trace_user_event(struct trace_user *u, const struct user_event *e, unsigned cpu, uint64_t room);
void trace_user_life(struct trace_user *u, const struct session_lifecycle *life);
void trace_user_lost(struct trace_user *u, uint32_t pid, uint64_t since_ns, uint64_t until_ns);
/* Prints the spans that are still open. */
void trace_user_stop(struct trace_user *u, uint64_t time_ns);

uint64_t trace_user_count(const struct trace_user *u, size_t probe); /* events printed for a probe of the plan */
/* Appends sentences for the totals. */
void trace_user_totals(const struct trace_user *u, struct buf *out);
/* Appends a line for each request by a name that no program emitted, with similar names. */
void trace_user_silent(const struct trace_user *u, struct buf *out);

#endif

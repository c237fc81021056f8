/* SPDX-License-Identifier: MIT */
/*
 * Formats user events and spans as lines: "gc begin", "gc end 1.23 ms", "gc open for 3.2 s". A request with a format of its own
 * prints the values of its expressions instead.
 */
#ifndef UT_LIVE_USER_H
#define UT_LIVE_USER_H

#include "live/print.h"
#include "model/span.h"
#include "wire/record.h"

enum live_user_kind {
	LIVE_USER_BEGIN,
	LIVE_USER_END,
	LIVE_USER_MARK,
	LIVE_USER_COUNT,
	LIVE_USER_CLOSED, /* not an event: a span closed by an exit, an exec or the end of tracing; span is set */
};

struct live_user {
	enum live_user_kind kind;
	uint64_t time_ns;
	uint32_t pid, tid;
	pid_t ns_pid; /* as in live_event */
	char comm[16];
	unsigned cpu;
	bool has_cpu; /* a span that closes at the end of the stream has none */
	struct ut_text name, text;
	bool is_signal; /* a signal handler */
	bool has_text, has_id;
	uint64_t id;
	int64_t value;
	const struct span *span; /* LIVE_USER_CLOSED, and LIVE_USER_END with a begin; else NULL */
	enum span_end end; /* LIVE_USER_END: complete, or why there is no begin */
};

/* One line. */
void live_print_user(struct live_printer *p, const struct live_user *u, struct buf *out);
/* The variables of expressions in e: requests; borrows the strings of @u. */
void live_user_scope(const struct live_user *u, struct eval_scope *ret);
/* One line in the format of a request; @scope comes from live_user_scope(). */
void live_print_user_as(struct live_printer *p, struct live_probe *probe, const struct live_user *u,
			const struct eval_scope *scope, struct buf *out);
/* "begin", "end", "mark", "count"; for LIVE_USER_CLOSED why: its span_end_name(). */
const char *live_user_word(const struct live_user *u);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * User events and spans to lines: «gc begin», «gc end 1.23 ms», «gc open for 3.2 s». Without a format of the user's own;
 * with one, print.h prints a record of probe/eval.h.
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
	LIVE_USER_CLOSED, /* no event: a span that something else closed; span is set */
};

/* A text of a program: what could not be read prints as what it is. */
struct live_user_text {
	const char *bytes;
	size_t len;
	enum ut_text_state state;
	uint64_t address; /* for UT_TEXT_FAULT */
};

struct live_user {
	enum live_user_kind kind;
	uint64_t time_ns;
	uint32_t pid, tid;
	pid_t ns_pid; /* as in live_event */
	char comm[16];
	unsigned cpu;
	bool has_cpu; /* a span that closes at the end of the stream has none */
	struct live_user_text name, text;
	bool is_signal; /* the run of a signal's handler */
	bool has_text, has_id;
	uint64_t id;
	int64_t value;
	const struct span *span; /* of an end that has one, and of LIVE_USER_CLOSED; else NULL */
	enum span_end end; /* LIVE_USER_END: why it has none */
};

/* One line. */
void live_print_user(struct live_printer *p, const struct live_user *u, struct buf *out);
/* "begin", "end", "mark", "count"; for LIVE_USER_CLOSED why: its span_end_name(). */
const char *live_user_word(const struct live_user *u);

#endif

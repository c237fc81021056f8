/* SPDX-License-Identifier: MIT */
/*
 * User events become spans, by the rules of docs/spans.md. Pure: fed with events in time order, it returns the span that
 * each end closes, and reports the spans that other events close. One thread.
 */
#ifndef UT_MODEL_SPAN_H
#define UT_MODEL_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/span_end.h"
#include "wire/text.h"

#define SPANS_PER_PROCESS 16384
#define SPANS_MAX 262144
#define SPAN_NAME_MAX 128 /* bytes; longer names are truncated */

struct span_event {
	uint64_t time_ns;
	uint32_t pid, tid; /* of the owner of the span */
	/* Any bytes; copied. Names in different states differ, and so do faults at different addresses. */
	struct ut_text name;
	bool is_signal; /* a run of a signal handler, not a user event of that name */
	bool has_id;
	uint64_t id;
	int64_t value;
};

enum span_flag {
	SPAN_LOST_INSIDE = 1, /* events of its process, or of unknown ones, were lost while it was open */
	SPAN_CLOCK_STEP = 2, /* the end was older than the begin */
	SPAN_CROSSED = 4, /* it and another span of its thread do not nest */
};

struct span {
	uint32_t pid, tid; /* of the begin */
	uint64_t begin_ns, end_ns;
	uint64_t own_ns; /* without the spans directly inside it on its thread */
	unsigned depth; /* 1: outermost on its thread when it began */
	enum span_end end;
	unsigned flags; /* enum span_flag */
	bool exit_known; /* SPAN_PROCESS_EXITED */
	int exit_code; /* as wait(2) has it */
	/* Of user events. */
	struct ut_text name; /* bytes of the end; of a span that another event closed, they are valid during the call */
	bool is_signal, has_id;
	uint64_t id;
	int64_t value; /* of the begin */
};

static inline uint64_t span_duration_ns(const struct span *s)
{
	return s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0;
}

struct span_counts {
	uint64_t begins, ends;
	uint64_t of[SPAN_ENDS]; /* spans and ends without a begin, by how they ended */
};

struct pairs;
struct spans;

/*
 * @closed is called for every span that another event than its own end closed, and must not call back. NULL: out of memory.
 */
struct spans *spans_new(void (*closed)(void *ctx, const struct span *span), void *ctx);
struct spans *spans_free(struct spans *s);

/* 0 or -ENOMEM: then the begin is counted as evicted. */
int spans_begin(struct spans *s, const struct span_event *e);
/* With SPAN_COMPLETE *@ret is the span that ends, else it is unchanged. It may be NULL. */
enum span_end spans_end(struct spans *s, const struct span_event *e, struct span *ret);

/* The pairing engine, for lifecycle events and losses: pairs_fork() and the like of pair.h. */
struct pairs *spans_pairs(const struct spans *s);
const struct span_counts *spans_counts(const struct spans *s);

#endif

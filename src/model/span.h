/* SPDX-License-Identifier: MIT */
/*
 * Begins and ends to spans. Pure: fed with what happened in time order, it says what each end closes, and hands out the
 * spans that something else closed. Knows nothing of rings, processes or output. One thread.
 *
 * Rules. With an id, an end closes the newest open begin of its process that has the same name and id, on whatever
 * thread. Without one it closes the newest open begin of its thread that has its name and no id; opened later and still
 * open on that thread, others are left open, and both are marked as crossed. A begin never matches by thread alone. A thread's
 * exit closes its spans that have no id; a process's exit and an exec close all of the process. A child does not have
 * its parent's spans: an end that would close one of those, open at the fork, is told as inherited. No duration is
 * negative: an end that is older than its begin gives 0 and is marked.
 *
 * Memory is bounded: of more than SPANS_PER_PROCESS open spans in a process, or SPANS_MAX in all, the oldest of the
 * process with most is forgotten and counted.
 */
#ifndef UT_MODEL_SPAN_H
#define UT_MODEL_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/span_end.h"

#define SPANS_PER_PROCESS 16384
#define SPANS_MAX 262144
#define SPAN_NAME_MAX 128 /* bytes; longer names are cut, without a NUL */

struct span_event {
	uint64_t time_ns;
	uint32_t pid, tid; /* of whom the span is */
	const char *name; /* any bytes; copied */
	size_t name_len;
	bool has_id;
	uint64_t id;
	int64_t value;
};

enum span_flag {
	SPAN_LOST_INSIDE = 1, /* events of its process, or of unknown ones, were lost meanwhile */
	SPAN_CLOCK_STEP = 2, /* the end was older than the begin */
	SPAN_CROSSED = 4, /* it and another of its thread end in an order that does not nest */
};

struct span {
	uint32_t pid, tid; /* of the begin */
	char name[SPAN_NAME_MAX]; /* name_len bytes, not terminated */
	size_t name_len;
	bool has_id;
	uint64_t id;
	int64_t value; /* of the begin */
	uint64_t begin_ns, end_ns;
	uint64_t own_ns; /* without the spans directly inside it on its thread: see below */
	unsigned depth; /* 1: outermost on its thread when it began */
	enum span_end end;
	unsigned flags; /* enum span_flag */
	bool exit_known;
	int exit_code; /* as wait(2) has it */
};

/*
 * Own time and depth, which only spans of one thread can have: a span without id knows those without id alone, as one
 * with an id may be open on a thread for long without being what it does. A span with an id knows all. Spans that ended
 * on another thread, or that were still open when the outer one ended, are not inside.
 */

struct span_counts {
	uint64_t begins, ends;
	uint64_t of[SPAN_ENDS]; /* spans and ends without a begin, by what became of them */
};

struct spans;

/*
 * @closed is called for every span that something else than its own end closed; the span holds during the call. It must
 * not call back. NULL: out of memory.
 */
struct spans *spans_new(void (*closed)(void *ctx, const struct span *span), void *ctx);
struct spans *spans_free(struct spans *s);

/* 0 or -ENOMEM: then the begin is not kept, and counted as forgotten. */
int spans_begin(struct spans *s, const struct span_event *e);
/* *@ret is the span that ends when the result is SPAN_COMPLETE, untouched otherwise. It may be NULL. */
enum span_end spans_end(struct spans *s, const struct span_event *e, struct span *ret);

void spans_fork(struct spans *s, uint64_t time_ns, uint32_t pid, uint32_t child);
void spans_exec(struct spans *s, uint64_t time_ns, uint32_t pid);
/* Where it is known. An earlier thread of that number has ended; an end without a begin is an orphan from here on. */
void spans_thread_start(struct spans *s, uint64_t time_ns, uint32_t pid, uint32_t tid);
void spans_thread_exit(struct spans *s, uint64_t time_ns, uint32_t pid, uint32_t tid);
void spans_process_exit(struct spans *s, uint64_t time_ns, uint32_t pid, bool code_known, int code);
/* Events are missing between the two times: of @pid, or with 0 of nobody knows whom. */
void spans_lost(struct spans *s, uint32_t pid, uint64_t since_ns, uint64_t until_ns);
/* The stream ends: closes all as SPAN_OPEN, the oldest first. */
void spans_stop(struct spans *s, uint64_t time_ns);

const struct span_counts *spans_counts(const struct spans *s);
size_t spans_open(const struct spans *s); /* how many are open */

#endif

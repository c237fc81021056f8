/* SPDX-License-Identifier: MIT */
/*
 * Spans of runtimes (collections and the others of runtime definitions) from the events at their begin, at their end and
 * inside, with stop-the-world times. Pure: fed in time order, it reports each span as it ends. One thread.
 *
 * Begins and ends pair by the rules of docs/spans.md, by thread, process or id as the definition says. An event inside
 * belongs to the newest span of its own thread or id if there is one, else to the newest of the process. If «only» leaves
 * out a begin, it leaves out its end too, whether that has the value or not. No span is longer than from its begin to
 * the event that closed it. If events were lost while a span was open, the next begin of its definition and thread
 * closes it as one whose end was lost, unless such spans have been seen to nest.
 */
#ifndef UT_MODEL_COLLECT_H
#define UT_MODEL_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/span_end.h"
#include "model/stall.h"

#define COLLECT_OPEN_MAX 4096 /* open spans of a process */
#define COLLECT_TEXT_MAX 120 /* bytes of name and cause with their NUL; longer ones are truncated */

struct collect_word {
	const char *value;
	int64_t number;
	const char *text;
};
struct collect_only {
	const char *value, *glob;
};

/* One [span] of a runtime (proc/runtime.h has the meaning). The strings are the caller's and outlive the engine. */
struct collect_def {
	const char *runtime, *kind, *title; /* title may be NULL */
	enum pair_by by;
	bool stops;
	const char *part_of; /* NULL: nothing */
	const struct collect_word *words;
	size_t nwords;
	const struct collect_only *only;
	size_t nonly;
};

/* One value of a probe, by its name in the format. */
struct collect_value {
	const char *name;
	uint32_t key; /* collect_name_key(name) */
	bool is_text; /* then text, len; else number */
	int64_t number;
	const char *text;
	size_t len;
};

/* A number for a name, for comparison; computed once for each probe. Never 0. */
uint32_t collect_name_key(const char *name);

enum collect_role { COLLECT_BEGIN, COLLECT_END, COLLECT_INSIDE };

struct collect_event {
	uint64_t time_ns;
	uint32_t pid, tid;
	char comm[16];
	unsigned def; /* index into the definitions */
	enum collect_role role;
	const struct collect_value *values; /* those that could be read */
	size_t nvalues;
	const struct ut_rec_state *state; /* NULL: not measured */
};

struct collect_span {
	const struct collect_def *def;
	enum span_end end; /* all but SPAN_COMPLETE: incomplete, not in any statistics of lengths */
	uint32_t pid, tid; /* of the begin */
	char comm[16];
	uint64_t begin_ns,
		end_ns; /* of an end without a begin, begin_ns is the earliest possible; SPAN_ORPHAN: equal */
	uint64_t number; /* of this definition in this program, from 1, as they began */
	const char *label; /* from the words, else name, title or kind; never NULL */
	char name[COLLECT_TEXT_MAX], cause[COLLECT_TEXT_MAX]; /* "": none */
	bool has_before, has_after, has_freed, has_objects, has_heap;
	uint64_t before, after, freed, objects,
		heap; /* bytes; objects: freed ones. freed: a value of the event, or before - after */
	struct stall stall;
	bool nested; /* inside another of the same kind of its process */
	bool lost_inside; /* events were lost between its begin and its end */
	const struct collect_value *values; /* of its begin, then of its end: for JSON; live during the call */
	size_t nvalues;
};

struct collect;
struct pairs;

/* @defs outlives the engine. @fn gets each span; the caller gets its negative result. NULL: out of memory. */
struct collect *collect_new(const struct collect_def *defs, size_t n, uint64_t start_ns, uint64_t base_ns,
			    int (*fn)(void *ctx, const struct collect_span *span), void *ctx);
struct collect *collect_free(struct collect *c);

int collect_event(struct collect *c, const struct collect_event *e);
/*
 * The pairing engine, for lifecycle events and losses: pairs_fork() and the like of pair.h return the negative result
 * of @fn.
 */
struct pairs *collect_pairs(const struct collect *c);
/* When the open stop-the-world collection (kind gc) of the process began; 0: none is open. */
uint64_t collect_stopped_since(const struct collect *c, uint32_t pid);

#endif

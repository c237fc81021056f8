/* SPDX-License-Identifier: MIT */
/*
 * What runtimes do: collections and the other spans that runtimes are described with, from begins, ends and what
 * comes inside, with how long the program stood still. Pure: fed in time order, it hands out each span as it ends.
 * One thread.
 *
 * Begins and ends pair by the rules of docs/spans.md, by thread, process or id as the definition has it. What comes inside
 * belongs to the newest of its own thread or id where there is one, else to the newest of the process. Where «only» leaves
 * out a begin, its end is left out with it, whether that tells the value or not. No span is longer than from its begin to
 * what closed it. A begin that is open over a loss is taken for one whose end was lost when another of its definition and
 * thread comes, unless these have been seen to nest.
 */
#ifndef UT_MODEL_COLLECT_H
#define UT_MODEL_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/span_end.h"
#include "model/stall.h"

#define COLLECT_OPEN_MAX 4096 /* open spans of a process */
#define COLLECT_TEXT_MAX 120 /* bytes of name and cause, a NUL among them; longer ones are cut */

struct collect_word {
	const char *value;
	int64_t number;
	const char *text;
};
struct collect_only {
	const char *value, *glob;
};
enum collect_by { COLLECT_BY_THREAD, COLLECT_BY_PROCESS, COLLECT_BY_ID };

/* One [span] of a runtime (proc/runtime.h has the meaning). The strings are the caller's and outlive the engine. */
struct collect_def {
	const char *runtime, *kind, *title; /* title may be NULL */
	enum collect_by by;
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

/* What stands for a name, so that it is compared as a number; looked up once for each probe. Never 0. */
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
	enum span_end end; /* all but SPAN_COMPLETE: cut; not in any statistics of lengths */
	uint32_t pid, tid; /* of the begin */
	char comm[16];
	uint64_t begin_ns, end_ns; /* of an end without a begin: since when that may have been; SPAN_ORPHAN: the same */
	uint64_t number; /* of this definition in this program, from 1, as they began */
	const char *label; /* how it is called: words, else name, title or kind; never NULL */
	char name[COLLECT_TEXT_MAX], cause[COLLECT_TEXT_MAX]; /* "": none */
	bool has_before, has_after, has_freed, has_objects, has_heap;
	uint64_t before, after, freed, objects, heap; /* bytes; objects: freed ones. freed: told, or before - after */
	struct stall stall;
	bool nested; /* inside another of the same kind of its process */
	bool lost_inside; /* events were lost between its begin and its end */
	const struct collect_value *values; /* of its begin, then of its end: for JSON; live during the call */
	size_t nvalues;
};

struct collect;
struct pairs;

/* @defs lives as long as the engine. @fn gets each span; who called gets its negative result. NULL: no memory. */
struct collect *collect_new(const struct collect_def *defs, size_t n, uint64_t start_ns, uint64_t base_ns,
			    int (*fn)(void *ctx, const struct collect_span *span), void *ctx);
struct collect *collect_free(struct collect *c);

int collect_event(struct collect *c, const struct collect_event *e);
/*
 * The engine behind it: what else happens goes to it, as pairs_fork() and pairs_lost() of pair.h. They return the negative
 * result of @fn.
 */
struct pairs *collect_pairs(const struct collect *c);
/* Since when a collection (kind gc) that stops the process is open; 0: none is. */
uint64_t collect_stopped_since(const struct collect *c, uint32_t pid);

#endif

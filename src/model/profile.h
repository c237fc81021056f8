/* SPDX-License-Identifier: MIT */
/*
 * A profile: stacks of named frames as a tree, with how often and how long each thread was in each of them. Made by
 * `profile` while it records and by readers of folded stacks; read by everything in out/ and report/. Not thread-safe.
 * Frames, threads and nodes are numbers from 0; node 0 is the root, which has no frame (its parent and frame are
 * UINT32_MAX).
 */
#ifndef UT_MODEL_PROFILE_H
#define UT_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/frame.h"

enum profile_state {
	PROFILE_CPU, /* ran */
	PROFILE_RUNNABLE, /* could have run, had no processor */
	PROFILE_BLOCKED, /* waited */
	PROFILE_EVENT, /* a probe fired */
	PROFILE_STATES,
};

struct profile_frame { /* strings are the profile's own copies */
	const char *name, *module, *file; /* module "" and file NULL when not known */
	uint32_t line;
	uint8_t kind; /* enum frame_kind */
	bool unnamed;
};

struct profile_node {
	uint32_t parent, frame;
};

struct profile_thread {
	int pid, tid;
	const char *comm; /* of the thread; */
	const char *process; /* of the program: its first thread's */
};

struct profile_weight {
	uint32_t node, thread;
	uint8_t state; /* enum profile_state */
	uint64_t count; /* samples, intervals or events */
	uint64_t value_ns; /* 0 for events */
};

/* What the recording says of itself. */
struct profile_totals {
	uint64_t samples; /* all counts together */
	uint64_t lost; /* that did not fit */
	uint64_t cut; /* stacks that do not reach their thread's start, by count of samples */
	uint64_t frames, unnamed; /* by count of samples: frames in all, and those without a name */
	uint64_t duration_ns;
	uint64_t period_ns; /* of the clock's samples; 0: none */
	int64_t begin_wall_ns; /* CLOCK_REALTIME; 0: not known */
	bool saturated; /* a sum would not fit 64 bits, and is UINT64_MAX */
	bool times_only; /* counts are nanoseconds too: how many there were is not known */
	const char *unit; /* what a count is when there are no times: "samples", or a probe; NULL: samples */
};

struct profile {
	VEC(struct profile_frame) frames;
	VEC(struct profile_node) nodes; /* a parent comes before its children */
	VEC(struct profile_thread) threads;
	VEC(struct profile_weight) weights; /* each (node, thread, state) once */
	struct profile_totals totals;
	struct profile_index *index; /* inner tables */
	/*
	 * For pictures of very many stacks, set before profile_read_folded: where there are millions of nodes, those that
	 * have less than this share of all counts are replaced, with all that is below them, by one node with the frame
	 * `pruned` below their parent. Whoever has more is there, and misses at most this share. 0: nothing is.
	 */
	double prune_share;
	uint32_t pruned; /* UINT32_MAX: there is none */
	uint64_t npruned; /* nodes, when they were replaced */
};

struct profile *profile_new(void); /* NULL: out of memory */
struct profile *profile_free(struct profile *p);

/* Numbers for things, the same for equal ones; UINT32_MAX: out of memory. Strings are copied. */
uint32_t profile_frame(struct profile *p, const struct frame *f);
/* The same of a name that is no C string (foreign files). */
uint32_t profile_frame_named(struct profile *p, const char *name, size_t len, enum frame_kind kind);
/* The same as folded stacks say it: the kind by suffix and brackets. */
uint32_t profile_frame_folded(struct profile *p, const char *text, size_t len);
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame);
uint32_t profile_thread(struct profile *p, int pid, int tid, const char *comm, const char *process);
/* Adds up, and stops at UINT64_MAX (totals.saturated). The totals are the caller's to count. */
int profile_add(struct profile *p, uint32_t node, uint32_t thread, enum profile_state state, uint64_t count,
		uint64_t value_ns); /* -ENOMEM */

/*
 * Folded stacks, a line each: frames from the outermost on, ';' between, a blank, a count. Empty lines and lines that
 * begin with "# " are stepped over. Kinds are taken from the suffixes that stackcollapse scripts write (_[k] kernel,
 * _[j] compiled, _[i] inlined, _[w] waiting), which then are no part of the name, and from brackets. A frame without a
 * name is "[no name]". Counts with a fraction are rounded; a count or a sum that does not fit is UINT64_MAX, and said
 * in totals.saturated. Reads @fd to its end. -errno with a sentence.
 *
 * Where a stack ends in one of our recording's words for waits (model/waits.h) all numbers are nanoseconds, and such stacks
 * are waits; counts then are the same numbers (totals.times_only). Other words in brackets are names like any.
 */
struct profile_bad {
	uint64_t lines, first_line; /* that are no such thing; the number of the first, from 1, */
	char first[96]; /* and its text, as it is there */
	uint64_t rounded; /* good lines whose count had a fraction */
};
int profile_read_folded(struct profile *p, int fd, struct profile_bad *ret_bad, struct ut_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A profile: stacks of named frames as a tree, with counts and times of each thread for each stack. Created by `profile` and
 * by readers of foreign formats; read by everything in out/ and report/. Not thread-safe.
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
	PROFILE_RUNNABLE, /* waited for a CPU */
	PROFILE_BLOCKED, /* waited for something else */
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

/* Totals of the recording. */
struct profile_totals {
	uint64_t samples; /* all counts together */
	uint64_t lost; /* samples that did not fit into a buffer */
	uint64_t cut; /* truncated stacks, which do not reach their thread's start, by count of samples */
	uint64_t frames, unnamed; /* by count of samples: frames in all, and those without a name */
	uint64_t duration_ns;
	uint64_t period_ns; /* of the clock's samples; 0: none */
	int64_t begin_wall_ns; /* CLOCK_REALTIME; 0: not known */
	bool saturated; /* a sum would not fit 64 bits, and is UINT64_MAX */
	bool times_only; /* counts are nanoseconds too, since the number of samples is unknown */
	const char *unit; /* of counts when there are no times: "samples", or a probe; NULL: samples */
};

struct profile {
	VEC(struct profile_frame) frames;
	VEC(struct profile_node) nodes; /* a parent comes before its children */
	VEC(struct profile_thread) threads;
	VEC(struct profile_weight) weights; /* each (node, thread, state) once */
	struct profile_totals totals;
	struct profile_index *index; /* inner tables */
	/*
	 * For pictures of very many stacks, set before profile_read_folded: when there are millions of nodes, each with less
	 * than this share of all counts is replaced, with all below it, by one node with the frame `pruned` below its
	 * parent. Nodes with more stay, and miss at most this share. 0: no pruning.
	 */
	double prune_share;
	uint32_t pruned; /* UINT32_MAX: none */
	uint64_t npruned; /* replaced nodes */
};

struct profile *profile_new(void); /* NULL: out of memory */
struct profile *profile_free(struct profile *p);

/* The number of an equal entry, else of a new one; UINT32_MAX: out of memory. Strings are copied. */
uint32_t profile_frame(struct profile *p, const struct frame *f);
/* The same for a name that is no C string (foreign files). */
uint32_t profile_frame_named(struct profile *p, const char *name, size_t len, enum frame_kind kind);
/* The same for a frame of folded stacks: its kind is determined by suffix and brackets. */
uint32_t profile_frame_folded(struct profile *p, const char *text, size_t len);
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame);
uint32_t profile_thread(struct profile *p, int pid, int tid, const char *comm, const char *process);
/* Adds to the weight; sums stop at UINT64_MAX (totals.saturated). The caller counts the totals. */
int profile_add(struct profile *p, uint32_t node, uint32_t thread, enum profile_state state, uint64_t count,
		uint64_t value_ns); /* -ENOMEM */

/*
 * Reads folded stacks, one per line: frames from the outermost on, separated by ';', then a space and a count. Empty lines
 * and lines that begin with "# " are skipped. Kinds are determined by the suffixes that stackcollapse scripts write (_[k]
 * kernel, _[j] compiled, _[i] inlined, _[w] waiting), which are not part of the name, and by brackets. A frame without a
 * name is "[no name]". Counts with a fraction are rounded; a count or a sum that does not fit is UINT64_MAX, with
 * totals.saturated. Reads @fd to its end. -errno with a sentence.
 *
 * If a stack ends in a wait frame of our recordings (model/waits.h), all numbers are nanoseconds, and such stacks are
 * waits; counts are the same numbers (totals.times_only). Other frames in brackets are ordinary names.
 */
struct profile_bad {
	uint64_t lines, first_line; /* malformed lines; the number of the first, from 1 */
	char first[96]; /* its unescaped bytes */
	uint64_t rounded; /* good lines whose count had a fraction */
};
int profile_read_folded(struct profile *p, int fd, struct profile_bad *ret_bad, struct ut_err *err);

#endif

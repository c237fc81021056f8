/* SPDX-License-Identifier: MIT */
/* Shared by the writers of formats. Internal to src/out. */
#ifndef UT_OUT_OUT_PRIV_H
#define UT_OUT_OUT_PRIV_H

#include "base/buf.h"
#include "out/out.h"

/* A buffer before a file. After the first error nothing more is written. */
struct writer {
	int fd;
	struct buf b; /* append here, then call writer_more() */
	int error; /* the first; negative errno or 0 */
};

/* Writes the buffer if it is large enough. Call it at least every few kilobytes. Returns the first error. */
int writer_more(struct writer *w);
/* Writes the rest and frees the buffer. Returns the first error, also -ENOMEM of the buffer. */
int writer_end(struct writer *w);

static inline bool out_wants(const struct out_options *o, uint8_t state)
{
	return !o || !o->states || o->states >> state & 1;
}

/* The wanted states that have a weight, one bit for each. */
unsigned out_states(const struct profile *p, const struct out_options *o);
/* Does a weight in these states have a duration? */
bool out_has_times(const struct profile *p, const struct out_options *o);
/* The unit of the counts. */
const char *out_unit(const struct profile *p);

/* Numbers of the weights in wanted states, sorted by node, or by thread and then by node. The caller frees them; NULL: out of
 * memory. */
uint32_t *out_order(const struct profile *p, const struct out_options *o, bool by_thread, size_t *ret_n);

/* A tree of another form, with 0 as its root. Functions that return a node return UINT32_MAX when memory runs out. */
struct out_tree {
	/* The node below which the stacks of a thread begin. Called with --per-thread or --by-process only. */
	uint32_t (*group_root)(void *ctx, const struct profile_thread *t);
	uint32_t (*child)(void *ctx, uint32_t parent, uint32_t frame); /* frame: a number of the profile */
	int (*add)(void *ctx, uint32_t node, const struct profile_weight *w); /* 0 or -ENOMEM */
};
/* Adds the stacks and weights of @p in wanted states to a tree. 0 or -ENOMEM. */
int out_map(const struct profile *p, const struct out_options *o, const struct out_tree *tree, void *ctx);

/* "java (1234)": a process, or a thread of one. Not escaped. */
void out_add_process(struct buf *b, const struct profile_thread *t);
void out_add_thread(struct buf *b, const struct profile_thread *t);

#endif

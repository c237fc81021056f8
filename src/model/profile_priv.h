/* SPDX-License-Identifier: MIT */
/* What the files of the profile share. */
#ifndef UT_MODEL_PROFILE_PRIV_H
#define UT_MODEL_PROFILE_PRIV_H

#include "base/index.h"
#include "model/profile.h"

struct arena_chunk;

/* How many nodes there were when the tree was pruned, and what each that came later may miss. */
struct profile_generation {
	uint32_t first;
	uint64_t missing;
};

struct profile_index {
	struct index strings, frames, nodes, threads, weights;
	VEC(const char *) texts; /* what `strings` counts */
	struct arena_chunk *chunks;
	char *free; /* in the newest chunk */
	size_t left;
	VEC(struct profile_generation) generations;
};

uint32_t profile_frame_bytes(struct profile *p, const char *name, size_t len, enum frame_kind kind, bool unnamed);
/* Say that profile_add or profile_node will be called, so that what they look at comes nearer. */
void profile_add_soon(const struct profile *p, uint32_t node, uint32_t thread, enum profile_state state);
void profile_node_soon(const struct profile *p, uint32_t parent, uint32_t frame);
/* Nodes for @n frames, each below the one before, the first below @parent, into @ret. -ENOMEM. */
int profile_nodes(struct profile *p, uint32_t parent, const uint32_t *frames, size_t n, uint32_t *ret);
/* Empties the table of nodes and fills it anew, after they have moved. -ENOMEM. */
int profile_index_nodes(struct profile *p);
/* Stacks on their way into the tree: of each, how many frames it has in common with the one before, and the others. */
struct profile_stack {
	uint32_t shared, n;
	uint64_t count;
};
struct profile_batch {
	VEC(struct profile_stack) stacks;
	VEC(uint32_t) frames; /* one stack's behind the other's */
};

/*
 * Puts stacks into the tree, in a thread of its own where there are many. As long as it is there it alone may touch
 * nodes, weights, totals.samples and totals.saturated; frames and threads are its creator's.
 */
struct profile_grower;
struct profile_grower *profile_grower_new(struct profile *p, uint32_t thread); /* NULL: out of memory */
/* Takes what is in @b, and leaves it empty. -ENOMEM, also for what was given before. */
int profile_grower_give(struct profile_grower *g, struct profile_batch *b);
/* What was given is in the tree. -ENOMEM: not all is. */
int profile_grower_end(struct profile_grower *g);

/* See prune_share, whose frame must be there. @path are nodes that stay, and get their new numbers. -ENOMEM: the profile is
 * of no use. */
int profile_prune(struct profile *p, uint32_t *path, size_t npath);

#endif

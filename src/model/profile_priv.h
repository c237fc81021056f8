/* SPDX-License-Identifier: MIT */
/* Private to the files that implement profile.h. */
#ifndef UT_MODEL_PROFILE_PRIV_H
#define UT_MODEL_PROFILE_PRIV_H

#include "base/index.h"
#include "model/profile.h"

struct arena_chunk;

/* The number of nodes after a pruning, and how much each later one may miss. */
struct profile_generation {
	uint32_t first;
	uint64_t missing;
};

struct profile_index {
	struct index strings, frames, nodes, threads, weights;
	VEC(const char *) texts; /* by the numbers in `strings` */
	struct arena_chunk *chunks;
	char *free; /* in the newest chunk */
	size_t left;
	VEC(struct profile_generation) generations;
};

uint32_t profile_frame_bytes(struct profile *p, const char *name, size_t len, enum frame_kind kind, bool unnamed);
/* Prefetch what profile_add or profile_node will read. */
void profile_add_soon(const struct profile *p, uint32_t node, uint32_t thread, enum profile_state state);
void profile_node_soon(const struct profile *p, uint32_t parent, uint32_t frame);
/* Nodes for @n frames, each below the previous one, the first below @parent, into @ret. -ENOMEM. */
int profile_nodes(struct profile *p, uint32_t parent, const uint32_t *frames, size_t n, uint32_t *ret);
/* Rebuilds the index of nodes after they have moved. -ENOMEM. */
int profile_index_nodes(struct profile *p);
/* Stacks for the tree: of each, how many frames it shares with the previous one, and its other frames. */
struct profile_stack {
	uint32_t shared, n;
	uint64_t count;
};
struct profile_batch {
	VEC(struct profile_stack) stacks;
	VEC(uint32_t) frames; /* those of all stacks, one after another */
};

/*
 * Inserts stacks into the tree, in a thread of its own if there are many. While it exists, only it may access nodes,
 * weights, totals.samples and totals.saturated; frames and threads belong to its creator.
 */
struct profile_grower;
struct profile_grower *profile_grower_new(struct profile *p, uint32_t thread); /* NULL: out of memory */
/* Submits the stacks of @b and leaves it empty. -ENOMEM, also for earlier batches. */
int profile_grower_submit(struct profile_grower *g, struct profile_batch *b);
/* Waits until all batches are in the tree, and frees the grower. -ENOMEM: not all are. */
int profile_grower_end(struct profile_grower *g);

/* See prune_share, whose frame must exist. @path: nodes that stay, and get their new numbers. -ENOMEM: the profile is
 * unusable. */
int profile_prune(struct profile *p, uint32_t *path, size_t npath);

#endif

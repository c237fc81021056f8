/* SPDX-License-Identifier: MIT */
/*
 * Keeps a profile of very many stacks small while it is read, for pictures that cannot show most of it. As in lossy counting
 * (Manku and Motwani, 2002), the most that each node may have lost before it was created is known: nothing before the
 * first pruning, else the least count that stayed at the last one. So no node misses more than prune_share of all
 * counts, in any order of the stacks.
 */
#include <stdlib.h>

#include "model/profile_priv.h"

#define GONE (1u << 31) /* with a node: its nearest remaining ancestor */

static uint32_t scale_up(uint64_t v, unsigned shift)
{
	uint64_t up = (v >> shift) + !!(v & ((1ull << shift) - 1));

	return up >= GONE ? GONE - 1 : (uint32_t)up;
}

static uint32_t bounded_sum(uint32_t a, uint32_t b) { return a + b >= GONE ? GONE - 1 : a + b; }

/* The counts of each node with all below it, rounded up. */
static void sum_subtrees(const struct profile *p, unsigned shift, uint32_t *sums)
{
	for (size_t i = 0; i < p->weights.n; i++) {
		const struct profile_weight *w = &p->weights.v[i];

		sums[w->node] = bounded_sum(sums[w->node], scale_up(w->count, shift));
	}
	for (size_t i = p->nodes.n - 1; i > 0; i--)
		sums[p->nodes.v[i].parent] = bounded_sum(sums[p->nodes.v[i].parent], sums[i]);
}

/* Moves the remaining nodes together; a node's sum becomes its new number. */
static void compact(struct profile *p, uint32_t least, unsigned shift, uint32_t *sums)
{
	const struct profile_generation *g = p->index->generations.v;
	size_t ng = p->index->generations.n, at = 0;
	uint32_t n = 1;

	sums[0] = 0;
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		struct profile_node node = p->nodes.v[i];
		uint32_t parent = sums[node.parent], missing;

		while (at < ng && g[at].first <= i)
			p->index->generations.v[at++].first = n;
		missing = at ? scale_up(g[at - 1].missing, shift) : 0;
		if (parent & GONE || (node.frame != p->pruned && bounded_sum(sums[i], missing) < least)) {
			sums[i] = parent | GONE;
			p->npruned += node.frame != p->pruned;
			continue;
		}
		sums[i] = n;
		node.parent = parent;
		p->nodes.v[n++] = node;
	}
	while (at < ng)
		p->index->generations.v[at++].first = n;
	p->nodes.n = n;
}

/* Adds the weights of removed nodes to the node that replaces them. */
static int move_weights(struct profile *p, const uint32_t *moved)
{
	size_t n = p->weights.n;

	index_clear(&p->index->weights);
	p->weights.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct profile_weight w = p->weights.v[i]; /* a copy: added weights overwrite the array up to here */
		uint32_t node = moved[w.node];

		if (node & GONE)
			node = profile_node(p, node & ~GONE, p->pruned);
		if (node == UINT32_MAX || profile_add(p, node, w.thread, w.state, w.count, w.value_ns))
			return -ENOMEM;
	}
	return 0;
}

int profile_prune(struct profile *p, uint32_t *path, size_t npath)
{
	uint64_t total = p->totals.samples, least = (uint64_t)((double)total * p->prune_share);
	unsigned shift = total >> 31 ? 33 - (unsigned)__builtin_clzll(total) : 0;
	uint32_t *sums = calloc(p->nodes.n, sizeof(*sums));
	int r = sums ? 0 : -ENOMEM;

	if (r || p->pruned == UINT32_MAX) {
		free(sums);
		return -ENOMEM;
	}
	sum_subtrees(p, shift, sums);
	for (size_t i = 0; i < npath; i++)
		sums[path[i]] = GONE - 1;
	compact(p, (uint32_t)(least >> shift), shift, sums);
	for (size_t i = 0; i < npath; i++)
		path[i] = sums[path[i]];
	r = profile_index_nodes(p);
	if (!r)
		r = move_weights(p, sums);
	free(sums);
	if (!r)
		r = vec_push(&p->index->generations, ((struct profile_generation){ (uint32_t)p->nodes.n, least }));
	return r;
}

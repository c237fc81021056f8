/* SPDX-License-Identifier: MIT */
/* Callers and callees of the chosen functions. A stack counts once for each pair, however often it contains it; recursion is
 * not an edge. */
#include <string.h>

#include "base/auto.h"
#include "base/sum.h"
#include "report/hot_priv.h"

struct edges {
	struct hot *h;
	uint32_t *index; /* of a function among the chosen, + 1 */
	struct pairs pairs; /* (index × 2 + caller, other) → edge */
};

static int add_edge(struct edges *e, uint32_t chosen, uint32_t other, bool caller, const struct profile_weight *w,
		    uint64_t stamp)
{
	struct hot *h = e->h;
	uint32_t number = pairs_number(&e->pairs, e->index[chosen] * 2 + caller, other);
	struct hot_edge new = { .chosen = chosen, .other = other, .caller = caller };

	if (number == HOT_NONE || (number == h->edges.n && vec_push(&h->edges, new)))
		return -ENOMEM;
	if (h->edges.v[number].seen == stamp)
		return 0;
	h->edges.v[number].seen = stamp;
	add_u64(&h->edges.v[number].value[w->state], hot_value(h, w));
	return 0;
}

static int add_stack_edges(struct edges *e, const struct profile_weight *w, uint64_t stamp)
{
	const struct profile_node *nodes = e->h->p->nodes.v;
	uint32_t node = hot_self_node(e->h->p, w), callee = HOT_NONE;
	int r = 0;

	for (; node && !r; node = nodes[node].parent) {
		uint32_t f = e->h->function_of[nodes[node].frame], up = nodes[node].parent;
		uint32_t caller = up ? e->h->function_of[nodes[up].frame] : HOT_NONE;

		if (e->index[f] && callee != HOT_NONE && callee != f)
			r = add_edge(e, f, callee, false, w, stamp);
		if (e->index[f] && caller != f && !r)
			r = add_edge(e, f, caller, true, w, stamp);
		callee = f;
	}
	return r;
}

static uint64_t edge_sum(const struct hot_edge *e)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < PROFILE_STATES; i++)
		add_u64(&ret, e->value[i]);
	return ret;
}

static int compare_edges(const void *x, const void *y)
{
	const struct hot_edge *a = x, *b = y;

	if (edge_sum(a) != edge_sum(b))
		return edge_sum(a) > edge_sum(b) ? -1 : 1;
	if (a->chosen != b->chosen)
		return a->chosen < b->chosen ? -1 : 1;
	if (a->caller != b->caller)
		return a->caller ? -1 : 1;
	return a->other < b->other ? -1 : a->other > b->other;
}

int hot_find_edges(struct hot *h)
{
	AUTO_FREE uint32_t *index = calloc(h->functions.n + 1, sizeof(*index));
	struct edges e = { .h = h, .index = index };
	int r = index ? 0 : -ENOMEM;

	for (size_t i = 0; i < h->chosen.n && !r; i++)
		index[h->chosen.v[i]] = (uint32_t)i + 1;
	for (size_t i = 0; i < h->p->weights.n && h->chosen.n && !r; i++) {
		const struct profile_weight *w = &h->p->weights.v[i];

		if (hot_wants(h, w->state) && !hot_is_idle(h, w))
			r = add_stack_edges(&e, w, i + 1);
	}
	if (h->edges.n)
		qsort(h->edges.v, h->edges.n, sizeof(*h->edges.v), compare_edges);
	pairs_done(&e.pairs);
	return r;
}

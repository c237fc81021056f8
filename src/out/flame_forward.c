/* SPDX-License-Identifier: MIT */
/*
 * Makes boxes from the root to the leaves. A profile may have twenty million nodes of which a few thousand are wide enough to be
 * visible. Each node therefore costs only four bytes, and exact sums are computed for those few.
 */
#include <errno.h>
#include <stdlib.h>

#include "out/flame.h"

/* A value in 32 bits: shifted and rounded up, so that it is never too small. */
static uint32_t scale_total(uint64_t v, unsigned shift)
{
	uint64_t up = (v >> shift) + !!(v & ((1ull << shift) - 1));

	return up > UINT32_MAX ? UINT32_MAX : (uint32_t)up;
}

static uint32_t plus32(uint32_t a, uint32_t b)
{
	uint32_t ret;

	return __builtin_add_overflow(a, b, &ret) ? UINT32_MAX : ret;
}

static void sum_nodes(const struct flame_source *s, unsigned shift, uint32_t *sums)
{
	const struct profile *p = s->p;

	for (size_t i = 0; i < p->weights.n; i++) {
		uint32_t *at = &sums[p->weights.v[i].node];

		*at = plus32(*at, scale_total(flame_weigh(s, &p->weights.v[i]).total, shift));
	}
	for (size_t i = p->nodes.n - 1; i > 0; i--) {
		uint32_t *at = &sums[p->nodes.v[i].parent];

		*at = plus32(*at, sums[i]);
	}
}

/* Makes boxes for the nodes that are wide enough. The sum of a node becomes its box, or the box of its nearest ancestor with one.
 * Until weigh() has run, `start` is the node. */
static int make_boxes(struct flame *f, uint32_t least, uint32_t *sums)
{
	const struct profile *p = f->source.p;
	struct flame_box root = { .label = UINT32_MAX };

	if (vec_push(&f->boxes, root))
		return -ENOMEM;
	f->narrow += p->npruned;
	sums[0] = 0;
	for (size_t i = 1; i < p->nodes.n; i++) {
		const struct profile_node *n = &p->nodes.v[i];
		struct flame_box b = { .parent = sums[n->parent], .label = n->frame, .start = i };

		f->narrow += sums[i] > 0 && n->frame != p->pruned;
		if (sums[i] < least || n->frame == p->pruned) {
			sums[i] = sums[n->parent];
			continue;
		}
		f->narrow--;
		b.depth = f->boxes.v[b.parent].depth + 1;
		if (vec_push(&f->boxes, b))
			return -ENOMEM;
		sums[i] = (uint32_t)f->boxes.n - 1;
	}
	return 0;
}

static void weigh(struct flame *f, const uint32_t *box_of)
{
	const struct profile *p = f->source.p;

	for (size_t i = 0; i < p->weights.n; i++) {
		const struct profile_weight *w = &p->weights.v[i];
		struct flame_weight v = flame_weigh(&f->source, w);
		struct flame_box *b = &f->boxes.v[box_of[w->node]];

		add_u64(&b->total, v.total);
		add_u64(&b->other, v.other);
		if (b->start == w->node)
			add_u64(&b->self, v.total);
	}
	for (size_t i = f->boxes.n - 1; i > 0; i--) {
		const struct flame_box *b = &f->boxes.v[i];
		struct flame_box *parent = &f->boxes.v[b->parent];

		add_u64(&parent->total, b->total);
		add_u64(&parent->other, b->other);
	}
}

/* The part of the base in stacks that no longer occur, counted where they leave the stacks that do. */
static void find_gone(struct flame *f, const uint32_t *sums)
{
	const struct profile *p = f->source.p;

	for (size_t i = 0; i < p->weights.n; i++) {
		uint64_t other = flame_weigh(&f->source, &p->weights.v[i]).other;

		if (other && !sums[p->weights.v[i].node])
			add_u64(&f->gone, other);
	}
}

int flame_forward(struct flame *f, uint64_t least)
{
	uint64_t total = f->source.total;
	unsigned shift = total >> 32 ? 32 - (unsigned)__builtin_clzll(total) : 0;
	uint32_t *sums = calloc(f->source.p->nodes.n, sizeof(*sums));
	int r;

	if (!sums)
		return -ENOMEM;
	sum_nodes(&f->source, shift, sums);
	if (f->source.diff)
		find_gone(f, sums);
	least >>= shift;
	r = make_boxes(f, least ? scale_total(least, 0) : 1, sums);
	if (!r)
		weigh(f, sums);
	free(sums);
	return r;
}

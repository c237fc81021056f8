/* SPDX-License-Identifier: MIT */
/*
 * One sorted queue for each ring. Two tournament trees over the rings (a change goes from one leaf straight up to the root)
 * find the oldest head and the lowest watermark.
 */
#include "record/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT64_MAX /* the key of an empty ring; the position of an item that was returned or never had one */

struct entry {
	struct merge_item item;
	uint64_t number; /* additions to its ring before it */
};

struct queue {
	struct entry *v;
	size_t first, end, cap; /* the entries are v[first … end) */
};

/* Positions in the order of the additions, from the oldest item in the merge on. */
struct positions {
	uint64_t *v;
	size_t first, end, cap;
	uint64_t passed; /* additions before v[first] */
};

struct ring {
	struct queue queue;
	struct positions positions;
};

struct node {
	uint64_t key;
	unsigned ring;
};

/* The parent of a pair of nodes is the lesser one; of equal ones the left one, whose ring has the lower number. */
struct tree {
	unsigned nleaves; /* a power of two */
	struct node *nodes; /* [1] is the root, those below [i] are [2 i] and [2 i + 1] */
};

struct merge {
	unsigned n;
	struct tree heads; /* by the time of a ring's first entry */
	struct tree watermarks;
	struct ring rings[];
};

/* Compares the ring's node with its sibling, up to the root; without branches, which no CPU could predict. */
static void tree_set(struct tree *t, unsigned ring, uint64_t key)
{
	struct node *nodes = t->nodes, winner = { key, ring };
	unsigned at = t->nleaves + ring;

	nodes[at] = winner;
	for (; at > 1; nodes[at] = winner) {
		struct node other = nodes[at ^ 1];
		bool wins = (other.key < winner.key) | ((at & 1) & (other.key == winner.key));

		winner.key = wins ? other.key : winner.key;
		winner.ring = wins ? other.ring : winner.ring;
		at /= 2;
	}
}

static bool tree_init(struct tree *t, unsigned n, uint64_t key)
{
	for (t->nleaves = 1; t->nleaves < n;)
		t->nleaves *= 2;
	t->nodes = calloc(2 * (size_t)t->nleaves, sizeof(*t->nodes));
	if (!t->nodes)
		return false;
	for (unsigned i = 0; i < t->nleaves; i++)
		t->nodes[t->nleaves + i] = (struct node){ .key = NONE, .ring = i };
	for (unsigned i = 0; i < t->nleaves; i++)
		tree_set(t, i, i < n ? key : NONE);
	return true;
}

struct merge *merge_new(unsigned nrings)
{
	struct merge *m = calloc(1, sizeof(*m) + nrings * sizeof(m->rings[0]));

	if (!m)
		return NULL;
	m->n = nrings;
	return tree_init(&m->heads, nrings, NONE) && tree_init(&m->watermarks, nrings, 0) ? m : merge_free(m);
}

struct merge *merge_free(struct merge *m)
{
	if (!m)
		return NULL;
	for (unsigned i = 0; i < m->n; i++) {
		free(m->rings[i].queue.v);
		free(m->rings[i].positions.v);
	}
	free(m->heads.nodes);
	free(m->watermarks.nodes);
	free(m);
	return NULL;
}

/* Makes room for one entry at the end: moves all to the front when half of it is free, otherwise grows. */
static int grow_queue(void **v, size_t *first, size_t *end, size_t *cap, size_t size)
{
	size_t n = *end - *first, bigger = *cap ? *cap * 2 : 256;
	void *fresh;

	if (*first > *cap / 2) {
		memmove(*v, (char *)*v + *first * size, n * size);
		*first = 0;
		*end = n;
		return 0;
	}
	fresh = realloc(*v, bigger * size);
	if (!fresh)
		return -ENOMEM;
	*v = fresh;
	*cap = bigger;
	return 0;
}

#define make_room(of) \
	((of)->end < (of)->cap \
		 ? 0 \
		 : grow_queue((void **)&(of)->v, &(of)->first, &(of)->end, &(of)->cap, sizeof(*(of)->v)))

/* A time is never NONE, which is later than any watermark. */
static void set_head(struct merge *m, unsigned ring, const struct queue *q)
{
	uint64_t time_ns = q->first == q->end ? NONE : q->v[q->first].item.time_ns;

	tree_set(&m->heads, ring, q->first < q->end && time_ns == NONE ? NONE - 1 : time_ns);
}

int merge_add(struct merge *m, unsigned ring, const struct merge_item *item)
{
	struct queue *q = &m->rings[ring].queue;
	struct positions *p = &m->rings[ring].positions;
	size_t at;

	if (make_room(q) || make_room(p))
		return -ENOMEM;
	for (at = q->end; at > q->first && q->v[at - 1].item.time_ns > item->time_ns; at--)
		q->v[at] = q->v[at - 1];
	q->v[at].item = *item;
	q->v[at].number = p->passed + (p->end - p->first);
	q->end++;
	p->v[p->end++] = item->position;
	if (at == q->first)
		set_head(m, ring, q);
	return 0;
}

void merge_set_watermark(struct merge *m, unsigned ring, uint64_t time_ns)
{
	if (m->watermarks.nodes[m->watermarks.nleaves + ring].key < time_ns)
		tree_set(&m->watermarks, ring, time_ns);
}

/* Skips items that were returned or have no position. */
static void skip_returned(struct positions *p)
{
	while (p->first < p->end && p->v[p->first] == NONE) {
		p->first++;
		p->passed++;
	}
}

const struct merge_item *merge_next(struct merge *m, unsigned *ret_ring)
{
	struct node head = m->heads.nodes[1];
	struct ring *ring = &m->rings[head.ring];
	struct positions *p = &ring->positions;
	const struct entry *entry;

	if (head.key >= m->watermarks.nodes[1].key)
		return NULL;
	entry = &ring->queue.v[ring->queue.first++];
	set_head(m, head.ring, &ring->queue);
	if (entry->number >= p->passed) /* one without a position may have been skipped long before */
		p->v[p->first + (size_t)(entry->number - p->passed)] = NONE;
	skip_returned(p);
	*ret_ring = head.ring;
	return &entry->item;
}

uint64_t merge_oldest(struct merge *m, unsigned ring, uint64_t otherwise)
{
	struct positions *p = &m->rings[ring].positions;

	skip_returned(p);
	return p->first < p->end && p->v[p->first] < otherwise ? p->v[p->first] : otherwise;
}

size_t merge_count(const struct merge *m, unsigned ring)
{
	return m->rings[ring].queue.end - m->rings[ring].queue.first;
}

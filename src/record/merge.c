/* SPDX-License-Identifier: MIT */
/* One sorted queue for each ring; the next item is the least of their heads. */
#include "record/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct queue {
	struct merge_item *v;
	size_t first, end, cap; /* the items are v[first … end) */
	uint64_t seal;
};

struct merge {
	unsigned n;
	uint64_t seal; /* the least of all seals */
	struct queue rings[];
};

struct merge *merge_new(unsigned nrings)
{
	struct merge *m = calloc(1, sizeof(*m) + nrings * sizeof(m->rings[0]));

	if (m)
		m->n = nrings;
	return m;
}

struct merge *merge_free(struct merge *m)
{
	for (unsigned i = 0; m && i < m->n; i++)
		free(m->rings[i].v);
	free(m);
	return NULL;
}

/* Room for one more at the end: by moving to the front when half is free there, else by growing. */
static int make_room(struct queue *q)
{
	size_t held = q->end - q->first, cap = q->cap ? q->cap * 2 : 256;
	struct merge_item *v;

	if (q->end < q->cap)
		return 0;
	if (q->first > q->cap / 2) {
		memmove(q->v, q->v + q->first, held * sizeof(*q->v));
		q->first = 0;
		q->end = held;
		return 0;
	}
	v = realloc(q->v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	q->v = v;
	q->cap = cap;
	return 0;
}

int merge_add(struct merge *m, unsigned ring, const struct merge_item *item)
{
	struct queue *q = &m->rings[ring];
	size_t at;

	if (make_room(q))
		return -ENOMEM;
	for (at = q->end; at > q->first && q->v[at - 1].time_ns > item->time_ns; at--)
		q->v[at] = q->v[at - 1];
	q->v[at] = *item;
	q->end++;
	return 0;
}

void merge_seal(struct merge *m, unsigned ring, uint64_t time_ns)
{
	uint64_t least = UINT64_MAX;

	if (m->rings[ring].seal < time_ns)
		m->rings[ring].seal = time_ns;
	for (unsigned i = 0; i < m->n; i++)
		if (m->rings[i].seal < least)
			least = m->rings[i].seal;
	m->seal = least;
}

const struct merge_item *merge_next(struct merge *m, unsigned *ret_ring)
{
	struct queue *least = NULL;

	for (unsigned i = 0; i < m->n; i++) {
		struct queue *q = &m->rings[i];

		if (q->first == q->end)
			continue;
		if (!least || q->v[q->first].time_ns < least->v[least->first].time_ns)
			least = q;
	}
	if (!least || (least->v[least->first].time_ns >= m->seal && m->seal != UINT64_MAX))
		return NULL;
	*ret_ring = (unsigned)(least - m->rings);
	return &least->v[least->first++];
}

uint64_t merge_oldest(const struct merge *m, unsigned ring, uint64_t otherwise)
{
	const struct queue *q = &m->rings[ring];

	for (size_t i = q->first; i < q->end; i++)
		if (q->v[i].position < otherwise)
			otherwise = q->v[i].position;
	return otherwise;
}

size_t merge_held(const struct merge *m, unsigned ring) { return m->rings[ring].end - m->rings[ring].first; }

/* SPDX-License-Identifier: MIT */
/* What the spans of one row cover, so that nested and overlapping ones are not counted twice. */
#include <string.h>

#include "base/sum.h"
#include "model/gcstat_priv.h"

static void add_times(struct cover_times *to, const struct cover_times *t)
{
	for (size_t i = 0; i < COVER_TIMES; i++)
		to->ns[i] += t->ns[i];
}

static void drop_older_half(struct cover *c)
{
	size_t half = c->piece.n / 2;

	c->floor_ns = c->piece.v[half - 1].end_ns;
	memmove(c->piece.v, c->piece.v + half, (c->piece.n - half) * sizeof(*c->piece.v));
	c->piece.n -= half;
}

/* Removes the pieces inside the new one, which has at least their times. */
static void absorb_inner(struct cover *c, struct cover_piece *p)
{
	struct cover_times inside = { 0 };

	while (c->piece.n && c->piece.v[c->piece.n - 1].begin_ns >= p->begin_ns) {
		const struct cover_piece *inner = &c->piece.v[--c->piece.n];

		c->total_ns -= inner->end_ns - inner->begin_ns;
		add_times(&inside, &inner->times);
		p->end_ns = most_u64(inner->end_ns, p->end_ns);
	}
	for (size_t i = 0; i < COVER_TIMES; i++) {
		c->times.ns[i] -= inside.ns[i];
		p->times.ns[i] = most_u64(p->times.ns[i], inside.ns[i]);
	}
}

int cover_add(struct cover *c, uint64_t begin_ns, uint64_t end_ns, const struct cover_times *times)
{
	struct cover_piece p = { most_u64(begin_ns, c->floor_ns), end_ns, *times };

	if (vec_reserve(&c->piece, c->piece.n + 1))
		return -ENOMEM;
	if (p.begin_ns < end_ns)
		absorb_inner(c, &p);
	if (c->piece.n && c->piece.v[c->piece.n - 1].end_ns > p.begin_ns)
		p.begin_ns = c->piece.v[c->piece.n - 1].end_ns;
	if (p.begin_ns >= p.end_ns) /* all of it is counted */
		return 0;
	c->piece.v[c->piece.n++] = p;
	c->total_ns += p.end_ns - p.begin_ns;
	add_times(&c->times, &p.times);
	if (c->piece.n >= COVER_MAX)
		drop_older_half(c);
	return 0;
}

void cover_done(struct cover *c) { vec_done(&c->piece); }

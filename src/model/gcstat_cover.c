/* SPDX-License-Identifier: MIT */
/* What spans of one row cover, so that those in one another or beside one another are not counted twice. */
#include <string.h>

#include "model/gcstat_priv.h"

static void more(struct cover_times *to, const struct cover_times *t)
{
	to->stopped_ns += t->stopped_ns;
	to->waited_ns += t->waited_ns;
	to->collector_ns += t->collector_ns;
	to->program_ns += t->program_ns;
	to->held_ns += t->held_ns;
}

static void at_least(struct cover_times *to, const struct cover_times *t)
{
	to->stopped_ns = t->stopped_ns > to->stopped_ns ? t->stopped_ns : to->stopped_ns;
	to->waited_ns = t->waited_ns > to->waited_ns ? t->waited_ns : to->waited_ns;
	to->collector_ns = t->collector_ns > to->collector_ns ? t->collector_ns : to->collector_ns;
	to->program_ns = t->program_ns > to->program_ns ? t->program_ns : to->program_ns;
	to->held_ns = t->held_ns > to->held_ns ? t->held_ns : to->held_ns;
}

static void less(struct cover_times *from, const struct cover_times *t)
{
	from->stopped_ns -= t->stopped_ns;
	from->waited_ns -= t->waited_ns;
	from->collector_ns -= t->collector_ns;
	from->program_ns -= t->program_ns;
	from->held_ns -= t->held_ns;
}

static void drop_older_half(struct cover *c)
{
	size_t half = c->piece.n / 2;

	c->floor_ns = c->piece.v[half - 1].end_ns;
	memmove(c->piece.v, c->piece.v + half, (c->piece.n - half) * sizeof(*c->piece.v));
	c->piece.n -= half;
}

/* What lies in the new piece leaves the list. The new one has its times as well, unless it tells nothing of them. */
static void swallow(struct cover *c, struct cover_piece *p)
{
	struct cover_times inside = { 0 };

	while (c->piece.n && c->piece.v[c->piece.n - 1].begin_ns >= p->begin_ns) {
		const struct cover_piece *inner = &c->piece.v[--c->piece.n];

		c->total_ns -= inner->end_ns - inner->begin_ns;
		less(&c->times, &inner->times);
		more(&inside, &inner->times);
		p->end_ns = inner->end_ns > p->end_ns ? inner->end_ns : p->end_ns;
	}
	at_least(&p->times, &inside);
}

int cover_add(struct cover *c, uint64_t begin_ns, uint64_t end_ns, const struct cover_times *times)
{
	struct cover_piece p = { begin_ns > c->floor_ns ? begin_ns : c->floor_ns, end_ns, *times };

	if (vec_reserve(&c->piece, c->piece.n + 1))
		return -ENOMEM;
	if (p.begin_ns < end_ns)
		swallow(c, &p);
	if (c->piece.n && c->piece.v[c->piece.n - 1].end_ns > p.begin_ns)
		p.begin_ns = c->piece.v[c->piece.n - 1].end_ns;
	if (p.begin_ns >= p.end_ns) /* all of it is counted */
		return 0;
	c->piece.v[c->piece.n++] = p;
	c->total_ns += p.end_ns - p.begin_ns;
	more(&c->times, &p.times);
	if (c->piece.n >= COVER_MAX)
		drop_older_half(c);
	return 0;
}

void cover_done(struct cover *c) { vec_done(&c->piece); }

/* SPDX-License-Identifier: MIT */
/*
 * Boxes from the leaves on: stacks are parted by their innermost frame, each part by the next, and so on, as long as a
 * part is wide enough. So a profile of any size needs memory for its weights alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "out/flame.h"

struct entry {
	uint32_t at; /* the node that comes next; 0: the stack is at its end */
	uint32_t group; /* the node of the thread; 0: none */
	uint32_t label; /* of what comes next */
	uint64_t total, other;
};

struct part {
	size_t from, to;
	uint32_t box;
};

struct turn {
	struct flame *f;
	uint64_t least;
	VEC(struct entry) entries;
	VEC(struct part) parts; /* that are still to be parted */
};

static uint32_t outermost(const struct profile *p, uint32_t node)
{
	while (node && p->nodes.v[node].parent)
		node = p->nodes.v[node].parent;
	return node;
}

static int collect(struct turn *t)
{
	const struct flame_source *s = &t->f->source;

	for (size_t i = 0; i < s->p->weights.n; i++) {
		const struct profile_weight *w = &s->p->weights.v[i];
		struct flame_weight v = flame_weigh(s, w);
		struct entry e = { .at = w->node, .total = v.total, .other = v.other };

		if (s->groups)
			e.group = outermost(s->p, w->node);
		if ((v.total || v.other) && vec_push(&t->entries, e))
			return -ENOMEM;
	}
	return 0;
}

static int by_label(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->label < y->label ? -1 : x->label > y->label;
}

/* Looks what comes next in each stack. True when it is the same in all. */
static bool look(const struct turn *t, struct part part, bool first)
{
	const struct profile *p = t->f->source.p;
	struct entry *e = t->entries.v;

	for (size_t i = part.from; i < part.to; i++) {
		uint32_t node = first && e[i].group ? e[i].group : e[i].at == e[i].group ? 0 : e[i].at;

		e[i].label = node ? p->nodes.v[node].frame : UINT32_MAX;
	}
	for (size_t i = part.from + 1; i < part.to; i++)
		if (e[i].label != e[part.from].label)
			return false;
	return true;
}

static void step(const struct turn *t, struct part part, bool first)
{
	for (size_t i = part.from; i < part.to; i++) {
		struct entry *e = &t->entries.v[i];

		if (!first || !e->group)
			e->at = t->f->source.p->nodes.v[e->at].parent;
	}
}

/* Those with the same next frame are a box, if they are wide enough. */
static int take_run(struct turn *t, struct part run, bool first)
{
	struct flame *f = t->f;
	struct flame_box b = { .parent = run.box, .label = t->entries.v[run.from].label };

	for (size_t i = run.from; i < run.to; i++) {
		add_u64(&b.total, t->entries.v[i].total);
		add_u64(&b.other, t->entries.v[i].other);
	}
	if (b.label == UINT32_MAX) {
		f->boxes.v[run.box].self = b.total;
		return 0;
	}
	if (!b.total && f->source.diff)
		add_u64(&f->gone, b.other);
	if (b.total < t->least) {
		f->narrow += b.total > 0;
		return 0;
	}
	b.depth = f->boxes.v[run.box].depth + 1;
	if (vec_push(&f->boxes, b))
		return -ENOMEM;
	step(t, run, first);
	return vec_push(&t->parts, ((struct part){ run.from, run.to, (uint32_t)f->boxes.n - 1 }));
}

static int divide(struct turn *t, struct part part, bool first)
{
	const struct entry *e = t->entries.v;
	int r = 0;

	if (!look(t, part, first))
		qsort(t->entries.v + part.from, part.to - part.from, sizeof(*e), by_label);
	for (size_t from = part.from, to; from < part.to && !r; from = to) {
		for (to = from + 1; to < part.to && e[to].label == e[from].label; to++)
			;
		r = take_run(t, (struct part){ from, to, part.box }, first);
	}
	return r;
}

int flame_reverse(struct flame *f, uint64_t least)
{
	struct turn t = { .f = f, .least = least ? least : 1 };
	struct flame_box root = { .label = UINT32_MAX, .total = f->source.total, .other = f->source.other };
	int r = collect(&t);

	if (!r)
		r = vec_push(&f->boxes, root);
	if (!r)
		r = divide(&t, (struct part){ 0, t.entries.n, 0 }, true);
	while (!r && t.parts.n)
		r = divide(&t, t.parts.v[--t.parts.n], false);
	vec_done(&t.entries);
	vec_done(&t.parts);
	return r;
}

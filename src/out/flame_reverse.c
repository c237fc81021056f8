/* SPDX-License-Identifier: MIT */
/*
 * Makes boxes from the leaves to the root: splits the stacks by their innermost frame, each part by the next frame, and so on while a
 * part is wide enough. A profile of any size needs memory only for its weights.
 */
#include <errno.h>
#include <stdlib.h>

#include "out/flame.h"

struct entry {
	uint32_t at; /* the next node; 0: the end of the stack */
	uint32_t group; /* the node of the thread; 0: none */
	uint32_t label; /* of the next frame */
	uint64_t total, other;
};

struct part {
	size_t from, to;
	uint32_t box;
};

struct reverse {
	struct flame *f;
	uint64_t least;
	VEC(struct entry) entries;
	VEC(struct part) parts; /* still to be split */
};

static uint32_t outermost(const struct profile *p, uint32_t node)
{
	while (node && p->nodes.v[node].parent)
		node = p->nodes.v[node].parent;
	return node;
}

static int collect_entries(struct reverse *v)
{
	const struct flame_source *s = &v->f->source;

	for (size_t i = 0; i < s->p->weights.n; i++) {
		const struct profile_weight *w = &s->p->weights.v[i];
		struct flame_weight sum = flame_weigh(s, w);
		struct entry e = { .at = w->node, .total = sum.total, .other = sum.other };

		if (s->groups)
			e.group = outermost(s->p, w->node);
		if ((sum.total || sum.other) && vec_push(&v->entries, e))
			return -ENOMEM;
	}
	return 0;
}

static int compare_labels(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->label < y->label ? -1 : x->label > y->label;
}

/* Finds the next frame of each stack. True when it is the same in all. */
static bool find_labels(const struct reverse *v, struct part part, bool first)
{
	const struct profile *p = v->f->source.p;
	struct entry *e = v->entries.v;

	for (size_t i = part.from; i < part.to; i++) {
		uint32_t node = first && e[i].group ? e[i].group : e[i].at == e[i].group ? 0 : e[i].at;

		e[i].label = node ? p->nodes.v[node].frame : UINT32_MAX;
	}
	for (size_t i = part.from + 1; i < part.to; i++)
		if (e[i].label != e[part.from].label)
			return false;
	return true;
}

/* Entries with the same next frame become a box if they are wide enough. */
static int add_run(struct reverse *v, struct part run, bool first)
{
	struct flame *f = v->f;
	struct flame_box b = { .parent = run.box, .label = v->entries.v[run.from].label };

	for (size_t i = run.from; i < run.to; i++) {
		add_u64(&b.total, v->entries.v[i].total);
		add_u64(&b.other, v->entries.v[i].other);
	}
	if (b.label == UINT32_MAX) {
		f->boxes.v[run.box].self = b.total;
		return 0;
	}
	if (!b.total && f->source.diff)
		add_u64(&f->gone, b.other);
	if (b.total < v->least) {
		f->narrow += b.total > 0;
		return 0;
	}
	b.depth = f->boxes.v[run.box].depth + 1;
	if (vec_push(&f->boxes, b))
		return -ENOMEM;
	for (size_t i = run.from; i < run.to; i++) {
		struct entry *e = &v->entries.v[i];

		if (!first || !e->group)
			e->at = f->source.p->nodes.v[e->at].parent;
	}
	return vec_push(&v->parts, ((struct part){ run.from, run.to, (uint32_t)f->boxes.n - 1 }));
}

static int split_part(struct reverse *v, struct part part, bool first)
{
	const struct entry *e = v->entries.v;
	int r = 0;

	if (!find_labels(v, part, first))
		qsort(v->entries.v + part.from, part.to - part.from, sizeof(*e), compare_labels);
	for (size_t from = part.from, to; from < part.to && !r; from = to) {
		for (to = from + 1; to < part.to && e[to].label == e[from].label; to++)
			;
		r = add_run(v, (struct part){ from, to, part.box }, first);
	}
	return r;
}

int flame_reverse(struct flame *f, uint64_t least)
{
	struct reverse v = { .f = f, .least = least ? least : 1 };
	struct flame_box root = { .label = UINT32_MAX, .total = f->source.total, .other = f->source.other };
	int r = collect_entries(&v);

	if (!r)
		r = vec_push(&f->boxes, root);
	if (!r)
		r = split_part(&v, (struct part){ 0, v.entries.n, 0 }, true);
	while (!r && v.parts.n)
		r = split_part(&v, v.parts.v[--v.parts.n], false);
	vec_done(&v.entries);
	vec_done(&v.parts);
	return r;
}

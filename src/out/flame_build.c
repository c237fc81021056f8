/* SPDX-License-Identifier: MIT */
/* Lays out the boxes of a flame graph: the children of each box are sorted by name, from left to right. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "out/flame.h"

/* A profile with at most this many nodes keeps its narrow boxes, so that a user can search for them and zoom in. */
#define SMALL 4000

struct order_step {
	uint64_t start;
	uint32_t box, parent; /* parent: its new number */
};

struct order {
	struct flame *f;
	VEC(uint32_t) sorted; /* boxes, by parent and name */
	uint32_t *first, *n; /* in `sorted`, of each box */
	VEC(struct flame_box) laid;
	VEC(struct order_step) todo;
};

static int compare_boxes(const void *a, const void *b, void *ctx)
{
	const struct flame *f = ctx;
	const struct flame_box *x = &f->boxes.v[*(const uint32_t *)a], *y = &f->boxes.v[*(const uint32_t *)b];
	const struct profile_frame *frames = f->source.p->frames.v;
	int c;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	c = strcmp(frames[x->label].name, frames[y->label].name);
	if (c)
		return c;
	c = strcmp(frames[x->label].module, frames[y->label].module);
	return c ? c : frames[x->label].kind - frames[y->label].kind;
}

static int sort_boxes(struct order *o, uint64_t least)
{
	struct flame *f = o->f;

	o->first = calloc(f->boxes.n, sizeof(*o->first));
	o->n = calloc(f->boxes.n, sizeof(*o->n));
	if (!o->first || !o->n)
		return -ENOMEM;
	for (uint32_t i = 1; i < f->boxes.n; i++) {
		if (f->boxes.v[i].total >= least && f->boxes.v[i].total) {
			if (vec_push(&o->sorted, i))
				return -ENOMEM;
		} else {
			f->narrow++;
		}
	}
	if (o->sorted.n)
		qsort_r(o->sorted.v, o->sorted.n, sizeof(*o->sorted.v), compare_boxes, f);
	for (size_t i = o->sorted.n; i-- > 0;) {
		uint32_t parent = f->boxes.v[o->sorted.v[i]].parent;

		o->first[parent] = (uint32_t)i;
		o->n[parent]++;
	}
	return 0;
}

/* Places a box and pushes its children, the leftmost last, so that it is popped next. */
static int place_box(struct order *o, struct order_step s)
{
	struct flame_box b = o->f->boxes.v[s.box];
	uint64_t start = s.start;
	uint32_t number = (uint32_t)o->laid.n;

	b.parent = s.parent;
	b.start = s.start;
	if (vec_push(&o->laid, b) || vec_reserve(&o->todo, o->todo.n + o->n[s.box]))
		return -ENOMEM;
	if (b.depth > o->f->depth)
		o->f->depth = b.depth;
	for (uint32_t i = 0; i < o->n[s.box]; i++) {
		uint32_t child = o->sorted.v[o->first[s.box] + i];

		o->todo.v[o->todo.n + o->n[s.box] - 1 - i] = (struct order_step){ start, child, number };
		add_u64(&start, o->f->boxes.v[child].total);
	}
	o->todo.n += o->n[s.box];
	return 0;
}

static int lay_out(struct flame *f, uint64_t least)
{
	struct order o = { .f = f };
	int r = sort_boxes(&o, least);

	if (!r)
		r = vec_push(&o.todo, ((struct order_step){ 0 }));
	while (!r && o.todo.n)
		r = place_box(&o, o.todo.v[--o.todo.n]);
	vec_done(&o.sorted);
	vec_done(&o.todo);
	free(o.first);
	free(o.n);
	vec_done(&f->boxes);
	f->boxes.v = o.laid.v;
	f->boxes.n = o.laid.n;
	f->boxes.cap = o.laid.cap;
	return r;
}

int flame_build(struct flame *f, const struct profile *p, const struct out_options *o)
{
	double pixels = o->min_pixels > 0 ? o->min_pixels : 0.1;
	unsigned width = o->width ? o->width : 1200;
	int r = flame_source_make(&f->source, p, o);
	uint64_t least;

	if (r)
		return r;
	f->drawn_from = (uint64_t)((double)f->source.total * pixels / width);
	f->drawn_from += f->drawn_from < (double)f->source.total * pixels / width;
	least = o->min_pixels > 0 || f->source.p->nodes.n > SMALL ? f->drawn_from : 1;
	r = o->reverse ? flame_reverse(f, least) : flame_forward(f, least);
	return r ? r : lay_out(f, least);
}

void flame_done(struct flame *f)
{
	profile_free(f->source.own);
	vec_done(&f->boxes);
}

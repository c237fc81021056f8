/* SPDX-License-Identifier: MIT */
/*
 * What a flame graph is made of: the profile itself where that will do, otherwise a tree of its own, in which frames
 * that differ in their line are one, with threads and processes as frames, or with two profiles in it.
 */
#include <errno.h>
#include <stdlib.h>

#include "out/flame.h"
#include "out/out_priv.h"

#define NONE UINT32_MAX
#define OFF_CPU (1u << PROFILE_RUNNABLE | 1u << PROFILE_BLOCKED)

/* In a tree of its own the thread of a weight says what it is. */
enum { MAIN = 0, OTHER = 1 };

struct merge {
	struct flame_source *s;
	const struct profile *from;
	const struct out_options *o;
	bool base;
	uint32_t *label_of_frame;
	uint32_t *merged, *group_of; /* what a node became, and in which group + 1 */
	VEC(uint32_t) path;
};

struct flame_weight flame_weigh(const struct flame_source *s, const struct profile_weight *w)
{
	uint64_t v;

	if (s->own && s->diff)
		return (struct flame_weight){ w->thread == MAIN ? w->count : 0, w->thread == OTHER ? w->count : 0 };
	if (s->own)
		return (struct flame_weight){ w->count, w->thread == OTHER ? w->count : 0 };
	v = !(s->states >> w->state & 1) ? 0 : s->times ? w->value_ns : w->count;
	return (struct flame_weight){ v, OFF_CPU >> w->state & 1 ? v : 0 };
}

static uint32_t label(struct profile *to, const struct profile_frame *f)
{
	struct frame same = { .name = f->name, .module = f->module, .kind = f->kind, .unnamed = f->unnamed };

	return profile_frame(to, &same);
}

static uint32_t group_below(struct profile *to, uint32_t node, struct buf *name)
{
	struct frame f = { .name = name->data ? name->data : "", .kind = FRAME_REASON };
	uint32_t frame = name->failed || node == NONE ? NONE : profile_frame(to, &f);

	buf_done(name);
	return frame == NONE ? NONE : profile_node(to, node, frame);
}

/* The process, the thread: one frame of both when stacks are turned round, for then one alone can stay where it is. */
static uint32_t group_root(const struct merge *m, const struct profile_thread *t)
{
	const struct out_options *o = m->o;
	struct buf name = { 0 };
	uint32_t node = 0;

	if (o->by_process) {
		out_add_process(&name, t);
		if (!o->per_thread)
			return group_below(m->s->own, node, &name);
		if (o->reverse)
			buf_adds(&name, " / ");
		else
			node = group_below(m->s->own, node, &name);
	}
	out_add_thread(&name, t);
	return group_below(m->s->own, node, &name);
}

static uint32_t merged_node(struct merge *m, uint32_t node, uint32_t group, uint32_t root)
{
	uint32_t ret;

	m->path.n = 0;
	for (; node && m->group_of[node] != group + 1; node = m->from->nodes.v[node].parent)
		if (vec_push(&m->path, node))
			return NONE;
	ret = node ? m->merged[node] : root;
	while (m->path.n && ret != NONE) {
		node = m->path.v[--m->path.n];
		ret = profile_node(m->s->own, ret, m->label_of_frame[m->from->nodes.v[node].frame]);
		m->merged[node] = ret;
		m->group_of[node] = group + 1;
	}
	return ret;
}

static int merge_weights(struct merge *m)
{
	uint32_t thread = NONE, root = 0, group = 0;
	size_t n;
	uint32_t *order = out_order(m->from, m->o, &n);
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		const struct profile_weight *w = &m->from->weights.v[order[i]];
		uint64_t v = m->s->times ? w->value_ns : w->count;
		uint32_t node;

		if (m->s->groups && w->thread != thread) {
			group = thread = w->thread;
			root = group_root(m, &m->from->threads.v[thread]);
		}
		node = root == NONE ? NONE : merged_node(m, w->node, group, root);
		if (node == NONE)
			r = -ENOMEM;
		else
			r = profile_add(m->s->own, node,
					m->base || (!m->s->diff && OFF_CPU >> w->state & 1) ? OTHER : MAIN, PROFILE_CPU,
					v, 0);
	}
	free(order);
	return r;
}

static int merge(struct flame_source *s, const struct profile *from, const struct out_options *o, bool base)
{
	struct merge m = { .s = s, .from = from, .o = o, .base = base };
	int r = -ENOMEM;

	m.label_of_frame = calloc(from->frames.n + 1, sizeof(*m.label_of_frame));
	m.merged = calloc(from->nodes.n, sizeof(*m.merged));
	m.group_of = calloc(from->nodes.n, sizeof(*m.group_of));
	if (m.label_of_frame && m.merged && m.group_of)
		r = 0;
	for (size_t i = 0; i < from->frames.n && !r; i++) {
		m.label_of_frame[i] = label(s->own, &from->frames.v[i]);
		if (m.label_of_frame[i] == NONE)
			r = -ENOMEM;
	}
	if (!r)
		r = merge_weights(&m);
	free(m.label_of_frame);
	free(m.merged);
	free(m.group_of);
	vec_done(&m.path);
	return r;
}

/* Are frames what a person calls one function already? */
static bool has_lines(const struct profile *p)
{
	for (size_t i = 0; i < p->frames.n; i++)
		if (p->frames.v[i].file || p->frames.v[i].line)
			return true;
	return false;
}

static void sum_up(struct flame_source *s)
{
	for (size_t i = 0; i < s->p->weights.n; i++) {
		struct flame_weight w = flame_weigh(s, &s->p->weights.v[i]);

		add_u64(&s->total, w.total);
		add_u64(&s->other, w.other);
	}
}

int flame_source_make(struct flame_source *s, const struct profile *p, const struct out_options *o)
{
	int r = 0;

	*s = (struct flame_source){ .p = p, .states = out_states(p, o), .diff = o->base };
	s->times = out_has_times(p, o) && (!o->base || out_has_times(o->base, o));
	s->waits = !s->diff && s->states & OFF_CPU && s->states & ~OFF_CPU;
	s->groups = o->per_thread || o->by_process ? 1 + (o->per_thread && o->by_process && !o->reverse) : 0;
	if (s->diff || s->groups || has_lines(p)) {
		s->own = profile_new();
		r = s->own ? merge(s, p, o, false) : -ENOMEM;
		if (!r && s->diff)
			r = merge(s, o->base, o, true);
		s->p = s->own;
	}
	if (!r)
		sum_up(s);
	return r;
}

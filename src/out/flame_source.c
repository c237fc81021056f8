/* SPDX-License-Identifier: MIT */
/*
 * The source of a flame graph: the profile itself where possible, otherwise a merged profile, in which frames that differ only in
 * their line are one, threads and processes are frames, or two profiles are compared.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "out/flame.h"
#include "out/out_priv.h"

#define NONE UINT32_MAX
#define OFF_CPU (1u << PROFILE_RUNNABLE | 1u << PROFILE_BLOCKED)

/* In a merged profile the thread of a weight is one of these. OTHER: waits, or the base. */
enum { MAIN = 0, OTHER = 1 };

struct merge {
	struct flame_source *s;
	const struct out_options *o;
	bool base;
	uint32_t *label_of_frame;
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

static uint32_t group_below(struct profile *to, uint32_t node, struct buf *name)
{
	struct frame f = { .name = name->data ? name->data : "", .kind = FRAME_REASON };
	uint32_t frame = name->failed || node == NONE ? NONE : profile_frame(to, &f);

	buf_done(name);
	return frame == NONE ? NONE : profile_node(to, node, frame);
}

/* The frames of the process and the thread. One frame for both in reversed stacks, where only one can stay outermost. */
static uint32_t merge_group_root(void *ctx, const struct profile_thread *t)
{
	const struct merge *m = ctx;
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

static uint32_t merge_child(void *ctx, uint32_t parent, uint32_t frame)
{
	const struct merge *m = ctx;

	return profile_node(m->s->own, parent, m->label_of_frame[frame]);
}

static int merge_add(void *ctx, uint32_t node, const struct profile_weight *w)
{
	const struct merge *m = ctx;
	bool other = m->base || (!m->s->diff && OFF_CPU >> w->state & 1);

	return profile_add(m->s->own, node, other ? OTHER : MAIN, PROFILE_CPU, m->s->times ? w->value_ns : w->count, 0);
}

static int merge_profile(struct flame_source *s, const struct profile *from, const struct out_options *o, bool base)
{
	static const struct out_tree tree = { merge_group_root, merge_child, merge_add };
	AUTO_FREE uint32_t *label_of_frame = calloc(from->frames.n + 1, sizeof(*label_of_frame));
	struct merge m = { .s = s, .o = o, .base = base, .label_of_frame = label_of_frame };

	if (!label_of_frame)
		return -ENOMEM;
	for (size_t i = 0; i < from->frames.n; i++) {
		const struct profile_frame *f = &from->frames.v[i];
		struct frame label = { .name = f->name, .module = f->module, .kind = f->kind, .unnamed = f->unnamed };

		label_of_frame[i] = profile_frame(s->own, &label);
		if (label_of_frame[i] == NONE)
			return -ENOMEM;
	}
	return out_map(from, o, &tree, &m);
}

/* Do frames differ in their lines? */
static bool has_lines(const struct profile *p)
{
	for (size_t i = 0; i < p->frames.n; i++)
		if (p->frames.v[i].file || p->frames.v[i].line)
			return true;
	return false;
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
		r = s->own ? merge_profile(s, p, o, false) : -ENOMEM;
		if (!r && s->diff)
			r = merge_profile(s, o->base, o, true);
		if (r)
			return r;
		s->p = s->own;
	}
	for (size_t i = 0; i < s->p->weights.n && !r; i++) {
		struct flame_weight w = flame_weigh(s, &s->p->weights.v[i]);

		add_u64(&s->total, w.total);
		add_u64(&s->other, w.other);
	}
	return r;
}

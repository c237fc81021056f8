/* SPDX-License-Identifier: MIT */
/*
 * Stacks become a tree. Reading them costs about as much as this does, so that with a thread for each half a million
 * stacks take half the time; few are done at once, where they are given.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "model/profile_priv.h"

#define MANY_NODES (6u << 20) /* from which on it is worth to prune */
#define WAITING 16 /* batches that may wait, so that reading goes on while the tree is pruned */

struct profile_grower {
	struct profile *p;
	uint32_t thread;
	size_t many; /* nodes at which the tree is pruned; 0: not at all */
	VEC(uint32_t) path; /* of the stack before */
	struct {
		uint32_t node;
		uint64_t count;
	} last; /* that is not yet added; node 0: none */

	pthread_t worker;
	bool working;
	unsigned given; /* batches so far */
	/* Under the lock: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct profile_batch batches[WAITING]; /* a ring; what is full is the worker's */
	unsigned first, full;
	bool end;
	int code;
};

struct profile_grower *profile_grower_new(struct profile *p, uint32_t thread)
{
	struct profile_grower *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->p = p;
	g->thread = thread;
	g->many = p->prune_share > 0 ? MANY_NODES : 0;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	return g;
}

/* Adds the stack before, and keeps this one until what is looked at for it has come near. */
static int add_last(struct profile_grower *g, uint32_t node, uint64_t count)
{
	int r = g->last.node ? profile_add(g->p, g->last.node, g->thread, PROFILE_CPU, g->last.count, 0) : 0;

	if (node)
		profile_add_soon(g->p, node, g->thread, PROFILE_CPU);
	g->last.node = node;
	g->last.count = count;
	return r;
}

static int prune(struct profile_grower *g)
{
	int r = add_last(g, 0, 0);

	if (!r)
		r = profile_prune(g->p, g->path.v, g->path.n);
	g->many = g->p->nodes.n + MANY_NODES;
	return r;
}

static int take_stack(struct profile_grower *g, const struct profile_stack *s, const uint32_t *frames)
{
	struct profile_totals *t = &g->p->totals;

	if (vec_reserve(&g->path, (size_t)s->shared + s->n) ||
	    profile_nodes(g->p, s->shared ? g->path.v[s->shared - 1] : 0, frames, s->n, g->path.v + s->shared))
		return -ENOMEM;
	g->path.n = (size_t)s->shared + s->n;
	if (add_last(g, g->path.v[g->path.n - 1], s->count))
		return -ENOMEM;
	if (__builtin_add_overflow(t->samples, s->count, &t->samples)) {
		t->samples = UINT64_MAX;
		t->saturated = true;
	}
	return g->many && g->p->nodes.n >= g->many ? prune(g) : 0;
}

/* What the next stack begins to differ with, where it leaves the path that is there already. */
static void look_ahead(const struct profile_grower *g, const struct profile_stack *s, const uint32_t *frames)
{
	const struct profile_stack *next = s + 1;

	if (next->n && next->shared <= s->shared)
		profile_node_soon(g->p, next->shared ? g->path.v[next->shared - 1] : 0, frames[s->n]);
}

static int take_batch(struct profile_grower *g, struct profile_batch *b)
{
	const uint32_t *frames = b->frames.v;
	int r = 0;

	for (size_t i = 0; i < b->stacks.n && !r; i++) {
		if (i + 1 < b->stacks.n)
			look_ahead(g, &b->stacks.v[i], frames);
		r = take_stack(g, &b->stacks.v[i], frames);
		frames += b->stacks.v[i].n;
	}
	b->stacks.n = b->frames.n = 0;
	return r;
}

static void *work(void *arg)
{
	struct profile_grower *g = arg;
	int r = 0;

	pthread_mutex_lock(&g->lock);
	for (;;) {
		while (!g->full && !g->end)
			pthread_cond_wait(&g->changed, &g->lock);
		if (!g->full)
			break;
		pthread_mutex_unlock(&g->lock);
		r = r ? r : take_batch(g, &g->batches[g->first]);
		pthread_mutex_lock(&g->lock);
		g->code = r;
		g->first = (g->first + 1) % WAITING;
		g->full--;
		pthread_cond_signal(&g->changed);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

int profile_grower_give(struct profile_grower *g, struct profile_batch *b)
{
	struct profile_batch taken = *b, *to;
	int r;

	/* From the second on: what fits one batch is not worth a thread. Where there can be none, it goes without. */
	if (!g->working && g->given++)
		g->working = !pthread_create(&g->worker, NULL, work, g);
	if (!g->working)
		return take_batch(g, b);
	pthread_mutex_lock(&g->lock);
	while (g->full == WAITING)
		pthread_cond_wait(&g->changed, &g->lock);
	to = &g->batches[(g->first + g->full++) % WAITING];
	*b = *to;
	b->stacks.n = b->frames.n = 0;
	*to = taken;
	r = g->code;
	pthread_cond_signal(&g->changed);
	pthread_mutex_unlock(&g->lock);
	return r;
}

int profile_grower_end(struct profile_grower *g)
{
	int r;

	if (g->working) {
		pthread_mutex_lock(&g->lock);
		g->end = true;
		pthread_cond_signal(&g->changed);
		pthread_mutex_unlock(&g->lock);
		pthread_join(g->worker, NULL);
	}
	r = g->code ? g->code : add_last(g, 0, 0);
	vec_done(&g->path);
	for (unsigned i = 0; i < WAITING; i++) {
		vec_done(&g->batches[i].stacks);
		vec_done(&g->batches[i].frames);
	}
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->changed);
	free(g);
	return r;
}

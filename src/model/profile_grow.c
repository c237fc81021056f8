/* SPDX-License-Identifier: MIT */
/*
 * Grows the tree from stacks. Reading the stacks costs about as much, so with a thread for each, half a million stacks take
 * half the time; a few stacks are inserted by the caller's thread.
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
	VEC(uint32_t) path; /* of the previous stack */
	struct {
		uint32_t node;
		uint64_t count;
	} last; /* not added yet; node 0: none */

	pthread_t worker;
	bool working;
	unsigned submitted; /* batches so far */
	/* Under the lock: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct profile_batch batches[WAITING]; /* a ring; the full ones belong to the worker */
	unsigned first, full;
	bool end;
	int r; /* of the worker */
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

/* Adds the previous stack, and delays this one until its weight is prefetched. */
static int add_last(struct profile_grower *g, uint32_t node, uint64_t count)
{
	int r = g->last.node ? profile_add(g->p, g->last.node, g->thread, PROFILE_CPU, g->last.count, 0) : 0;

	if (node)
		profile_add_soon(g->p, node, g->thread, PROFILE_CPU);
	g->last.node = node;
	g->last.count = count;
	return r;
}

static int grow_stack(struct profile_grower *g, const struct profile_stack *s, const uint32_t *frames)
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
	if (!g->many || g->p->nodes.n < g->many)
		return 0;
	if (add_last(g, 0, 0) || profile_prune(g->p, g->path.v, g->path.n))
		return -ENOMEM;
	g->many = g->p->nodes.n + MANY_NODES;
	return 0;
}

static int grow_batch(struct profile_grower *g, struct profile_batch *b)
{
	const uint32_t *frames = b->frames.v;
	int r = 0;

	for (size_t i = 0; i < b->stacks.n && !r; i++) {
		const struct profile_stack *s = &b->stacks.v[i], *next = s + 1;

		/* Prefetches the first new node of the next stack, if it leaves the path within this stack's shared part. */
		if (i + 1 < b->stacks.n && next->n && next->shared <= s->shared)
			profile_node_soon(g->p, next->shared ? g->path.v[next->shared - 1] : 0, frames[s->n]);
		r = grow_stack(g, s, frames);
		frames += s->n;
	}
	b->stacks.n = b->frames.n = 0;
	return r;
}

static void *grow_batches(void *arg)
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
		r = r ? r : grow_batch(g, &g->batches[g->first]);
		pthread_mutex_lock(&g->lock);
		g->r = r;
		g->first = (g->first + 1) % WAITING;
		g->full--;
		pthread_cond_signal(&g->changed);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

int profile_grower_submit(struct profile_grower *g, struct profile_batch *b)
{
	struct profile_batch full = *b, *to;
	int r;

	/* From the second batch on: one batch is not worth a thread. If none can be created, this thread grows the tree. */
	if (!g->working && g->submitted++)
		g->working = !pthread_create(&g->worker, NULL, grow_batches, g);
	if (!g->working)
		return grow_batch(g, b);
	pthread_mutex_lock(&g->lock);
	while (g->full == WAITING)
		pthread_cond_wait(&g->changed, &g->lock);
	to = &g->batches[(g->first + g->full++) % WAITING];
	*b = *to;
	b->stacks.n = b->frames.n = 0;
	*to = full;
	r = g->r;
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
	r = g->r ? g->r : add_last(g, 0, 0);
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

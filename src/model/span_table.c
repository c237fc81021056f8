/* SPDX-License-Identifier: MIT */
/* Hash tables that remember a bounded number of members that nobody uses any more. */
#include <stdlib.h>
#include <string.h>

#include "model/span_priv.h"

void table_init(struct table *t, size_t max_idle, void (*drop)(void *ctx, struct node *n), void *ctx)
{
	*t = (struct table){ .n_buckets = TABLE_FIRST, .max_idle = max_idle ? max_idle : 1, .drop = drop, .ctx = ctx };
	t->bucket = t->first;
	link_init(&t->idle);
}

static void put(struct node **bucket, size_t n_buckets, struct node *n)
{
	struct node **at = &bucket[n->hash & (n_buckets - 1)];

	n->next = *at;
	*at = n;
}

/* Without memory the table stays as it is, and is slower. */
static void grow(struct table *t)
{
	size_t n_buckets = t->n_buckets * 2;
	struct node **bucket = calloc(n_buckets, sizeof(*bucket)), *next;

	if (!bucket)
		return;
	for (size_t i = 0; i < t->n_buckets; i++)
		for (struct node *n = t->bucket[i]; n; n = next) {
			next = n->next;
			put(bucket, n_buckets, n);
		}
	if (t->bucket != t->first)
		free(t->bucket);
	t->bucket = bucket;
	t->n_buckets = n_buckets;
}

static void take_out(struct table *t, struct node *n)
{
	struct node **at = &t->bucket[n->hash & (t->n_buckets - 1)];

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	t->n--;
}

static void rest(struct table *t, struct node *n)
{
	struct node *old;

	link_push(&t->idle, &n->idle);
	if (++t->n_idle <= t->max_idle)
		return;
	old = link_of(t->idle.next, struct node, idle);
	link_drop(&old->idle);
	t->n_idle--;
	take_out(t, old);
	t->drop(t->ctx, old);
}

void table_add(struct table *t, struct node *n, uint64_t hash)
{
	n->hash = hash;
	n->users = 0;
	if (t->n >= t->n_buckets)
		grow(t);
	put(t->bucket, t->n_buckets, n);
	t->n++;
	rest(t, n);
}

void table_use(struct table *t, struct node *n)
{
	if (n->users++)
		return;
	link_drop(&n->idle);
	t->n_idle--;
}

void table_unuse(struct table *t, struct node *n)
{
	if (!--n->users)
		rest(t, n);
}

void table_clear(struct table *t)
{
	struct node *next;

	for (size_t i = 0; i < t->n_buckets; i++)
		for (struct node *n = t->bucket[i]; n; n = next) {
			next = n->next;
			t->drop(t->ctx, n);
		}
	if (t->bucket != t->first)
		free(t->bucket);
	table_init(t, t->max_idle, t->drop, t->ctx);
}

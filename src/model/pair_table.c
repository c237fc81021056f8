/* SPDX-License-Identifier: MIT */
/* Tables that remember a bounded number of unused members. */
#include <stdlib.h>

#include "model/pair_priv.h"

void table_init(struct table *t, size_t max_idle, void (*drop)(void *ctx, struct node *n), void *ctx)
{
	*t = (struct table){ .max_idle = max_idle ? max_idle : 1, .drop = drop, .ctx = ctx };
	link_init(&t->idle);
}

static void drop_oldest(struct table *t)
{
	struct node *old = link_of(t->idle.next, struct node, idle);

	link_drop(&old->idle);
	t->n_idle--;
	index_remove(&t->index, old->hash, old->number);
	t->members.v[old->number] = NULL;
	t->free.v[t->free.n++] = old->number;
	t->drop(t->ctx, old);
}

static void push_idle(struct table *t, struct node *n)
{
	link_push(&t->idle, &n->idle);
	if (++t->n_idle > t->max_idle)
		drop_oldest(t);
}

int table_add(struct table *t, struct node *n, uint64_t hash)
{
	bool again = t->free.n;

	if (vec_reserve(&t->members, t->members.n + 1) || vec_reserve(&t->free, t->members.n + 1))
		return -ENOMEM;
	*n = (struct node){ .hash = hash, .number = again ? t->free.v[t->free.n - 1] : (uint32_t)t->members.n };
	if (index_add(&t->index, hash, n->number))
		return -ENOMEM;
	t->members.n += !again;
	t->free.n -= again;
	t->members.v[n->number] = n;
	push_idle(t, n);
	return 0;
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
		push_idle(t, n);
}

void table_clear(struct table *t)
{
	for (size_t i = 0; i < t->members.n; i++)
		if (t->members.v[i])
			t->drop(t->ctx, t->members.v[i]);
	vec_done(&t->members);
	vec_done(&t->free);
	index_done(&t->index);
	table_init(t, t->max_idle, t->drop, t->ctx);
}

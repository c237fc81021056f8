/* SPDX-License-Identifier: MIT */
/* What a forked process has from its parent: ends that it may tell though it never told the begins. */
#include <stdlib.h>

#include "model/span_priv.h"

struct heir {
	uint64_t hash; /* 0: free */
	size_t count;
};

struct heritage {
	size_t n, n_slots; /* a power of two, at least twice as many as are used */
	struct heir slot[];
};

static struct heir *find(struct heritage *h, uint64_t hash)
{
	size_t i = hash & (h->n_slots - 1);

	while (h->slot[i].hash && h->slot[i].hash != hash)
		i = (i + 1) & (h->n_slots - 1);
	return &h->slot[i];
}

static uint64_t slot_hash(uint64_t inner) { return inner ? inner : 1; }

static void add(struct heritage *h, uint64_t hash, size_t count)
{
	struct heir *heir = find(h, hash);

	h->n += !heir->hash;
	heir->hash = hash;
	heir->count += count;
}

static struct heritage *heritage_new(size_t want)
{
	struct heritage *h;
	size_t n_slots = 4;

	while (n_slots < 2 * want)
		n_slots *= 2;
	h = calloc(1, sizeof(*h) + n_slots * sizeof(*h->slot));
	if (h)
		h->n_slots = n_slots;
	return h;
}

/* The newest first, as the limit leaves out the rest. */
static struct heritage *collect(const struct spans *s, const struct span_proc *parent)
{
	size_t left = parent->heritage ? parent->heritage->n : 0;
	size_t want = parent->open + left < s->limits.heritage ? parent->open + left : s->limits.heritage;
	struct heritage *h = want ? heritage_new(want) : NULL;
	const struct link *l = parent->items.prev;

	if (!h)
		return NULL;
	for (size_t i = 0; i < want && l != &parent->items; i++, l = l->prev)
		add(h, slot_hash(link_of(l, struct span_item, of_proc)->key->inner), 1);
	for (size_t i = 0; left && h->n < want && i < parent->heritage->n_slots; i++)
		if (parent->heritage->slot[i].count)
			add(h, parent->heritage->slot[i].hash, parent->heritage->slot[i].count);
	return h;
}

void heritage_give(struct spans *s, const struct span_proc *parent, struct span_proc *child)
{
	child->heritage = collect(s, parent);
	if (!child->heritage)
		return;
	s->n_heritage += child->heritage->n_slots;
	link_push(&s->heirs, &child->heir);
	while (s->n_heritage > s->limits.all_heritage && s->heirs.next != &child->heir)
		heritage_free(s, link_of(s->heirs.next, struct span_proc, heir));
}

bool heritage_take(struct span_proc *proc, uint64_t inner)
{
	struct heir *heir = proc->heritage ? find(proc->heritage, slot_hash(inner)) : NULL;

	if (!heir || !heir->count)
		return false;
	heir->count--;
	return true;
}

void heritage_free(struct spans *s, struct span_proc *proc)
{
	if (!proc->heritage)
		return;
	s->n_heritage -= proc->heritage->n_slots;
	link_drop(&proc->heir);
	free(proc->heritage);
	proc->heritage = NULL;
}

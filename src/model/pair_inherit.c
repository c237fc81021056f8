/* SPDX-License-Identifier: MIT */
/* The inherited pairs of a forked process: it may emit their ends, while its parent emitted the begins. */
#include <stdlib.h>

#include "model/pair_priv.h"

struct heir {
	uint64_t hash;
	size_t count;
};

struct heritage {
	struct index index;
	VEC(struct heir) heirs;
};

static struct heir *heir_find(const struct heritage *h, uint64_t hash)
{
	uint32_t found = index_find(&h->index, hash, i, h->heirs.v[i].hash == hash);

	return found == INDEX_NONE ? NULL : &h->heirs.v[found];
}

/* Out of memory: the child inherits less. */
static void heir_add(struct heritage *h, uint64_t hash, size_t count)
{
	struct heir *heir = heir_find(h, hash);

	if (heir)
		heir->count += count;
	else if (!vec_reserve(&h->heirs, h->heirs.n + 1) && !index_add(&h->index, hash, (uint32_t)h->heirs.n))
		h->heirs.v[h->heirs.n++] = (struct heir){ hash, count };
}

/* The newest first, up to the limit. */
static void heritage_fill(struct heritage *h, const struct pair_proc *parent, size_t limit)
{
	const struct heritage *old = parent->heritage;
	const struct link *l = parent->pairs.prev;

	for (size_t i = 0; i < limit && l != &parent->pairs; i++, l = l->prev)
		heir_add(h, link_of(l, struct pair, of_proc)->key->inner, 1);
	for (size_t i = 0; old && h->heirs.n < limit && i < old->heirs.n; i++)
		if (old->heirs.v[i].count)
			heir_add(h, old->heirs.v[i].hash, old->heirs.v[i].count);
}

void heritage_create(struct pairs *p, const struct pair_proc *parent, struct pair_proc *child)
{
	if (!parent->open && !parent->heritage)
		return;
	child->heritage = calloc(1, sizeof(*child->heritage));
	if (!child->heritage)
		return;
	heritage_fill(child->heritage, parent, p->options.limits.heritage);
	p->n_heritage += child->heritage->heirs.n;
	link_push(&p->heirs, &child->heir);
	while (p->n_heritage > p->options.limits.all_heritage && p->heirs.next != &child->heir)
		heritage_free(p, link_of(p->heirs.next, struct pair_proc, heir));
}

bool heritage_consume(struct pair_proc *proc, uint64_t inner)
{
	struct heir *heir = proc->heritage ? heir_find(proc->heritage, inner) : NULL;

	if (!heir || !heir->count)
		return false;
	heir->count--;
	return true;
}

void heritage_free(struct pairs *p, struct pair_proc *proc)
{
	if (!proc->heritage)
		return;
	p->n_heritage -= proc->heritage->heirs.n;
	link_drop(&proc->heir);
	vec_done(&proc->heritage->heirs);
	index_done(&proc->heritage->index);
	free(proc->heritage);
	proc->heritage = NULL;
}

/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing. Each slot has half of its hash, so that neither growth nor removal asks the
 * owner. */
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_SLOTS 64
#define HUGE_PAGE (2u << 20)

/* Lookups are spread over the whole table: with small pages each one also costs a page-table walk. */
void *index_alloc(size_t bytes)
{
	void *ret;

	if (bytes < HUGE_PAGE)
		return calloc(1, bytes);
	ret = aligned_alloc(HUGE_PAGE, bytes);
	if (!ret)
		return NULL;
	madvise(ret, bytes, MADV_HUGEPAGE);
	return memset(ret, 0, bytes);
}

static size_t slots_of(const struct index *x) { return x->slots ? x->mask + 1 : 0; }

static size_t room_in(size_t slots) { return slots / 3 * 2; }

static void insert_at(struct index_slot *slots, size_t mask, struct index_slot slot)
{
	size_t at = slot.hash & mask;

	while (slots[at].number)
		at = (at + 1) & mask;
	slots[at] = slot;
}

static int grow(struct index *x, size_t n)
{
	struct index_slot *slots = n <= SIZE_MAX / sizeof(*slots) ? index_alloc(n * sizeof(*slots)) : NULL;

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < slots_of(x); i++)
		if (x->slots[i].number)
			insert_at(slots, n - 1, x->slots[i]);
	free(x->slots);
	x->slots = slots;
	x->mask = n - 1;
	return 0;
}

int index_reserve(struct index *x, size_t n)
{
	size_t want = FIRST_SLOTS;

	if (n <= room_in(slots_of(x)))
		return 0;
	if (n >= UINT32_MAX)
		return -ENOMEM;
	while (room_in(want) < n)
		want *= 2;
	return grow(x, want);
}

int index_add(struct index *x, uint64_t hash, uint32_t number)
{
	if (number == INDEX_NONE || index_reserve(x, x->n + 1))
		return -ENOMEM;
	insert_at(x->slots, x->mask, (struct index_slot){ (uint32_t)hash, number + 1 });
	x->n++;
	return 0;
}

static struct index_slot *find(const struct index *x, uint64_t hash, uint32_t number)
{
	size_t at = (uint32_t)hash & x->mask;

	for (; x->slots && x->slots[at].number; at = (at + 1) & x->mask)
		if (x->slots[at].hash == (uint32_t)hash && x->slots[at].number == number + 1)
			return &x->slots[at];
	return NULL;
}

void index_remove(struct index *x, uint64_t hash, uint32_t number)
{
	struct index_slot *found = find(x, hash, number);
	size_t hole, at;

	if (!found)
		return;
	/* Those behind the hole move up to it, unless they would stand before the slot where the search for them
	 * begins. */
	for (hole = at = (size_t)(found - x->slots); x->slots[at = (at + 1) & x->mask].number;) {
		size_t first = x->slots[at].hash & x->mask;

		if (((at - first) & x->mask) < ((at - hole) & x->mask))
			continue;
		x->slots[hole] = x->slots[at];
		hole = at;
	}
	x->slots[hole].number = 0;
	x->n--;
}

void index_renumber(struct index *x, uint64_t hash, uint32_t from, uint32_t to)
{
	struct index_slot *found = find(x, hash, from);

	if (found)
		found->number = to + 1;
}

void index_clear(struct index *x)
{
	if (x->slots)
		memset(x->slots, 0, slots_of(x) * sizeof(*x->slots));
	x->n = 0;
}

void index_done(struct index *x)
{
	free(x->slots);
	*x = (struct index){ 0 };
}

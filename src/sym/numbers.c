/* SPDX-License-Identifier: MIT */
/* A table from two numbers to one: for places that were asked for before. */
#include <stdlib.h>

#include "sym/names_priv.h"

static size_t slot_of(const struct numbers *t, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ 0x9e3779b97f4a7c15u) * 0xd1b54a32d192ed03u;

	h = (h ^ h >> 32 ^ b) * 0x9e3779b97f4a7c15u;
	return (size_t)(h ^ h >> 29) & (t->nslots - 1);
}

uint32_t numbers_get(const struct numbers *t, uint64_t a, uint64_t b)
{
	if (!t->nslots)
		return 0;
	for (size_t i = slot_of(t, a, b); t->slots[i].value; i = (i + 1) & (t->nslots - 1))
		if (t->slots[i].a == a && t->slots[i].b == b)
			return t->slots[i].value;
	return 0;
}

static void put(struct numbers *t, const struct number_slot *slot)
{
	size_t i = slot_of(t, slot->a, slot->b);

	while (t->slots[i].value)
		i = (i + 1) & (t->nslots - 1);
	t->slots[i] = *slot;
}

/* The slots are at most half full. */
static int make_room(struct numbers *t)
{
	struct numbers fresh = { .nslots = t->nslots ? t->nslots * 2 : 64, .n = t->n };

	if ((t->n + 1) * 2 <= t->nslots)
		return 0;
	fresh.slots = calloc(fresh.nslots, sizeof(*fresh.slots));
	if (!fresh.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->nslots; i++)
		if (t->slots[i].value)
			put(&fresh, &t->slots[i]);
	free(t->slots);
	*t = fresh;
	return 0;
}

int numbers_set(struct numbers *t, uint64_t a, uint64_t b, uint32_t value)
{
	if (value == UINT32_MAX || make_room(t))
		return -ENOMEM;
	put(t, &(struct number_slot){ a, b, value + 1 });
	t->n++;
	return 0;
}

void numbers_done(struct numbers *t)
{
	free(t->slots);
	*t = (struct numbers){ 0 };
}

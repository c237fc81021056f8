/* SPDX-License-Identifier: MIT */
/* Tables of numbers by open addressing; the things themselves lie in arrays beside them. */
#include "base/intern.h"

#include <string.h>

/* Foldings of 128-bit products, as in wyhash: every bit of the input reaches every bit of the slot. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t text_hash(const char *s)
{
	size_t len = strlen(s), left = len;
	uint64_t h = len, word;

	for (; left >= 8; s += 8, left -= 8) {
		memcpy(&word, s, 8);
		h = mix(h, word);
	}
	word = 0;
	memcpy(&word, s, left);
	return mix(h, word);
}

/* The slots are at most half full. */
static int make_room(struct intern *in)
{
	size_t cap = in->nslots ? in->nslots * 2 : 64;
	uint32_t *slots;

	if (in->hashes.n >= UINT32_MAX - 1)
		return -ENOMEM;
	if ((in->hashes.n + 1) * 2 <= in->nslots)
		return 0;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < in->hashes.n; i++) {
		size_t at = in->hashes.v[i] & (cap - 1);

		while (slots[at])
			at = (at + 1) & (cap - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(in->slots);
	in->slots = slots;
	in->nslots = cap;
	return 0;
}

static uint32_t take_slot(struct intern *in, size_t at, uint64_t hash)
{
	if (vec_push(&in->hashes, hash))
		return UINT32_MAX;
	in->slots[at] = (uint32_t)in->hashes.n;
	return (uint32_t)in->hashes.n - 1;
}

uint32_t strings_number(struct strings *s, const char *text)
{
	uint64_t hash = text_hash(text);
	size_t at;

	if (make_room(&s->in) || vec_reserve(&s->v, s->v.n + 1))
		return UINT32_MAX;
	for (at = hash & (s->in.nslots - 1); s->in.slots[at]; at = (at + 1) & (s->in.nslots - 1)) {
		uint32_t i = s->in.slots[at] - 1;

		if (s->in.hashes.v[i] == hash && !strcmp(s->v.v[i], text))
			return i;
	}
	if (take_slot(&s->in, at, hash) == UINT32_MAX)
		return UINT32_MAX;
	s->v.v[s->v.n] = text;
	return (uint32_t)s->v.n++;
}

uint32_t pairs_number(struct pairs *p, uint32_t a, uint32_t b)
{
	uint64_t hash = mix(a, b);
	size_t at;

	if (make_room(&p->in) || vec_reserve(&p->v, p->v.n + 1))
		return UINT32_MAX;
	for (at = hash & (p->in.nslots - 1); p->in.slots[at]; at = (at + 1) & (p->in.nslots - 1)) {
		uint32_t i = p->in.slots[at] - 1;

		if (p->v.v[i].a == a && p->v.v[i].b == b)
			return i;
	}
	if (take_slot(&p->in, at, hash) == UINT32_MAX)
		return UINT32_MAX;
	p->v.v[p->v.n] = (struct pair){ a, b };
	return (uint32_t)p->v.n++;
}

static void intern_done(struct intern *in)
{
	free(in->slots);
	vec_done(&in->hashes);
	*in = (struct intern){ 0 };
}

void strings_done(struct strings *s)
{
	intern_done(&s->in);
	vec_done(&s->v);
}

void pairs_done(struct pairs *p)
{
	intern_done(&p->in);
	vec_done(&p->v);
}

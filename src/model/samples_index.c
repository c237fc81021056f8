/* SPDX-License-Identifier: MIT */
/* Open addressing over numbers of rows, and addresses packed small. */
#include <stdlib.h>
#include <string.h>

#include "model/samples_priv.h"

uint64_t samples_mix(uint64_t h)
{
	h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

uint32_t samples_index_find(const struct samples_index *x, uint64_t hash,
			    bool (*equal)(const void *ctx, uint32_t number), const void *ctx)
{
	for (size_t i = hash; x->cap; i++) {
		uint32_t number = x->slots[i & (x->cap - 1)];

		if (number == SAMPLES_NONE || equal(ctx, number))
			return number;
	}
	return SAMPLES_NONE;
}

static void put(struct samples_index *x, uint64_t hash, uint32_t number)
{
	size_t i = hash;

	while (x->slots[i & (x->cap - 1)] != SAMPLES_NONE)
		i++;
	x->slots[i & (x->cap - 1)] = number;
}

static int grow(struct samples_index *x, uint64_t (*hash_of)(const void *ctx, uint32_t number), const void *ctx)
{
	struct samples_index bigger = { .cap = x->cap ? x->cap * 2 : 64, .n = x->n };

	bigger.slots = malloc(bigger.cap * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	memset(bigger.slots, 0xff, bigger.cap * sizeof(*bigger.slots));
	for (size_t i = 0; i < x->cap; i++)
		if (x->slots[i] != SAMPLES_NONE)
			put(&bigger, hash_of(ctx, x->slots[i]), x->slots[i]);
	free(x->slots);
	*x = bigger;
	return 0;
}

int samples_index_add(struct samples_index *x, uint64_t hash, uint32_t number,
		      uint64_t (*hash_of)(const void *ctx, uint32_t number), const void *ctx)
{
	if ((x->n + 1) * 4 > x->cap * 3 && grow(x, hash_of, ctx))
		return -ENOMEM;
	put(x, hash, number);
	x->n++;
	return 0;
}

void samples_index_done(struct samples_index *x)
{
	free(x->slots);
	*x = (struct samples_index){ 0 };
}

/* A user address that is exact has its mark in the lowest bit: the difference to its neighbour is small then. */
static uint64_t turn(uint64_t ip) { return (ip & ~UT_IP_EXACT) << 1 | ip >> 63; }
static uint64_t turn_back(uint64_t v) { return v >> 1 | v << 63; }

int samples_pack(struct samples *s, struct samples_stack *stack, const uint64_t *ips)
{
	size_t n = (size_t)stack->kernel + stack->user;
	uint64_t before = 0;

	if (vec_reserve(&s->arena, s->arena.n + n * 10))
		return -ENOMEM;
	stack->at = s->arena.n;
	for (size_t i = 0; i < n; i++) {
		uint64_t v = i < stack->kernel ? ips[i] : turn(ips[i]);
		uint64_t d = v - before;

		before = v;
		d = d << 1 ^ (d >> 63 ? ~0ull : 0); /* small ones of both signs are small numbers */
		for (; d >= 0x80; d >>= 7)
			s->arena.v[s->arena.n++] = (unsigned char)(d | 0x80);
		s->arena.v[s->arena.n++] = (unsigned char)d;
	}
	return 0;
}

void samples_unpack(const struct samples *s, const struct samples_stack *stack, uint64_t ips[SAMPLES_FRAMES])
{
	const unsigned char *at = s->arena.v + stack->at;
	uint64_t v = 0;

	for (size_t i = 0; i < (size_t)stack->kernel + stack->user; i++) {
		uint64_t d = 0;
		unsigned shift = 0;

		do
			d |= (uint64_t)(*at & 0x7f) << shift;
		while (shift += 7, *at++ & 0x80);
		v += d >> 1 ^ (d & 1 ? ~0ull : 0);
		ips[i] = i < stack->kernel ? v : turn_back(v);
	}
}

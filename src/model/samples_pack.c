/* SPDX-License-Identifier: MIT */
/* Addresses of a stack, packed small. */
#include <errno.h>

#include "model/samples_priv.h"

/* Moves the mark of an exact user address to the lowest bit, so that the difference to the next address is small. */
static uint64_t rotate_mark(uint64_t ip) { return (ip & ~UT_IP_EXACT) << 1 | ip >> 63; }
static uint64_t unrotate_mark(uint64_t v) { return v >> 1 | v << 63; }

int samples_pack(struct samples *s, struct samples_stack *stack, const uint64_t *ips)
{
	size_t n = (size_t)stack->kernel + stack->user;
	uint64_t before = 0;

	if (vec_reserve(&s->arena, s->arena.n + n * 10))
		return -ENOMEM;
	stack->at = s->arena.n;
	for (size_t i = 0; i < n; i++) {
		uint64_t v = i < stack->kernel ? ips[i] : rotate_mark(ips[i]);
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
		ips[i] = i < stack->kernel ? v : unrotate_mark(v);
	}
}

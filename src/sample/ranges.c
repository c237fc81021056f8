/* SPDX-License-Identifier: MIT */
/* A sorted list of the free ranges: they are few, and a file needs a few calls. */
#include "sample/ranges.h"

#include <string.h>

int ranges_open(struct ranges *r, uint32_t n)
{
	*r = (struct ranges){ 0 };
	return vec_push(&r->unused, ((struct range){ 0, n }));
}

void ranges_done(struct ranges *r) { vec_done(&r->unused); }

static void remove_at(struct ranges *r, size_t i)
{
	memmove(&r->unused.v[i], &r->unused.v[i + 1], (r->unused.n - i - 1) * sizeof(r->unused.v[0]));
	r->unused.n--;
}

uint32_t ranges_alloc(struct ranges *r, uint32_t n)
{
	for (size_t i = 0; i < r->unused.n; i++) {
		struct range *u = &r->unused.v[i];
		uint32_t first = u->first;

		if (u->n < n)
			continue;
		u->first += n;
		u->n -= n;
		if (!u->n)
			remove_at(r, i);
		return first;
	}
	return UINT32_MAX;
}

void ranges_free(struct ranges *r, uint32_t first, uint32_t n)
{
	size_t i = 0;

	if (!n)
		return;
	while (i < r->unused.n && r->unused.v[i].first < first)
		i++;
	if (vec_push(&r->unused, ((struct range){ 0, 0 })))
		return;
	memmove(&r->unused.v[i + 1], &r->unused.v[i], (r->unused.n - 1 - i) * sizeof(r->unused.v[0]));
	r->unused.v[i] = (struct range){ first, n };
	if (i + 1 < r->unused.n && first + n == r->unused.v[i + 1].first) {
		r->unused.v[i].n += r->unused.v[i + 1].n;
		remove_at(r, i + 1);
	}
	if (i && r->unused.v[i - 1].first + r->unused.v[i - 1].n == first) {
		r->unused.v[i - 1].n += r->unused.v[i].n;
		remove_at(r, i);
	}
}

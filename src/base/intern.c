/* SPDX-License-Identifier: MIT */
/* Numbers of things in the order of their arrival: the things lie in arrays, an index finds them. */
#include "base/intern.h"

#include <string.h>

#include "base/hash.h"

uint32_t strings_number(struct strings *s, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	uint32_t found = index_find(&s->index, hash, i, !strcmp(s->v.v[i], text));

	if (found != INDEX_NONE)
		return found;
	if (vec_reserve(&s->v, s->v.n + 1) || index_add(&s->index, hash, (uint32_t)s->v.n))
		return UINT32_MAX;
	s->v.v[s->v.n] = text;
	return (uint32_t)s->v.n++;
}

uint32_t pairs_number(struct pairs *p, uint32_t a, uint32_t b)
{
	uint64_t hash = hash_pair(a, b);
	uint32_t found = index_find(&p->index, hash, i, p->v.v[i].a == a && p->v.v[i].b == b);

	if (found != INDEX_NONE)
		return found;
	if (vec_reserve(&p->v, p->v.n + 1) || index_add(&p->index, hash, (uint32_t)p->v.n))
		return UINT32_MAX;
	p->v.v[p->v.n] = (struct pair){ a, b };
	return (uint32_t)p->v.n++;
}

void strings_done(struct strings *s)
{
	index_done(&s->index);
	vec_done(&s->v);
}

void pairs_done(struct pairs *p)
{
	index_done(&p->index);
	vec_done(&p->v);
}

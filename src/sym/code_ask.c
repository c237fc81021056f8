/* SPDX-License-Identifier: MIT */
/* Lookups in JIT code in order of address, with an index from the address range of a line to the lookups within it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "sym/code_priv.h"

static int compare_questions(const void *a, const void *b)
{
	const struct code_question *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

void code_questions_sort(struct code_questions *qs)
{
	size_t kept = 0;

	if (qs->q.n < 2)
		return;
	qsort(qs->q.v, qs->q.n, sizeof(*qs->q.v), compare_questions);
	for (size_t i = 1; i < qs->q.n; i++)
		if (compare_questions(&qs->q.v[kept], &qs->q.v[i]))
			qs->q.v[++kept] = qs->q.v[i];
	qs->q.n = kept + 1;
}

static size_t bucket(const struct code_index *x, uint64_t addr) { return (addr - x->min) >> x->shift; }

int code_index_make(struct code_index *x, struct code_questions *of)
{
	size_t b = 0;

	*x = (struct code_index){ .of = of };
	if (!of->q.n)
		return 0;
	x->first = malloc((CODE_BUCKETS + 1) * sizeof(*x->first));
	if (!x->first)
		return -ENOMEM;
	x->min = of->q.v[0].addr;
	x->max = of->q.v[of->q.n - 1].addr;
	while ((x->max - x->min) >> x->shift >= CODE_BUCKETS)
		x->shift++;
	for (size_t i = 0; i < of->q.n; i++)
		while (b <= bucket(x, of->q.v[i].addr))
			x->first[b++] = (uint32_t)i;
	while (b <= CODE_BUCKETS)
		x->first[b++] = (uint32_t)of->q.n;
	return 0;
}

void code_index_done(struct code_index *x) { free(x->first); }

bool code_index_hits(const struct code_index *x, uint64_t start, uint64_t size, size_t *ret)
{
	size_t i = 0, b;

	if (!x->of->q.n || start > x->max || start + (size - 1) < x->min)
		return false;
	if (start > x->min) {
		b = bucket(x, start);
		i = search_first_not(k, x->first[b], x->first[b + 1], x->of->q.v[k].addr < start);
	}
	if (i == x->of->q.n || x->of->q.v[i].addr - start >= size)
		return false;
	*ret = i;
	return true;
}

struct code_question *code_question_find(struct code_questions *qs, uint64_t addr, uint64_t time_ns)
{
	struct code_question key = { .addr = addr, .time_ns = time_ns };

	return qs->q.n ? bsearch(&key, qs->q.v, qs->q.n, sizeof(key), compare_questions) : NULL;
}

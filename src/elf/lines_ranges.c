/* SPDX-License-Identifier: MIT */
/* Ranges of code that may lie in each other, and the innermost one at an address. */
#include "base/search.h"
#include "elf/lines_priv.h"

static int compare_ranges(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

void code_ranges_index(struct code_ranges *r)
{
	uint64_t reach = 0;

	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), compare_ranges);
	for (size_t i = 0; i < r->n; i++) {
		if (reach < r->v[i].end)
			reach = r->v[i].end;
		r->v[i].reach = reach;
	}
}

const struct code_range *code_ranges_find(const struct code_ranges *r, uint64_t vaddr)
{
	size_t low = search_first_not(i, 0, r->n, r->v[i].start <= vaddr);

	for (; low && r->v[low - 1].reach > vaddr; low--)
		if (vaddr < r->v[low - 1].end)
			return &r->v[low - 1];
	return NULL;
}

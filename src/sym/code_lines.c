/* SPDX-License-Identifier: MIT */
/* Lines of code maps, and records of dumps, in memory by address, for lookups while the files grow. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "sym/code_priv.h"

static int compare_lines(const void *a, const void *b)
{
	const struct code_line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* New lines are merged in batches, since each may belong before all others. */
#define NEW_LINES 256
#define NEW_LINES_PART 256 /* of all */

/* Merges the sorted new lines into the others, from the end, so that lines at rising addresses move nothing. */
static void merge_new_lines(struct code_lines *l)
{
	size_t added = l->v.n - l->sorted, from = l->sorted, to = l->v.n, left = added;
	AUTO_FREE struct code_line *fresh = malloc(added * sizeof(*fresh));

	if (!fresh || vec_reserve(&l->reach, l->v.n))
		return;
	memcpy(fresh, l->v.v + l->sorted, added * sizeof(*fresh));
	qsort(fresh, added, sizeof(*fresh), compare_lines);
	while (left) {
		bool old = from && compare_lines(&l->v.v[from - 1], &fresh[left - 1]) > 0;

		l->v.v[--to] = old ? l->v.v[--from] : fresh[--left];
	}
	for (size_t i = to; i < l->v.n; i++) {
		uint64_t before = i ? l->reach.v[i - 1] : 0;

		l->reach.v[i] = l->v.v[i].end > before ? l->v.v[i].end : before;
	}
	l->sorted = l->reach.n = l->v.n;
}

void code_lines_add(struct code_lines *l, const struct code_line *line)
{
	if (l->v.n < CODE_LINES_MAX)
		(void)vec_push(&l->v, *line); /* no memory: a name is missing */
}

void code_lines_sort(struct code_lines *l)
{
	if (l->v.n - l->sorted > NEW_LINES + l->sorted / NEW_LINES_PART)
		merge_new_lines(l);
}

#define LINES_ASKED 4096 /* lines examined that begin before an address and may reach it; hostile maps have more */

struct code_line *code_lines_find(struct code_lines *l, uint64_t addr, uint64_t time_ns, code_choose_fn *choose)
{
	struct code_line *best = NULL;
	size_t low = search_first_not(i, 0, l->sorted, l->v.v[i].start <= addr);
	size_t end = low > LINES_ASKED ? low - LINES_ASKED : 0;

	for (; low > end && l->reach.v[low - 1] > addr; low--)
		if (addr < l->v.v[low - 1].end)
			choose(&best, &l->v.v[low - 1], time_ns);
	for (size_t i = l->sorted; i < l->v.n; i++)
		if (addr >= l->v.v[i].start && addr < l->v.v[i].end)
			choose(&best, &l->v.v[i], time_ns);
	return best;
}

void code_lines_done(struct code_lines *l)
{
	vec_done(&l->v);
	vec_done(&l->reach);
}

/* SPDX-License-Identifier: MIT */
/* Places of code by address and time. What is there now is an array by address; what was is another, that is put in
 * order when it is asked: a profile is recorded first and read afterwards. */
#include "sym/history.h"

#include <string.h>

#include "base/search.h"

#define PAST_MAX (1u << 20) /* of one process; later ones are forgotten */

/* Number of the first place that ends after @addr. */
static size_t first_after(const struct history *h, uint64_t addr)
{
	return search_first_not(i, 0, h->now.n, h->now.v[i].end <= addr);
}

static int compare_past(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static void index_past(struct history *h)
{
	uint64_t reach = 0;

	if (h->past.n)
		qsort(h->past.v, h->past.n, sizeof(*h->past.v), compare_past);
	h->runs.n = 0;
	h->indexed = true;
	for (size_t i = 0; i < h->past.n; i++) {
		const struct place *p = &h->past.v[i];
		struct past_run *last = h->runs.n ? &h->runs.v[h->runs.n - 1] : NULL;

		if (last && last->start == p->start && last->end == p->end) {
			last->n++;
			continue;
		}
		if (reach < p->end)
			reach = p->end;
		if (vec_push(&h->runs, ((struct past_run){ p->start, p->end, reach, i, 1 })))
			return;
	}
}

/* The last of a run that came at or before @time_ns, if it was still there. */
static const struct place *in_run(const struct history *h, const struct past_run *run, uint64_t time_ns)
{
	size_t low = search_first_not(i, run->first, run->first + run->n, h->past.v[i].from <= time_ns);

	return low > run->first && time_ns < h->past.v[low - 1].to ? &h->past.v[low - 1] : NULL;
}

static const struct place *past_at(struct history *h, uint64_t addr, uint64_t time_ns)
{
	size_t low;

	if (!h->indexed)
		index_past(h);
	low = search_first_not(i, 0, h->runs.n, h->runs.v[i].start <= addr);
	for (; low && h->runs.v[low - 1].reach > addr; low--) {
		const struct past_run *run = &h->runs.v[low - 1];
		const struct place *p = addr < run->end ? in_run(h, run, time_ns) : NULL;

		if (p)
			return p;
	}
	return NULL;
}

const struct place *history_now(const struct history *h, uint64_t addr)
{
	size_t i = first_after(h, addr);

	return i < h->now.n && h->now.v[i].start <= addr ? &h->now.v[i] : NULL;
}

const struct place *history_at(struct history *h, uint64_t addr, uint64_t time_ns)
{
	const struct place *p = history_now(h, addr);

	if (p && p->from <= time_ns)
		return p;
	return h->past.n ? past_at(h, addr, time_ns) : NULL;
}

static bool is_more_of(const struct place *p, const struct place *q)
{
	return p->kind == q->kind && p->file == q->file && (!p->file || p->start - p->offset == q->start - q->offset);
}

bool history_contradicts(const struct history *h, const struct place *p)
{
	for (size_t i = first_after(h, p->start); i < h->now.n && h->now.v[i].start < p->end; i++)
		if (!is_more_of(p, &h->now.v[i]))
			return true;
	return false;
}

/* The very same place, if it is there now. */
static struct place *find_same(const struct history *h, const struct place *p)
{
	size_t i = first_after(h, p->start);
	struct place *q = i < h->now.n ? &h->now.v[i] : NULL;

	return q && q->start == p->start && q->end == p->end && q->offset == p->offset && q->file == p->file &&
			       q->kind == p->kind
		       ? q
		       : NULL;
}

static int add_past(struct history *h, const struct place *p)
{
	if (p->from >= p->to || p->start >= p->end || h->past.n >= PAST_MAX)
		return 0;
	h->indexed = false;
	return vec_push(&h->past, *p);
}

/* The part of @p within these addresses. */
static struct place part(const struct place *p, uint64_t start, uint64_t end)
{
	struct place ret = *p;

	if (ret.start < start) {
		ret.offset += start - ret.start;
		ret.start = start;
	}
	if (ret.end > end)
		ret.end = end;
	return ret;
}

int history_remove(struct history *h, uint64_t start, uint64_t end, uint64_t time_ns)
{
	size_t first = first_after(h, start), last = first, n = 0;
	struct place left, right, keep[2];

	while (last < h->now.n && h->now.v[last].start < end) {
		struct place gone = part(&h->now.v[last++], start, end);

		gone.to = time_ns;
		if (add_past(h, &gone))
			return -ENOMEM;
	}
	if (first == last)
		return 0;
	left = part(&h->now.v[first], 0, start);
	right = part(&h->now.v[last - 1], end, UINT64_MAX);
	if (left.start < left.end)
		keep[n++] = left;
	if (right.start < right.end)
		keep[n++] = right;
	if (vec_reserve(&h->now, h->now.n + 2))
		return -ENOMEM;
	memmove(&h->now.v[first + n], &h->now.v[last], (h->now.n - last) * sizeof(*h->now.v));
	memcpy(&h->now.v[first], keep, n * sizeof(*keep));
	h->now.n = h->now.n - (last - first) + n;
	return 0;
}

/* The earliest time at which something came that is there now and overlaps @p, if that is later than @p. */
static uint64_t overtaken_at(const struct history *h, const struct place *p)
{
	uint64_t at = UINT64_MAX;

	for (size_t i = first_after(h, p->start); i < h->now.n && h->now.v[i].start < p->end; i++)
		if (h->now.v[i].from > p->from && h->now.v[i].from < at)
			at = h->now.v[i].from;
	return at;
}

int history_add(struct history *h, const struct place *p)
{
	struct place *same = find_same(h, p), late = *p;
	size_t i;

	if (p->start >= p->end)
		return 0;
	if (same) {
		if (same->from > p->from && !h->past.n)
			same->from = p->from;
		return 0;
	}
	late.to = overtaken_at(h, p);
	if (late.to != UINT64_MAX)
		return add_past(h, &late);
	if (history_remove(h, p->start, p->end, p->from) || vec_reserve(&h->now, h->now.n + 1))
		return -ENOMEM;
	i = first_after(h, p->start);
	memmove(&h->now.v[i + 1], &h->now.v[i], (h->now.n - i) * sizeof(*h->now.v));
	h->now.v[i] = late;
	h->now.n++;
	return 0;
}

int history_copy(struct history *h, const struct history *from, uint64_t time_ns)
{
	if (vec_reserve(&h->now, from->now.n))
		return -ENOMEM;
	for (size_t i = 0; i < from->now.n; i++)
		if (from->now.v[i].from <= time_ns)
			h->now.v[h->now.n++] = from->now.v[i];
	for (size_t i = 0; i < from->past.n; i++) {
		struct place p = from->past.v[i];

		if (p.from > time_ns || p.to <= time_ns)
			continue;
		p.to = UINT64_MAX;
		if (history_add(h, &p))
			return -ENOMEM;
	}
	return 0;
}

void history_done(struct history *h)
{
	vec_done(&h->now);
	vec_done(&h->past);
	vec_done(&h->runs);
}

/* SPDX-License-Identifier: MIT */
/* When a program was stopped: pieces of time with how much of each, and what they leave of any window to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/sum.h"
#include "model/gcstat_priv.h"

/* The pieces that a new stop overlaps, and how much of it they cover already. */
struct overlap {
	size_t first, end, gaps;
	uint64_t free_ns, stopped_ns;
};

static struct overlap find_overlap(const struct stops *s, uint64_t begin_ns, uint64_t end_ns)
{
	struct overlap m = { .first = s->list.n };
	uint64_t at_ns = begin_ns;

	while (m.first && s->list.v[m.first - 1].end_ns > begin_ns)
		m.first--;
	for (m.end = m.first; m.end < s->list.n && s->list.v[m.end].begin_ns < end_ns; m.end++) {
		const struct stop *p = &s->list.v[m.end];
		uint64_t both_ns = least_u64(p->end_ns, end_ns) - most_u64(p->begin_ns, begin_ns);

		m.gaps += p->begin_ns > at_ns;
		m.free_ns += p->begin_ns > at_ns ? p->begin_ns - at_ns : 0;
		m.stopped_ns += portion_u64(p->stopped_ns, both_ns, p->end_ns - p->begin_ns);
		at_ns = p->end_ns;
	}
	m.gaps += at_ns < end_ns;
	m.free_ns += at_ns < end_ns ? end_ns - at_ns : 0;
	return m;
}

/* Inserts pieces into the gaps, from the last to the first; what follows them has moved. */
struct filling {
	struct stop *to;
	uint64_t free_ns, stopped_ns;
};

static void fill_gap(struct filling *f, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t stopped_ns;

	if (begin_ns >= end_ns)
		return;
	stopped_ns = portion_u64(f->stopped_ns, end_ns - begin_ns, f->free_ns);
	*f->to-- = (struct stop){ .begin_ns = begin_ns, .end_ns = end_ns, .stopped_ns = stopped_ns };
	f->stopped_ns -= stopped_ns;
	f->free_ns -= end_ns - begin_ns;
}

static void fill_gaps(struct stops *s, const struct overlap *m, uint64_t begin_ns, uint64_t end_ns, uint64_t stopped_ns)
{
	struct filling f = { s->list.v + m->end + m->gaps - 1, m->free_ns, stopped_ns };

	memmove(s->list.v + m->end + m->gaps, s->list.v + m->end, (s->list.n - m->end) * sizeof(*s->list.v));
	for (size_t i = m->end; i-- > m->first;) {
		struct stop old = s->list.v[i];

		fill_gap(&f, old.end_ns, end_ns);
		*f.to-- = old;
		end_ns = old.begin_ns;
	}
	fill_gap(&f, begin_ns, end_ns);
	s->list.n += m->gaps;
}

static unsigned histogram_bucket(uint64_t ns)
{
	uint64_t us = ns / 1000;
	unsigned power = us < 2 ? 0 : 63u - (unsigned)__builtin_clzll(us);

	return power < GCSTAT_BUCKETS ? power : GCSTAT_BUCKETS - 1;
}

/* Adjacent pieces are one stop. */
uint64_t stops_histogram(const struct stops *s, uint64_t ret[GCSTAT_BUCKETS])
{
	uint64_t n = s->counted, ns;

	memmove(ret, s->histogram, sizeof(s->histogram));
	for (size_t i = 0, run = 0; i < s->list.n; i = run) {
		bool counted = false;

		for (ns = 0; run < s->list.n && (run == i || s->list.v[run].begin_ns == s->list.v[run - 1].end_ns);
		     run++) {
			ns += s->list.v[run].stopped_ns;
			counted |= s->list.v[run].counted;
		}
		n += !counted;
		ret[histogram_bucket(ns)] += !counted;
	}
	return n;
}

/* The median length of two neighbors together. 0: out of memory. */
static uint64_t median_pair(const struct stops *s)
{
	size_t n = s->list.n - 1;
	AUTO_FREE uint64_t *pair = malloc(n * sizeof(*pair));

	if (!pair)
		return 0;
	for (size_t i = 0; i < n; i++)
		pair[i] = s->list.v[i + 1].end_ns - s->list.v[i].begin_ns;
	qsort(pair, n, sizeof(*pair), compare_u64);
	return pair[n / 2];
}

/* Joins the shorter pairs of neighbors, which removes at least about a quarter of all. */
static int join_short_stops(struct stops *s)
{
	uint64_t limit_ns = s->list.n > 1 ? median_pair(s) : 0;
	size_t to = 0;
	bool fresh = true; /* the last one is not of two yet */

	if (!limit_ns)
		return -ENOMEM;
	s->counted = stops_histogram(s, s->histogram);
	s->list.v[0].counted = true;
	for (size_t i = 1; i < s->list.n; i++) {
		struct stop *last = &s->list.v[to], *p = &s->list.v[i];

		p->counted = true;
		if (fresh && p->end_ns - last->begin_ns <= limit_ns) {
			last->end_ns = p->end_ns;
			last->stopped_ns += p->stopped_ns;
			last->joined = true;
			fresh = false;
		} else {
			s->list.v[++to] = *p;
			fresh = true;
		}
	}
	s->list.n = to + 1;
	s->joined = true;
	return 0;
}

int stops_add(struct stops *s, uint64_t begin_ns, uint64_t end_ns, uint64_t stopped_ns)
{
	struct overlap m;

	if (begin_ns >= end_ns)
		return 0;
	if (s->list.n >= s->max && join_short_stops(s) < 0)
		return -ENOMEM;
	m = find_overlap(s, begin_ns, end_ns);
	if (!m.free_ns)
		return 0;
	if (vec_reserve(&s->list, s->list.n + m.gaps))
		return -ENOMEM;
	stopped_ns = least_u64(stopped_ns > m.stopped_ns ? stopped_ns - m.stopped_ns : 0, m.free_ns);
	fill_gaps(s, &m, begin_ns, end_ns, stopped_ns);
	s->stopped_ns += stopped_ns;
	s->pause_ns += m.free_ns;
	return 0;
}

/*
 * How long the program was stopped until a time, for times that grow. Of a joined piece, what was stopped comes as
 * early as it can for the end of a window, and as late for its begin: never less than there was.
 */
struct sum {
	const struct stops *s;
	bool early;
	size_t at;
	double before;
};

static double part_until(const struct sum *sum, const struct stop *p, uint64_t ns)
{
	uint64_t left_ns = p->end_ns - ns;

	if (!p->joined)
		return (double)p->stopped_ns * (double)(ns - p->begin_ns) / (double)(p->end_ns - p->begin_ns);
	if (sum->early)
		return (double)least_u64(p->stopped_ns, ns - p->begin_ns);
	return (double)(p->stopped_ns > left_ns ? p->stopped_ns - left_ns : 0);
}

static double sum_until(struct sum *sum, uint64_t ns)
{
	const struct stop *p;

	for (; sum->at < sum->s->list.n && sum->s->list.v[sum->at].end_ns <= ns; sum->at++)
		sum->before += (double)sum->s->list.v[sum->at].stopped_ns;
	p = &sum->s->list.v[sum->at];
	if (sum->at == sum->s->list.n || p->begin_ns >= ns)
		return sum->before;
	return sum->before + part_until(sum, p, ns);
}

/* Where sums begin or cease to grow, in order; the first and the last edge are beyond all. */
static uint64_t edge(const struct stops *s, size_t i)
{
	const struct stop *p;
	uint64_t early_ns, late_ns;

	if (!i || i > 4 * s->list.n)
		return i ? UINT64_MAX : 0;
	p = &s->list.v[(i - 1) / 4];
	early_ns = p->begin_ns + p->stopped_ns;
	late_ns = p->end_ns - p->stopped_ns;
	switch ((i - 1) % 4) {
	case 0: return p->begin_ns;
	case 1: return least_u64(early_ns, late_ns);
	case 2: return most_u64(early_ns, late_ns);
	default: return p->end_ns;
	}
}

/* The most stopped time in a window that begins, or ends, at an edge: in between it changes linearly. */
static double most_stopped(const struct stops *s, uint64_t start_ns, uint64_t last_ns, uint64_t window_ns, bool ends)
{
	struct sum left = { s, false, 0, 0 }, right = { s, true, 0, 0 };
	double worst = 0;

	for (size_t i = 0; i < 4 * s->list.n + 2; i++) {
		uint64_t edge_ns = edge(s, i), before_ns = edge_ns > window_ns ? edge_ns - window_ns : 0;
		uint64_t at_ns = least_u64(most_u64(ends ? before_ns : edge_ns, start_ns), last_ns);
		double stopped = sum_until(&right, at_ns + window_ns) - sum_until(&left, at_ns);

		worst = stopped > worst ? stopped : worst;
	}
	return worst;
}

double stops_utilisation(const struct stops *s, uint64_t start_ns, uint64_t end_ns, uint64_t window_ns)
{
	double begins, ends, worst;

	if (end_ns < start_ns || end_ns - start_ns < window_ns || !window_ns)
		return -1;
	if (!s->list.n)
		return 1;
	begins = most_stopped(s, start_ns, end_ns - window_ns, window_ns, false);
	ends = most_stopped(s, start_ns, end_ns - window_ns, window_ns, true);
	worst = (begins > ends ? begins : ends) / (double)window_ns;
	return worst < 1 ? 1 - worst : 0;
}

void stops_done(struct stops *s) { vec_done(&s->list); }

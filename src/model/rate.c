/* SPDX-License-Identifier: MIT */
/* Rates of one process, from its spans. Stops are spread over the seconds in which they were. */
#include "model/rate.h"

#include <stdio.h>
#include <string.h>

#include "base/sum.h"

#define SECOND 1000000000u
#define SUB 8 /* buckets to a power of two */

void rate_init(struct rate *r, uint64_t start_ns, const char *kind)
{
	*r = (struct rate){ .start_ns = start_ns, .kind = kind };
}

/* Second @n is the newest from now on; those between were empty. */
static void advance(struct rate *r, uint64_t n)
{
	if (n <= r->newest)
		return;
	if (n - r->newest >= RATE_SLOTS)
		memset(r->slot, 0, sizeof(r->slot));
	else
		for (uint64_t i = r->newest + 1; i <= n; i++)
			r->slot[i % RATE_SLOTS] = (struct rate_slot){ 0 };
	r->newest = n;
}

/* The slot of second @n; NULL when it is too long ago. */
static struct rate_slot *slot_of(struct rate *r, uint64_t n)
{
	return n <= r->newest && r->newest - n < RATE_SLOTS ? &r->slot[n % RATE_SLOTS] : NULL;
}

static uint64_t second_of(const struct rate *r, uint64_t ns)
{
	return ns > r->start_ns ? (ns - r->start_ns) / SECOND : 0;
}

/* Spreads bytes that were allocated, or the time of a stop, evenly over the seconds between two times. */
static void spread(struct rate *r, uint64_t amount, bool is_stop, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t last = second_of(r, end_ns), oldest = r->newest < RATE_SLOTS ? 0 : r->newest - RATE_SLOTS + 1;

	for (uint64_t n = most_u64(second_of(r, begin_ns), oldest); n <= last; n++) {
		uint64_t from = most_u64(begin_ns, r->start_ns + n * SECOND);
		uint64_t to = least_u64(end_ns, r->start_ns + (n + 1) * SECOND), part = to > from ? to - from : 0;
		struct rate_slot *slot = slot_of(r, n);

		if (!slot)
			continue;
		if (is_stop) {
			slot->stopped_ns += portion_u64(amount, part, end_ns - begin_ns);
		} else {
			slot->allocated += portion_u64(amount, part, end_ns - begin_ns);
			slot->allocated_ns += part;
		}
	}
}

/* Subtracts what earlier stops cover of the time of @s, and replaces them and @s by one that has the time of all. */
static void join_overlapping(struct rate *r, struct rate_stop *s)
{
	struct rate_stop all = *s;
	uint64_t covered = 0, counted = 0;

	while (r->nstops && r->stop[r->nstops - 1].end_ns > s->begin_ns) {
		const struct rate_stop *old = &r->stop[--r->nstops];
		uint64_t both =
			least_u64(old->end_ns, s->end_ns) - least_u64(most_u64(old->begin_ns, s->begin_ns), s->end_ns);

		covered += both;
		counted += portion_u64(old->stopped_ns, both, old->end_ns - old->begin_ns);
		all.stopped_ns += old->stopped_ns;
		all.begin_ns = least_u64(all.begin_ns, old->begin_ns);
		all.end_ns = most_u64(all.end_ns, old->end_ns);
	}
	counted = least_u64(counted, s->stopped_ns);
	all.stopped_ns -= counted;
	s->stopped_ns = least_u64(s->stopped_ns - counted,
				  s->end_ns - s->begin_ns - least_u64(covered, s->end_ns - s->begin_ns));
	if (r->nstops == RATE_JOINED)
		memmove(r->stop, r->stop + 1, --r->nstops * sizeof(r->stop[0]));
	r->stop[r->nstops++] = all;
}

static unsigned rate_bucket(uint64_t ns)
{
	uint64_t eighths = ns / 125; /* of a microsecond */
	unsigned power = eighths < SUB ? 0 : 60u - (unsigned)__builtin_clzll(eighths);
	uint64_t i = power * SUB + (eighths >> power);

	return i < RATE_BUCKETS ? (unsigned)i : RATE_BUCKETS - 1;
}

static void note_stop_length(struct rate *r, const struct collect_span *s, uint64_t ns)
{
	struct rate_slot *slot = slot_of(r, second_of(r, s->end_ns));

	r->bucket[rate_bucket(ns)]++;
	r->nlengths++;
	if (slot && ns > slot->longest_ns)
		slot->longest_ns = ns;
	if (ns <= r->longest_ns)
		return;
	r->longest_ns = ns;
	r->longest_begin_ns = s->begin_ns;
	snprintf(r->longest_label, sizeof(r->longest_label), "%s", s->label);
	snprintf(r->longest_cause, sizeof(r->longest_cause), "%s", s->cause);
}

static void add_stop(struct rate *r, const struct collect_span *s)
{
	struct rate_stop stop = { most_u64(s->begin_ns, r->start_ns), s->end_ns, 0 };
	uint64_t ns;

	if (stop.end_ns <= stop.begin_ns)
		return;
	stop.stopped_ns = ns = least_u64(s->stall.known ? s->stall.stopped_ns : stop.end_ns - stop.begin_ns,
					 stop.end_ns - stop.begin_ns);
	if (!s->stall.known)
		r->unmeasured = true;
	join_overlapping(r, &stop);
	r->stopped_ns += stop.stopped_ns;
	spread(r, stop.stopped_ns, true, stop.begin_ns, stop.end_ns);
	/* A pause of a cycle that goes on beside the program is nested and is a stop all the same. */
	if (s->end == SPAN_COMPLETE)
		note_stop_length(r, s, ns);
}

/* What is there when a collection begins and was not when the last one ended has been allocated meanwhile. */
static void add_allocation(struct rate *r, const struct collect_span *s)
{
	if (s->has_before && r->has_after && s->begin_ns >= r->after_ns && s->end_ns > r->after_ns) {
		r->pair_bytes = s->before > r->after ? s->before - r->after : 0;
		r->pair_ns = s->end_ns - r->after_ns;
		r->has_allocation = true;
		spread(r, r->pair_bytes, false, r->after_ns, s->end_ns);
	}
	if (!s->has_after)
		return;
	r->has_after = true;
	r->after = s->after;
	r->after_ns = s->end_ns;
}

void rate_add(struct rate *r, const struct collect_span *s)
{
	struct rate_slot *slot;
	uint64_t n = second_of(r, s->end_ns);

	if (span_has_no_length(s->end))
		return;
	advance(r, n);
	if (s->def->stops)
		add_stop(r, s);
	if (s->nested || (r->kind && strcmp(s->def->kind, r->kind)))
		return;
	r->count++;
	slot = slot_of(r, n);
	if (slot)
		slot->count++;
	if (!strcmp(s->def->kind, "gc") && s->end == SPAN_COMPLETE)
		add_allocation(r, s);
}

/* The slot of second @n when @now is the newest; an empty one where nothing has come since. */
static struct rate_slot slot_at(const struct rate *r, uint64_t n, uint64_t now)
{
	bool kept = n <= r->newest && r->newest - n < RATE_SLOTS && now - n < RATE_SLOTS;

	return kept ? r->slot[n % RATE_SLOTS] : (struct rate_slot){ 0 };
}

static double share_of(uint64_t part, uint64_t whole)
{
	double share = whole ? (double)part / (double)whole : 0;

	return share > 1 ? 1 : share;
}

/* Of the columns the last one ends with the second that is now; each begins at a multiple of its own length. */
static void view_bar(const struct rate *r, uint64_t now_ns, struct rate_view *v)
{
	uint64_t now = second_of(r, now_ns), step = RATE_SLOTS / v->nbar, last = now / step;

	for (unsigned i = 0; i < v->nbar; i++) {
		uint64_t back = v->nbar - 1 - i, first = (last - back) * step, stopped = 0, whole = step * SECOND;

		v->bar[i] = -1;
		if (back > last)
			continue;
		for (uint64_t n = first; n < first + step && n <= now; n++)
			stopped += slot_at(r, n, now).stopped_ns;
		if (!back)
			whole = now_ns - r->start_ns - first * SECOND;
		v->bar[i] = (float)share_of(stopped, whole);
	}
}

static void view_window(const struct rate *r, uint64_t now_ns, struct rate_view *v)
{
	uint64_t now = second_of(r, now_ns), first = now < RATE_WINDOW ? 0 : now - RATE_WINDOW + 1, elapsed;
	struct rate_slot sum = { 0 };

	for (uint64_t n = first; n <= now; n++) {
		struct rate_slot s = slot_at(r, n, now);

		sum.count += s.count;
		sum.stopped_ns += s.stopped_ns;
		sum.allocated += s.allocated;
		sum.allocated_ns += s.allocated_ns;
	}
	elapsed = now_ns > r->start_ns + first * SECOND ? now_ns - r->start_ns - first * SECOND : 0;
	elapsed = most_u64(elapsed, SECOND); /* the first moments say little */
	v->per_second = (double)sum.count * SECOND / (double)elapsed;
	v->share = share_of(sum.stopped_ns, elapsed);
	if (!r->has_allocation)
		return;
	v->has_allocation = true;
	if (!sum.allocated_ns) {
		sum.allocated = r->pair_bytes;
		sum.allocated_ns = r->pair_ns;
	}
	v->allocation = sum.allocated_ns ? (double)sum.allocated * SECOND / (double)sum.allocated_ns : 0;
}

void rate_view(const struct rate *r, uint64_t now_ns, unsigned columns, struct rate_view *ret)
{
	uint64_t now;

	/* An event may be newer than the caller's clock, by the time it took to come here. */
	now_ns = most_u64(now_ns, r->start_ns + r->newest * SECOND);
	now = second_of(r, now_ns);
	*ret = (struct rate_view){ .count = r->count,
				   .stopped_ns = r->stopped_ns,
				   .longest_ns = r->longest_ns,
				   .measured = !r->unmeasured,
				   .nbar = columns && RATE_SLOTS % columns == 0 ? columns : 1 };
	ret->total_share = share_of(r->stopped_ns, now_ns - r->start_ns);
	for (uint64_t n = now < RATE_SLOTS ? 0 : now - RATE_SLOTS + 1; n <= now; n++)
		ret->minute_longest_ns = most_u64(ret->minute_longest_ns, slot_at(r, n, now).longest_ns);
	view_window(r, now_ns, ret);
	view_bar(r, now_ns, ret);
}

uint64_t rate_quantile(const struct rate *r, double share)
{
	double wanted = share * (double)r->nlengths;
	uint64_t n = 0;

	for (unsigned i = 0; i < RATE_BUCKETS; i++) {
		uint64_t top;

		n += r->bucket[i];
		if (!r->bucket[i] || (double)n < wanted)
			continue;
		/* The upper edge, but never more than the longest of all. */
		top = i < 2 * SUB ? (i + 1) * 125u : (uint64_t)(SUB + i % SUB + 1) * (UINT64_C(125) << (i / SUB - 1));
		return least_u64(top, r->longest_ns);
	}
	return r->longest_ns;
}

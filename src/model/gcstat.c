/* SPDX-License-Identifier: MIT */
/* Spans of one process added up by kind and label, and what a report says of them. */
#include "model/gcstat.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/sum.h"
#include "model/gcstat_priv.h"

struct row {
	char *runtime, *kind, *label, *part_of; /* label, part_of: may be NULL */
	struct lengths lengths;
	struct cover cover;
	struct gcstat_row sum; /* what can be added up as it comes */
};

/* All of a kind of one runtime. */
struct kind {
	struct row all;
	VEC(struct row *) labels;
	struct row *others; /* of labels beyond the limit */
};

struct gcstat {
	uint64_t start_ns;
	size_t max_exact, max_labels;
	VEC(struct kind *) kinds;
	struct stops stops;
	uint64_t stopping, unmeasured; /* spans that stop the program; of which it is not known for how long */
	struct gcstat_longest longest_stop, longest_gc_stop;
	uint64_t ends[SPAN_ENDS], lost_inside;
	VEC(struct gcstat_row) rows; /* of the latest report */
};

struct gcstat *gcstat_new_limited(uint64_t start_ns, size_t max_exact, size_t max_stops, size_t max_labels)
{
	struct gcstat *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->start_ns = start_ns;
	g->max_exact = max_exact;
	g->max_labels = max_labels;
	g->stops.max = max_stops;
	return g;
}

struct gcstat *gcstat_new(uint64_t start_ns)
{
	return gcstat_new_limited(start_ns, GCSTAT_EXACT, GCSTAT_STOPS, GCSTAT_LABELS);
}

static void row_done(struct row *r)
{
	lengths_done(&r->lengths);
	cover_done(&r->cover);
	free(r->runtime);
	free(r->kind);
	free(r->label);
	free(r->part_of);
}

static void kind_free(struct kind *k)
{
	row_done(&k->all);
	for (size_t i = 0; i < k->labels.n; i++) {
		row_done(k->labels.v[i]);
		free(k->labels.v[i]);
	}
	vec_done(&k->labels);
	free(k);
}

struct gcstat *gcstat_free(struct gcstat *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < g->kinds.n; i++)
		kind_free(g->kinds.v[i]);
	vec_done(&g->kinds);
	vec_done(&g->rows);
	stops_done(&g->stops);
	free(g);
	return NULL;
}

static int row_init(struct row *r, const struct gcstat *g, const struct collect_def *def, const char *label)
{
	*r = (struct row){ .lengths = { .max = g->max_exact },
			   .runtime = strdup(def->runtime),
			   .kind = strdup(def->kind) };
	r->label = label ? strdup(label) : NULL;
	r->part_of = def->part_of ? strdup(def->part_of) : NULL;
	return !r->runtime || !r->kind || (label && !r->label) || (def->part_of && !r->part_of) ? -ENOMEM : 0;
}

static struct kind *find_kind_rows(const struct gcstat *g, const char *runtime, const char *kind)
{
	for (size_t i = 0; i < g->kinds.n; i++)
		if (!strcmp(g->kinds.v[i]->all.kind, kind) && !strcmp(g->kinds.v[i]->all.runtime, runtime))
			return g->kinds.v[i];
	return NULL;
}

static struct kind *get_kind_rows(struct gcstat *g, const struct collect_def *def)
{
	struct kind *k = find_kind_rows(g, def->runtime, def->kind);

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	if (row_init(&k->all, g, def, NULL) < 0 || vec_push(&g->kinds, k) < 0) {
		kind_free(k);
		return NULL;
	}
	return k;
}

static struct row *get_label_row(struct gcstat *g, struct kind *k, const struct collect_span *span)
{
	bool full = k->labels.n >= g->max_labels;
	struct row *r;

	for (size_t i = 0; i < k->labels.n; i++)
		if (!strcmp(k->labels.v[i]->label, span->label))
			return k->labels.v[i];
	if (full && k->others)
		return k->others;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	if (row_init(r, g, span->def, full ? GCSTAT_OTHERS : span->label) < 0 || vec_push(&k->labels, r) < 0) {
		row_done(r);
		free(r);
		return NULL;
	}
	if (full)
		k->others = r;
	return r;
}

/* As much as fits, without a part of a UTF-8 character. */
static void copy_label(char *to, size_t room, const char *from)
{
	size_t len = strnlen(from, room);

	if (len == room)
		for (len--; len && ((unsigned char)from[len] & 0xc0) == 0x80;)
			len--;
	memcpy(to, from, len);
	to[len] = '\0';
}

static void update_longest(struct gcstat_longest *l, uint64_t ns, const struct collect_span *span)
{
	if (ns <= l->ns)
		return;
	l->ns = ns;
	l->begin_ns = span->begin_ns;
	copy_label(l->kind, sizeof(l->kind), span->def->kind);
	copy_label(l->label, sizeof(l->label), span->label);
	copy_label(l->cause, sizeof(l->cause), span->cause);
}

static uint64_t stop_length_ns(const struct collect_span *span)
{
	return span->stall.known ? span->stall.stopped_ns : span->end_ns - span->begin_ns;
}

static int row_add(struct row *r, const struct collect_span *span)
{
	const struct stall *s = &span->stall;
	/* While a concurrent collector works, the program may be idle: that is no stop. */
	struct cover_times times = { { [COVER_STOPPED] = span->def->stops ? s->stopped_ns : 0,
				       [COVER_WAITED] = span->def->stops ? s->waited_ns : 0,
				       [COVER_COLLECTOR] = s->collector_ns,
				       [COVER_PROGRAM] = s->program_ns,
				       [COVER_HELD] = s->held_ns } };
	uint64_t ns = span->end_ns - span->begin_ns;

	if (lengths_add(&r->lengths, ns) < 0 || cover_add(&r->cover, span->begin_ns, span->end_ns, &times) < 0)
		return -ENOMEM;
	r->sum.count++;
	r->sum.total_ns += ns;
	r->sum.stopped_count += s->known;
	r->sum.stops |= span->def->stops;
	r->sum.has_freed |= span->has_freed;
	if (span->has_freed)
		add_u64(&r->sum.freed, span->freed);
	update_longest(&r->sum.longest, ns, span);
	if (span->def->stops)
		update_longest(&r->sum.longest_stop, stop_length_ns(span), span);
	return 0;
}

static int add_stop_span(struct gcstat *g, const struct collect_span *span)
{
	g->stopping++;
	g->unmeasured += !span->stall.known;
	update_longest(&g->longest_stop, stop_length_ns(span), span);
	if (!strcmp(span->def->kind, "gc"))
		update_longest(&g->longest_gc_stop, stop_length_ns(span), span);
	return stops_add(&g->stops, span->begin_ns, span->end_ns, stop_length_ns(span));
}

int gcstat_add(struct gcstat *g, const struct collect_span *span)
{
	struct kind *k = get_kind_rows(g, span->def);
	struct row *r = k ? get_label_row(g, k, span) : NULL;

	if (!r)
		return -ENOMEM;
	g->ends[span->end]++;
	if (span->end != SPAN_COMPLETE) {
		k->all.sum.stops |= span->def->stops;
		r->sum.stops |= span->def->stops;
		k->all.sum.incomplete++;
		r->sum.incomplete++;
		return 0;
	}
	g->lost_inside += span->lost_inside;
	if (row_add(&k->all, span) < 0 || row_add(r, span) < 0)
		return -ENOMEM;
	return span->def->stops ? add_stop_span(g, span) : 0;
}

static struct gcstat_row row_report(const struct gcstat *g, struct row *r)
{
	struct gcstat_row ret = r->sum;
	const uint64_t *times = r->cover.times.ns;
	const struct kind *whole = r->part_of ? find_kind_rows(g, r->runtime, r->part_of) : NULL;

	ret.runtime = r->runtime;
	ret.kind = r->kind;
	ret.label = r->label;
	ret.part_of = r->part_of;
	ret.part_of_count = whole ? whole->all.sum.count : 0;
	ret.covered_ns = r->cover.total_ns;
	ret.median_ns = lengths_percentile(&r->lengths, 500);
	ret.p90_ns = lengths_percentile(&r->lengths, 900);
	ret.p99_ns = lengths_percentile(&r->lengths, 990);
	ret.p999_ns = lengths_percentile(&r->lengths, 999);
	ret.stopped_ns = times[COVER_STOPPED];
	ret.waited_ns = times[COVER_WAITED];
	ret.collector_ns = times[COVER_COLLECTOR];
	ret.program_ns = times[COVER_PROGRAM];
	ret.held_ns = times[COVER_HELD];
	return ret;
}

static unsigned kind_order(const char *kind)
{
	static const char *const order[] = { "gc",   "gc-phase", "safepoint", "compile", "class-load",
					     "park", "request",	 "exception", "thread",	 "signal" };
	unsigned i = 0;

	while (i < ARRAY_SIZE(order) && strcmp(order[i], kind) != 0)
		i++;
	return i;
}

static int compare_kinds(const void *a, const void *b)
{
	const struct row *x = &(*(struct kind *const *)a)->all, *y = &(*(struct kind *const *)b)->all;
	int places = (int)kind_order(x->kind) - (int)kind_order(y->kind), names = strcmp(x->kind, y->kind);

	return places ? places : names ? names : strcmp(x->runtime, y->runtime);
}

static int compare_row_totals(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;

	if (x->sum.total_ns != y->sum.total_ns)
		return x->sum.total_ns < y->sum.total_ns ? 1 : -1;
	return strcmp(x->label, y->label);
}

static int report_rows(struct gcstat *g)
{
	int r = 0;

	g->rows.n = 0;
	if (g->kinds.n)
		qsort(g->kinds.v, g->kinds.n, sizeof(*g->kinds.v), compare_kinds);
	for (size_t i = 0; i < g->kinds.n && !r; i++) {
		struct kind *k = g->kinds.v[i];

		if (k->labels.n)
			qsort(k->labels.v, k->labels.n, sizeof(*k->labels.v), compare_row_totals);
		r = vec_push(&g->rows, row_report(g, &k->all));
		for (size_t l = 0; l < k->labels.n && !r; l++)
			r = vec_push(&g->rows, row_report(g, k->labels.v[l]));
	}
	return r;
}

/* With safepoints shown, the one around a collection is a little longer, and the collection is of more interest. */
static struct gcstat_longest choose_longest_stop(const struct gcstat *g)
{
	return g->longest_gc_stop.ns >= g->longest_stop.ns / 10 * 9 && g->longest_gc_stop.ns ? g->longest_gc_stop
											     : g->longest_stop;
}

int gcstat_report(struct gcstat *g, uint64_t end_ns, struct gcstat_report *ret)
{
	static const uint64_t windows[GCSTAT_WINDOWS] = { 1000000, 10000000, 100000000, 1000000000, 10000000000 };
	int r = report_rows(g);

	if (r < 0)
		return r;
	*ret = (struct gcstat_report){
		.start_ns = g->start_ns,
		.end_ns = end_ns > g->start_ns ? end_ns : g->start_ns,
		.rows = g->rows.v,
		.nrows = g->rows.n,
		.stopped_ns = g->stops.stopped_ns,
		.pause_ns = g->stops.pause_ns,
		.measured = !g->stopping || g->unmeasured < g->stopping,
		.unmeasured = g->unmeasured,
		.longest_stop = choose_longest_stop(g),
		.joined_stops = g->stops.joined,
		.lost_inside = g->lost_inside,
	};
	memcpy(ret->ends, g->ends, sizeof(ret->ends));
	ret->stops = stops_histogram(&g->stops, ret->histogram);
	for (size_t i = 0; i < GCSTAT_WINDOWS; i++) {
		ret->window_ns[i] = windows[i];
		ret->utilisation[i] = stops_utilisation(&g->stops, ret->start_ns, ret->end_ns, windows[i]);
	}
	return 0;
}

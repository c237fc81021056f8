/* SPDX-License-Identifier: MIT */
/* Events of runtimes as begins and ends for the pairing engine, and the spans that result. */
#include "model/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "model/collect_priv.h"
#include "wire/record.h"

TAILQ_HEAD(collect_items, collect_item);

/* The data of a pair. Those that «only» leaves out are kept to find their ends; they are in no list. */
struct collect_item {
	TAILQ_ENTRY(collect_item) of_def, of_kind; /* the oldest first */
	struct collect_items *def_items, *kind_items; /* NULL: left out */
	bool undecided; /* left out, unless a later value matches «only» */
	unsigned def;
	bool has_state;
	struct ut_rec_state state;
	struct collect_span span; /* as far as it is known */
	size_t nvalues;
	struct collect_value values[]; /* with their names and texts */
};

/* Of a process: its open spans by definition, then by kind. */
struct collect_proc {
	struct collect_items items; /* not initialized while tqh_last is NULL */
	uint64_t numbered; /* of a definition */
};

struct collect {
	const struct collect_def *defs;
	size_t ndefs, nkinds;
	unsigned *kind_of; /* of a definition */
	struct collect_def_keys *keys; /* of a definition */
	bool *nests; /* two of a definition were open at once where one end would close either */
	uint64_t start_ns, base_ns;
	int (*fn)(void *ctx, const struct collect_span *span);
	void *ctx;
	const struct collect_event *ending; /* the event that ends spans now; NULL */
	VEC(struct collect_value) joined; /* values of the reported span */
	struct pairs *pairs;
};

static void number_kinds(struct collect *c)
{
	for (size_t i = 0; i < c->ndefs; i++) {
		size_t same = 0;

		while (strcmp(c->defs[same].kind, c->defs[i].kind) != 0)
			same++;
		c->kind_of[i] = same < i ? c->kind_of[same] : (unsigned)c->nkinds++;
	}
}

static int on_ended(void *ctx, struct pair *pair, struct span *ended);

struct collect *collect_new_limited(const struct collect_def *defs, size_t n, uint64_t start_ns, uint64_t base_ns,
				    int (*fn)(void *ctx, const struct collect_span *span), void *ctx,
				    const struct pair_limits *limits)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->defs = defs;
	c->ndefs = n;
	c->start_ns = start_ns;
	c->base_ns = base_ns;
	c->fn = fn;
	c->ctx = ctx;
	c->kind_of = calloc(n + 1, sizeof(*c->kind_of));
	c->nests = calloc(n + 1, sizeof(*c->nests));
	c->keys = collect_def_keys_new(defs, n);
	if (!c->kind_of || !c->nests || !c->keys)
		return collect_free(c);
	number_kinds(c);
	c->pairs = pairs_new(&(struct pairs_options){ .limits = *limits,
						      .process_room = (n + c->nkinds) * sizeof(struct collect_proc),
						      .ended = on_ended,
						      .ctx = c });
	return c->pairs ? c : collect_free(c);
}

struct collect *collect_new(const struct collect_def *defs, size_t n, uint64_t start_ns, uint64_t base_ns,
			    int (*fn)(void *ctx, const struct collect_span *span), void *ctx)
{
	static const struct pair_limits usual = {
		.per_process = COLLECT_OPEN_MAX, .all = 262144, .idle = 4096, .heritage = 1024, .all_heritage = 262144
	};

	return collect_new_limited(defs, n, start_ns, base_ns, fn, ctx, &usual);
}

struct collect *collect_free(struct collect *c)
{
	if (!c)
		return NULL;
	pairs_free(c->pairs);
	vec_done(&c->joined);
	free(c->kind_of);
	free(c->nests);
	free(c->keys);
	free(c);
	return NULL;
}

/* Of a process's bytes: number @i, of a definition or, behind these, of a kind. */
static struct collect_items *items_of(struct collect_proc *proc, size_t i)
{
	if (!proc[i].items.tqh_last)
		TAILQ_INIT(&proc[i].items);
	return &proc[i].items;
}

uint64_t collect_stopped_since(const struct collect *c, uint32_t pid)
{
	struct collect_proc *proc = pairs_process(c->pairs, pid, false);
	const struct collect_item *item;

	for (size_t i = 0; proc && i < c->ndefs; i++) {
		if (strcmp(c->defs[i].kind, "gc"))
			continue;
		TAILQ_FOREACH(item, items_of(proc, c->ndefs + c->kind_of[i]), of_kind)
		if (item->span.def->stops)
			return item->span.begin_ns;
		break;
	}
	return 0;
}

static int report_span(struct collect *c, struct collect_item *item, const struct span *ended)
{
	struct collect_span *span = &item->span;
	const struct collect_event *end = c->ending;

	/* The values of its begin, then those of its end. */
	span->nvalues = item->nvalues + (end ? end->nvalues : 0);
	if (span->nvalues && vec_reserve(&c->joined, span->nvalues))
		return -ENOMEM;
	if (item->nvalues)
		memcpy(c->joined.v, item->values, item->nvalues * sizeof(*item->values));
	if (end && end->nvalues)
		memcpy(c->joined.v + item->nvalues, end->values, end->nvalues * sizeof(*end->values));
	span->values = c->joined.v;
	span->end = ended->end;
	span->end_ns = ended->end_ns;
	span->lost_inside = ended->flags & SPAN_LOST_INSIDE;
	span->nested = TAILQ_FIRST(item->kind_items) != item;
	if (end)
		collect_add_values(span, &c->keys[item->def], end);
	if (end && item->has_state)
		span->stall = stall_between(&item->state, span->begin_ns, end->state, end->time_ns, c->base_ns);
	collect_conclude(span);
	return c->fn(c->ctx, span);
}

static int on_ended(void *ctx, struct pair *pair, struct span *ended)
{
	struct collect_item *item = pair_data(pair);
	struct collect *c = ctx;
	int r = 0;

	if (!item->kind_items)
		return 0;
	if (ended)
		r = report_span(c, item, ended);
	TAILQ_REMOVE(item->def_items, item, of_def);
	TAILQ_REMOVE(item->kind_items, item, of_kind);
	return r;
}

/* The key of the pair that an end @e closes; begins that are left out have their own. */
static struct pair_event pair_event_of(const struct collect *c, const struct collect_event *e, bool left_out)
{
	const struct collect_def *def = &c->defs[e->def];
	const struct collect_value *id = def->by == PAIR_BY_ID ? collect_value_of(e, COLLECT_ID) : NULL;
	struct pair_event ret = { .time_ns = e->time_ns,
				  .pid = e->pid,
				  .tid = e->tid,
				  .by = def->by,
				  .what = (uint64_t)e->def << 1 | left_out };

	if (id && id->is_text) {
		ret.id = UINT64_MAX;
		ret.name = id->text;
		ret.name_len = id->len < COLLECT_VALUE_TEXT ? id->len : COLLECT_VALUE_TEXT;
	} else if (id) {
		ret.id = (uint64_t)id->number;
	}
	return ret;
}

/* The newest pair that an end like @e closes; @fit: whether its own values match «only». */
static struct pair *newest_open(const struct collect *c, const struct collect_event *e, enum collect_fit fit)
{
	struct pair_event in = pair_event_of(c, e, false), out = pair_event_of(c, e, true);
	struct pair *one = pairs_newest(c->pairs, &in), *other = NULL;

	if (!c->defs[e->def].nonly || fit == COLLECT_FITS)
		return one;
	other = pairs_newest(c->pairs, &out);
	while (one && fit == COLLECT_FITS_NOT && !((struct collect_item *)pair_data(one))->undecided)
		one = pair_older(one);
	return one && (!other || pair_is_newer(one, other)) ? one : other;
}

/* The span matches «only»: from now on it is not left out. */
static void include_item(struct collect *c, struct collect_proc *proc, struct collect_item *item)
{
	item->undecided = false;
	item->span.number = ++proc[item->def].numbered;
	item->def_items = items_of(proc, item->def);
	item->kind_items = items_of(proc, c->ndefs + c->kind_of[item->def]);
	TAILQ_INSERT_TAIL(item->def_items, item, of_def);
	TAILQ_INSERT_TAIL(item->kind_items, item, of_kind);
}

/*
 * If a span with the same key is open already, such spans nest, as queries of a database do. But if events were lost and
 * these never nest, the end of the old one was lost.
 */
static int replace_lost(struct collect *c, const struct collect_event *e)
{
	struct pair *old = newest_open(c, e, COLLECT_FITS);
	uint64_t lost_ns;

	if (old && !pairs_lost_after(c->pairs, old, pair_begun(old).time_ns, &lost_ns))
		c->nests[e->def] = true;
	else if (old && !c->nests[e->def])
		return pairs_close(c->pairs, old, lost_ns < e->time_ns ? lost_ns : e->time_ns, SPAN_LOST);
	return 0;
}

static int begin_span(struct collect *c, const struct collect_event *e)
{
	enum collect_fit fit = collect_only_fits(&c->defs[e->def], &c->keys[e->def], e);
	struct collect_proc *proc = pairs_process(c->pairs, e->pid, true);
	struct pair_event event = pair_event_of(c, e, fit == COLLECT_FITS_NOT);
	struct collect_item *item;
	struct pair *pair;
	int r;

	if (!proc)
		return -ENOMEM;
	r = fit == COLLECT_FITS ? replace_lost(c, e) : 0;
	if (r)
		return r;
	pair = pairs_begin(c->pairs, &event, sizeof(*item) + (fit == COLLECT_FITS_NOT ? 0 : collect_values_room(e)));
	if (!pair)
		return -ENOMEM;
	item = pair_data(pair);
	item->def = e->def;
	item->undecided = fit == COLLECT_FIT_UNKNOWN;
	item->has_state = e->state != NULL;
	if (e->state)
		item->state = *e->state;
	item->span =
		(struct collect_span){ .def = &c->defs[e->def], .pid = e->pid, .tid = e->tid, .begin_ns = e->time_ns };
	memcpy(item->span.comm, e->comm, sizeof(item->span.comm));
	if (fit != COLLECT_FITS_NOT) {
		item->nvalues = collect_values_copy(e, item->values);
		collect_add_values(&item->span, &c->keys[e->def], e);
	}
	if (fit == COLLECT_FITS)
		include_item(c, proc, item);
	return pairs_trim(c->pairs, pair);
}

static int end_without_begin(struct collect *c, const struct collect_event *e)
{
	struct collect_proc *proc = pairs_process(c->pairs, e->pid, true);
	struct pair_event event = pair_event_of(c, e, false);
	struct collect_span span = {
		.def = &c->defs[e->def],
		.pid = e->pid,
		.tid = e->tid,
		.end_ns = e->time_ns,
		.values = e->values,
		.nvalues = e->nvalues,
	};

	if (!proc)
		return -ENOMEM;
	span.number = ++proc[e->def].numbered;
	span.end = pairs_without(c->pairs, &event, &span.begin_ns);
	memcpy(span.comm, e->comm, sizeof(span.comm));
	if (span.begin_ns < c->start_ns)
		span.begin_ns = c->start_ns;
	if (span.end == SPAN_ORPHAN || span.begin_ns > span.end_ns)
		span.begin_ns = span.end_ns;
	span.lost_inside = span.end == SPAN_LOST;
	collect_add_values(&span, &c->keys[e->def], e);
	collect_conclude(&span);
	return c->fn(c->ctx, &span);
}

/* @fails: everything open there has ended without an event, inner ones first. */
static int end_spans(struct collect *c, const struct collect_event *e)
{
	const struct collect_value *failed = collect_value_of(e, COLLECT_FAILED);
	bool fails = failed && !failed->is_text && failed->number;
	enum collect_fit fit = fails ? COLLECT_FIT_UNKNOWN : collect_only_fits(&c->defs[e->def], &c->keys[e->def], e);
	struct pair *pair = newest_open(c, e, fit);
	struct collect_item *item;
	int r;

	if (!pair) /* unless it matches, it may be an end of another kind */
		return fit == COLLECT_FITS ? end_without_begin(c, e) : 0;
	c->ending = e;
	do {
		item = pair_data(pair);
		if (item->undecided && fit == COLLECT_FITS)
			include_item(c, pair_process(pair), item);
		r = pairs_end(c->pairs, pair, e->time_ns, e->tid);
		pair = fails ? newest_open(c, e, fit) : NULL;
	} while (pair && !r);
	c->ending = NULL;
	return r;
}

/* Adds values to the newest span of the thread or id, if ends are matched so, else to the newest of the process. */
static void add_inside(struct collect *c, const struct collect_event *e)
{
	enum collect_fit fit = collect_only_fits(&c->defs[e->def], &c->keys[e->def], e);
	struct collect_proc *proc = pairs_process(c->pairs, e->pid, false);
	struct pair *pair = newest_open(c, e, fit);
	struct collect_item *item;

	if (!proc || fit == COLLECT_FITS_NOT)
		return;
	item = pair ? pair_data(pair) : TAILQ_LAST(items_of(proc, e->def), collect_items);
	if (item && item->undecided && fit == COLLECT_FITS)
		include_item(c, proc, item);
	if (item && (item->kind_items || item->undecided))
		collect_add_values(&item->span, &c->keys[e->def], e);
}

int collect_event(struct collect *c, const struct collect_event *e)
{
	if (e->def >= c->ndefs)
		return 0;
	switch (e->role) {
	case COLLECT_BEGIN: return begin_span(c, e);
	case COLLECT_END: return end_spans(c, e);
	case COLLECT_INSIDE: add_inside(c, e); break;
	}
	return 0;
}

struct pairs *collect_pairs(const struct collect *c) { return c->pairs; }

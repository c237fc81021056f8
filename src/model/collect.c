/* SPDX-License-Identifier: MIT */
/* Events of runtimes to spans: what an event begins, tells more of, or ends, and how a span ends that nothing ends. */
#include "model/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/collect_priv.h"

static void number_kinds(struct collect *c)
{
	for (size_t i = 0; i < c->ndefs; i++) {
		size_t same = 0;

		while (strcmp(c->defs[same].kind, c->defs[i].kind) != 0)
			same++;
		c->kind_of[i] = same < i ? c->kind_of[same] : (unsigned)c->nkinds++;
	}
}

struct collect *collect_new(const struct collect_def *defs, size_t n, uint64_t start_ns, uint64_t base_ns,
			    int (*fn)(void *ctx, const struct collect_span *span), void *ctx)
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
	TAILQ_INIT(&c->procs);
	c->kind_of = calloc(n + 1, sizeof(*c->kind_of));
	c->nests = calloc(n + 1, sizeof(*c->nests));
	if (!c->kind_of || !c->nests)
		return collect_free(c);
	number_kinds(c);
	return c;
}

struct collect *collect_free(struct collect *c)
{
	if (!c)
		return NULL;
	while (!TAILQ_EMPTY(&c->procs))
		collect_proc_drop(c, TAILQ_FIRST(&c->procs));
	vec_done(&c->joined);
	free(c->kind_of);
	free(c->nests);
	free(c);
	return NULL;
}

uint64_t collect_stopped_since(const struct collect *c, uint32_t pid)
{
	const struct collect_proc *proc = collect_proc_find(c, pid);
	const struct collect_item *item;

	if (!proc)
		return 0;
	TAILQ_FOREACH(item, &proc->items, of_proc)
	if (!item->left_out && item->span.def->stops && !strcmp(item->span.def->kind, "gc"))
		return item->span.begin_ns;
	return 0;
}

const struct collect_counts *collect_counts(const struct collect *c) { return &c->counts; }

static int give(struct collect *c, struct collect_span *span, enum span_end end)
{
	uint64_t *const count[] = {
		[SPAN_COMPLETE] = &c->counts.spans,	 [SPAN_BEFORE_ATTACH] = &c->counts.cut_at_start,
		[SPAN_OPEN] = &c->counts.cut_at_stop,	 [SPAN_PROCESS_EXITED] = &c->counts.died,
		[SPAN_EXEC] = &c->counts.died,		 [SPAN_THREAD_EXITED] = &c->counts.died,
		[SPAN_INHERITED] = &c->counts.inherited, [SPAN_LOST] = &c->counts.forgotten,
		[SPAN_EVICTED] = &c->counts.forgotten,
	};

	++*count[end];
	span->end = end;
	if (span->end_ns < span->begin_ns)
		span->end_ns = span->begin_ns;
	collect_conclude(span);
	return c->fn(c->ctx, span);
}

static bool lost_since(const struct collect *c, uint64_t ns) { return c->lost && c->lost_until_ns > ns; }

/* Its begin's values, then those of its end. */
static int join_values(struct collect *c, const struct collect_item *item, const struct collect_event *end)
{
	size_t n = item->nvalues + (end ? end->nvalues : 0);

	if (n && vec_reserve(&c->joined, n))
		return -ENOMEM;
	if (item->nvalues)
		memcpy(c->joined.v, item->values, item->nvalues * sizeof(*item->values));
	if (end && end->nvalues)
		memcpy(c->joined.v + item->nvalues, end->values, end->nvalues * sizeof(*end->values));
	c->joined.n = n;
	return 0;
}

/* The item is gone when it returns. @end: what ended it, or NULL. */
static int close_item(struct collect *c, struct collect_item *item, enum span_end close, uint64_t time_ns,
		      const struct collect_event *end)
{
	struct collect_span span = item->span;
	int r = join_values(c, item, end);

	if (!r && !item->left_out) {
		span.end_ns = time_ns;
		span.nested = TAILQ_FIRST(&item->proc->kinds[c->kind_of[item->def]]) != item;
		span.lost_inside = lost_since(c, span.begin_ns);
		if (end)
			collect_learn(&span, end);
		if (end && item->has_state)
			span.stall = stall_between(&item->state, span.begin_ns, end->state, time_ns, c->base_ns);
		span.values = c->joined.v;
		span.nvalues = c->joined.n;
		r = give(c, &span, close);
	}
	collect_item_drop(c, item);
	return r;
}

/* Inner ones first. @tid: those of this thread alone, that nothing else can end; 0: all. */
static int close_all(struct collect *c, struct collect_proc *proc, enum span_end close, uint64_t time_ns, uint32_t tid)
{
	struct collect_item *item = TAILQ_LAST(&proc->items, collect_items), *outer;
	int r = 0;

	for (; item; item = outer) {
		outer = TAILQ_PREV(item, collect_items, of_proc);
		if (tid && (c->defs[item->def].by != COLLECT_BY_THREAD || item->key != tid))
			continue;
		if (r)
			collect_item_drop(c, item);
		else
			r = close_item(c, item, close, time_ns, NULL);
	}
	return r;
}

/*
 * One that is open already where the new one would be ended: they nest, as queries of a database do. But when
 * events were lost and these never nest, it is the end of the old one that was lost.
 */
static int replace_lost(struct collect *c, struct collect_proc *proc, const struct collect_event *e)
{
	struct collect_item *old = collect_item_find(c, proc, e->def, collect_key(c, e), COLLECT_FITS);

	if (!old)
		return 0;
	if (!lost_since(c, old->span.begin_ns)) {
		c->nests[e->def] = true;
		return 0;
	}
	if (c->nests[e->def])
		return 0;
	return close_item(c, old, SPAN_LOST, c->lost_until_ns < e->time_ns ? c->lost_until_ns : e->time_ns, NULL);
}

static int begin(struct collect *c, const struct collect_event *e)
{
	enum collect_fit fit = collect_only_fits(&c->defs[e->def], e);
	struct collect_proc *proc = collect_proc_get(c, e->pid);
	struct collect_item *item;
	int r;

	if (!proc)
		return -ENOMEM;
	r = fit == COLLECT_FITS ? replace_lost(c, proc, e) : 0;
	if (r < 0)
		return r;
	item = collect_item_new(c, proc, e, fit);
	if (!item)
		return -ENOMEM;
	if (fit != COLLECT_FITS_NOT)
		collect_learn(&item->span, e);
	if (proc->nitems <= COLLECT_OPEN_MAX)
		return 0;
	return close_item(c, TAILQ_FIRST(&proc->items), SPAN_EVICTED, e->time_ns, NULL);
}

/* An end whose begin is not here: where it was, and since when that may have been. */
static enum span_end why_no_begin(const struct collect *c, struct collect_proc *proc, const struct collect_event *e,
				  uint64_t *ret_since)
{
	struct collect_proc_def *d = &proc->defs[e->def];

	*ret_since = proc->started && proc->started_ns > c->start_ns ? proc->started_ns : c->start_ns;
	/* Of the threads of a process only the first comes from its parent. */
	if (d->inherited && (c->defs[e->def].by != COLLECT_BY_THREAD || e->tid == e->pid)) {
		d->inherited--;
		return SPAN_INHERITED;
	}
	if (!d->seen || !lost_since(c, *ret_since))
		return SPAN_BEFORE_ATTACH;
	if (c->lost_since_ns > *ret_since)
		*ret_since = c->lost_since_ns;
	return SPAN_LOST;
}

static int end_without_begin(struct collect *c, struct collect_proc *proc, const struct collect_event *e)
{
	struct collect_span span = {
		.def = &c->defs[e->def],
		.pid = e->pid,
		.tid = e->tid,
		.end_ns = e->time_ns,
		.values = e->values,
		.nvalues = e->nvalues,
		.number = ++proc->defs[e->def].numbered,
	};
	enum span_end close = why_no_begin(c, proc, e, &span.begin_ns);

	memcpy(span.comm, e->comm, sizeof(span.comm));
	if (span.begin_ns > span.end_ns)
		span.begin_ns = span.end_ns;
	span.lost_inside = lost_since(c, span.begin_ns);
	collect_learn(&span, e);
	return give(c, &span, close);
}

/* Whatever is open there ended without saying so: inner ones first. */
static int end_failed(struct collect *c, struct collect_proc *proc, const struct collect_event *e)
{
	struct collect_item *item;
	int r = 0;

	while (!r && (item = collect_item_find(c, proc, e->def, collect_key(c, e), COLLECT_FIT_UNKNOWN)))
		r = close_item(c, item, SPAN_COMPLETE, e->time_ns, e);
	return r;
}

static bool has_failed(const struct collect_event *e)
{
	const struct collect_value *v = collect_value_of(e, "failed");

	return v && !v->is_text && v->number;
}

static int end(struct collect *c, const struct collect_event *e)
{
	enum collect_fit fit = collect_only_fits(&c->defs[e->def], e);
	struct collect_proc *proc = fit == COLLECT_FITS ? collect_proc_get(c, e->pid) : collect_proc_find(c, e->pid);
	struct collect_item *item;
	int r = 0;

	if (!proc)
		return fit == COLLECT_FITS ? -ENOMEM : 0;
	if (has_failed(e))
		return end_failed(c, proc, e);
	item = collect_item_find(c, proc, e->def, collect_key(c, e), fit);
	if (item && item->undecided && fit == COLLECT_FITS)
		collect_item_decide(c, item);
	if (item)
		r = close_item(c, item, SPAN_COMPLETE, e->time_ns, e);
	else if (fit == COLLECT_FITS) /* else nobody knows whether it is one of these */
		r = end_without_begin(c, proc, e);
	if (fit == COLLECT_FITS)
		proc->defs[e->def].seen = true;
	return r;
}

/* To the newest of its thread or id, where that is how ends find theirs, else to the newest of the process. */
static void inside(struct collect *c, const struct collect_event *e)
{
	enum collect_fit fit = collect_only_fits(&c->defs[e->def], e);
	struct collect_proc *proc = collect_proc_find(c, e->pid);
	struct collect_item *item;

	if (!proc || fit == COLLECT_FITS_NOT)
		return;
	item = collect_item_find(c, proc, e->def, collect_key(c, e), fit);
	if (!item)
		item = TAILQ_LAST(&proc->defs[e->def].items, collect_items);
	if (item && item->undecided && fit == COLLECT_FITS)
		collect_item_decide(c, item);
	if (item && (!item->left_out || item->undecided))
		collect_learn(&item->span, e);
}

int collect_event(struct collect *c, const struct collect_event *e)
{
	if (e->def >= c->ndefs)
		return 0;
	switch (e->role) {
	case COLLECT_BEGIN: return begin(c, e);
	case COLLECT_END: return end(c, e);
	case COLLECT_INSIDE: inside(c, e); break;
	}
	return 0;
}

int collect_fork(struct collect *c, uint64_t time_ns, uint32_t pid, uint32_t child)
{
	const struct collect_proc *parent = collect_proc_find(c, pid);
	struct collect_proc *p = pid == child ? NULL : collect_proc_find(c, child);
	int r = 0;

	if (p) /* its number has come again; its end was lost */
		r = collect_process_exit(c, time_ns, child);
	if (!parent || pid == child)
		return r;
	p = collect_proc_get(c, child);
	if (!p)
		return -ENOMEM;
	p->started = true;
	p->started_ns = time_ns;
	for (size_t i = 0; i < c->ndefs; i++) {
		const struct collect_item *item;

		p->defs[i].inherited = parent->defs[i].inherited;
		TAILQ_FOREACH(item, &parent->defs[i].items, of_def)
		p->defs[i].inherited++;
	}
	return r;
}

int collect_exec(struct collect *c, uint64_t time_ns, uint32_t pid)
{
	struct collect_proc *p = collect_proc_find(c, pid);
	int r;

	if (!p)
		return 0;
	r = close_all(c, p, SPAN_EXEC, time_ns, 0);
	p->started = true;
	p->started_ns = time_ns;
	for (size_t i = 0; i < c->ndefs; i++) {
		p->defs[i].numbered = p->defs[i].inherited = 0;
		p->defs[i].seen = false;
	}
	return r;
}

int collect_thread_exit(struct collect *c, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	struct collect_proc *p = collect_proc_find(c, pid);

	return p ? close_all(c, p, SPAN_THREAD_EXITED, time_ns, tid) : 0;
}

int collect_process_exit(struct collect *c, uint64_t time_ns, uint32_t pid)
{
	struct collect_proc *p = collect_proc_find(c, pid);
	int r;

	if (!p)
		return 0;
	r = close_all(c, p, SPAN_PROCESS_EXITED, time_ns, 0);
	collect_proc_drop(c, p);
	return r;
}

void collect_lost(struct collect *c, uint64_t since_ns, uint64_t until_ns)
{
	if (!c->lost || until_ns > c->lost_until_ns) {
		c->lost_since_ns = since_ns;
		c->lost_until_ns = until_ns;
	}
	c->lost = true;
}

int collect_stop(struct collect *c, uint64_t time_ns)
{
	struct collect_proc *p;
	int r = 0, one;

	TAILQ_FOREACH(p, &c->procs, of_all)
	{
		one = close_all(c, p, SPAN_OPEN, time_ns, 0);
		r = r ? r : one;
	}
	return r;
}

/* SPDX-License-Identifier: MIT */
/* Passes the events of a session, lifecycle events too, to the engines that make spans of them. */
#include <errno.h>
#include <string.h>

#include "watch/gc_watch_priv.h"
#include "base/clock.h"
#include "watch/pair_life.h"
#include "wire/record.h"

#define IDENTIFY_AGAIN_NS 1000000000u /* a library that was loaded late is recognized within this time */

static bool holds_any(const struct watched *p, const struct gc_request *request)
{
	for (size_t i = 0; i < request->uses.n; i++)
		if (p->holds[request->uses.v[i].def])
			return true;
	return false;
}

/* The event fits none of the known runtimes of its process, which may have loaded one, or have exited. */
static int identify_again(struct gc_watch *w, struct watched *p, const struct session_event *e)
{
	const struct gc_request *request = &w->defs.requests.v[e->probe->request];
	const struct runtime *rt = w->defs.origins.v[request->uses.v[0].def].runtime;

	if (!rt)
		return 0;
	if (p->vanished) {
		memcpy(p->p.comm, e->rec->comm, sizeof(p->p.comm));
		return watch_assume_runtime(w, p, rt, &session_plan(w->session)->files.v[e->site->file]);
	}
	if (e->rec->time_ns < p->identified_ns + IDENTIFY_AGAIN_NS)
		return 0;
	return watch_identify(w, p) || watch_select_defs(w, p) ? -ENOMEM : 0;
}

static int add_event(struct gc_watch *w, const struct watched *p, const struct session_event *e,
		     const struct collect_value *values, size_t n)
{
	const struct gc_request *request = &w->defs.requests.v[e->probe->request];
	struct collect_event event = { .time_ns = e->rec->time_ns,
				       .pid = e->rec->pid,
				       .tid = e->rec->tid,
				       .values = values,
				       .nvalues = n,
				       .state = e->state };
	int r = 0;

	memcpy(event.comm, e->rec->comm, sizeof(event.comm));
	for (size_t i = 0; r >= 0 && i < request->uses.n; i++) {
		if (!p->holds[request->uses.v[i].def])
			continue;
		event.def = request->uses.v[i].def;
		event.role = request->uses.v[i].role;
		r = collect_event(w->collect, &event);
	}
	return r;
}

static int on_gc_event(void *ctx, const struct session_event *e)
{
	struct gc_watch *w = ctx;
	struct collect_value values[LIVE_VALUES_MAX];
	struct live_event live = { .rec = e->rec, .size = e->size, .cpu = e->cpu, .unreadable = e->site->unreadable };
	const struct live_values *reader;
	struct watched *p;
	int r = 0, n;

	if (w->full || e->rec->time_ns < w->start_ns)
		return 0; /* attaching takes a while, and watching begins after it */
	w->last_ns = e->rec->time_ns;
	p = watch_process(w, e->rec->pid, e->rec->time_ns);
	if (p && !holds_any(p, &w->defs.requests.v[e->probe->request]))
		r = identify_again(w, p, e);
	if (!p || r)
		return -ENOMEM;
	if (!holds_any(p, &w->defs.requests.v[e->probe->request]))
		return 0;
	live.probe = live_probes_get(&w->probes_read, e->site->probe, e->probe->checked);
	reader = live.probe ? live_values_of(live.probe) : NULL;
	if (!reader)
		return -ENOMEM;
	n = live_values_read(reader, &live, values);
	r = watch_report(w, p);
	return r < 0 || n < 0 ? r : add_event(w, p, e, values, (size_t)n);
}

static int on_gc_life(void *ctx, const struct session_lifecycle *life)
{
	struct gc_watch *w = ctx;
	const struct watched *p;
	int r;

	if (w->full)
		return 0;
	w->last_ns = life->time_ns;
	if (life->what == UT_LIFE_FORK && (w->options.targets.all || w->options.targets.follow)) {
		p = watch_find(w, life->pid);
		if (p && p->wanted)
			watch_schedule(w, life->child, life->time_ns);
	}
	r = pair_life(collect_pairs(w->collect), life);
	if (r >= 0 && (life->what == UT_LIFE_EXEC || (life->what == UT_LIFE_EXIT && life->last)))
		r = watch_remove(w, life->pid, life->time_ns);
	if (life->what == UT_LIFE_EXEC)
		watch_schedule(w, life->pid, life->time_ns);
	return r;
}

static int on_gc_lost(void *ctx, uint64_t count, unsigned cpu, uint64_t since_ns, uint64_t until_ns)
{
	struct gc_watch *w = ctx;

	(void)cpu;
	if (w->full)
		return 0;
	pairs_lost(collect_pairs(w->collect), 0, since_ns, until_ns);
	return w->sink.lost ? w->sink.lost(w->sink.ctx, count, since_ns, until_ns) : 0;
}

static int on_gc_flush(void *ctx)
{
	struct gc_watch *w = ctx;
	int r = w->collect && w->young.n ? watch_examine_young(w, monotonic_ns()) : 0;

	return r < 0 || !w->sink.flush ? r : w->sink.flush(w->sink.ctx);
}

/* A suspended process of the command: it has just executed its program, or loaded its libraries. */
static void on_suspended_process(void *ctx, pid_t pid)
{
	struct gc_watch *w = ctx;

	watch_schedule_now(w, (uint32_t)pid, monotonic_ns());
}

static void on_gc_attached(void *ctx, size_t nprobes, size_t nsites)
{
	struct gc_watch *w = ctx;

	if (w->sink.attached)
		w->sink.attached(w->sink.ctx, nprobes, nsites);
}

static void on_gc_note(void *ctx, const char *text)
{
	struct gc_watch *w = ctx;

	if (w->sink.note)
		w->sink.note(w->sink.ctx, text);
}

struct session_sink gc_watch_session_sink(struct gc_watch *w)
{
	return (struct session_sink){ .ctx = w,
				      .event = on_gc_event,
				      .life = on_gc_life,
				      .lost = on_gc_lost,
				      .flush = on_gc_flush,
				      .attached = on_gc_attached,
				      .process = w->options.targets.command ? on_suspended_process : NULL,
				      .note = on_gc_note };
}

int watch_on_span(void *ctx, const struct collect_span *span)
{
	struct gc_watch *w = ctx;
	const struct watched *p = watch_find(w, span->pid);
	int r;

	if (!p || !p->reported || !gc_kinds_has(w->kinds, span->def->kind))
		return 0;
	p->seen[span->def - w->defs.defs.v] = true;
	if (!w->sink.span)
		return 0;
	r = w->sink.span(w->sink.ctx, &p->p, span);
	if (r <= 0 || w->full || !w->options.max_spans || ++w->spans < w->options.max_spans)
		return r < 0 ? r : 0;
	w->full = true;
	return -ECANCELED;
}

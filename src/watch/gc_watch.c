/* SPDX-License-Identifier: MIT */
/* Opens, runs and closes a watch. */
#include "watch/gc_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "model/pair.h"
#include "watch/gc_watch_priv.h"

/* Can there be processes that are not known yet? */
static bool may_grow(const struct gc_watch *w)
{
	return w->options.targets.all || w->options.targets.command || w->options.targets.follow;
}

static int identify_pids(struct gc_watch *w, struct ut_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < w->options.targets.npids; i++) {
		struct process_id id;
		struct watched *p;

		r = process_identify(w->options.targets.pids[i], &id, err);
		if (r)
			return r;
		p = watch_process(w, (uint32_t)id.pid, 0);
		if (!p)
			return ut_err_nomem(err);
		if (!w->options.overlay &&
		    (p->runtimes.n || !w->options.targets.follow)) /* else its children may be runtimes */
			r = watch_check_known(w, p, err);
	}
	return r;
}

typedef VEC(const char *) version_list;

static int versions_in(const struct gc_watch *w, const struct runtime *r, version_list *ret)
{
	for (size_t i = 0; i < w->all.n; i++) {
		const struct watched *p = w->all.v[i];

		for (size_t k = 0; k < p->runtimes.n; k++)
			if (p->runtimes.v[k].runtime == r && vec_push(ret, p->runtimes.v[k].version))
				return -ENOMEM;
	}
	return 0;
}

/* Adds the definitions of all runtimes, or of those of the known processes in their versions. */
static int add_defs(struct gc_watch *w, struct ut_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < w->runtimes->all.n; i++) {
		const struct runtime *rt = &w->runtimes->all.v[i];
		version_list versions = { 0 };

		if (!may_grow(w) && versions_in(w, rt, &versions))
			r = ut_err_nomem(err);
		else if (may_grow(w) || versions.n)
			r = gc_defs_add(&w->defs, rt, gc_kinds_of_runtimes(w->kinds), versions.v, versions.n, err);
		vec_done(&versions);
	}
	if (!r && gc_kinds_has(w->kinds, GC_KIND_SIGNAL))
		r = gc_defs_add_signals(&w->defs, err);
	return r;
}

static int open_gc_session(struct gc_watch *w, struct ut_err *err)
{
	const struct gc_watch_options *o = &w->options;
	struct session_options so = {
		.targets = o->targets,
		.probes = w->probes,
		.nprobes = w->defs.requests.n,
		.states = o->no_measure ? NULL : w->states,
		.text_limit = COLLECT_TEXT_MAX,
		.lifecycle = true,
		.described = true,
	};

	so.targets.wait = true; /* a runtime definition has probes of other builds too */
	return session_open(&so, w->runtimes, &w->session, err);
}

static int select_all_defs(struct gc_watch *w, struct ut_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < w->all.n; i++)
		r = watch_select_defs(w, w->all.v[i]) ? ut_err_nomem(err) : 0;
	return r;
}

/* By default signals are traced where possible: tracepoints do not have the pids of a namespace. */
static int choose_kinds(struct gc_watch *w, struct ut_err *err)
{
	int r = gc_kinds_parse(w->options.kinds ? w->options.kinds : GC_KINDS_DEFAULT, &w->kinds, err);

	if (!w->options.kinds && !process_in_first_pid_namespace())
		w->kinds = gc_kinds_of_runtimes(w->kinds);
	w->signals_alone = !gc_kinds_of_runtimes(w->kinds);
	return r;
}

int gc_watch_open(const struct gc_watch_options *o, const struct runtimes *runtimes, struct gc_watch **ret,
		  struct ut_err *err)
{
	struct gc_watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return ut_err_nomem(err);
	w->options = *o;
	w->runtimes = runtimes;
	w->defs.no_returns = o->overlay;
	r = choose_kinds(w, err);
	if (!r)
		r = identify_pids(w, err);
	if (!r)
		r = add_defs(w, err);
	w->probes = r ? NULL : calloc(w->defs.requests.n + 1, sizeof(*w->probes));
	w->states = r ? NULL : calloc(w->defs.requests.n + 1, sizeof(*w->states));
	if (!r && (!w->probes || !w->states))
		r = ut_err_nomem(err);
	for (size_t i = 0; !r && i < w->defs.requests.n; i++) {
		w->probes[i] = w->defs.requests.v[i].text;
		w->states[i] = w->defs.requests.v[i].state;
	}
	if (!r && !o->overlay)
		r = open_gc_session(w, err);
	if (!r && !o->overlay)
		r = select_all_defs(w, err);
	for (size_t i = 0; !r && !o->overlay && i < o->targets.npids; i++) {
		const struct watched *p = watch_find(w, (uint32_t)o->targets.pids[i]);

		r = p->wanted ? watch_check_attached(w, p, err) : 0;
	}
	if (r) {
		gc_watch_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

/* Reports the processes that exist at the start. */
static int report_first(struct gc_watch *w, struct ut_err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < w->all.n; i++) {
		w->all.v[i]->p.seen_ns = w->start_ns;
		r = watch_report(w, w->all.v[i]);
	}
	if (r >= 0 && w->options.targets.all)
		r = watch_existing(w, err);
	if (r >= 0)
		r = watch_descendants(w, err);
	return r < 0 ? r : 0;
}

static int begin_watch(struct gc_watch *w, struct ut_err *err)
{
	w->start_ns = w->last_ns = session_start_ns(w->session);
	w->collect = collect_new(w->defs.defs.v, w->defs.defs.n, w->start_ns, session_state_base_ns(w->session),
				 watch_on_span, w);
	return w->collect ? report_first(w, err) : ut_err_nomem(err);
}

int gc_watch_start(struct gc_watch *w, const struct gc_watch_sink *sink, char **log, struct ut_err *err)
{
	int r;

	w->sink = *sink;
	w->session_sink = gc_watch_session_sink(w);
	r = session_start(w->session, &w->session_sink, log, err);
	return r ? r : begin_watch(w, err);
}

const char *const *gc_watch_probes(const struct gc_watch *w, size_t *ret_n)
{
	*ret_n = w->defs.requests.n;
	return w->probes;
}

int gc_watch_join(struct gc_watch *w, struct session *session, const struct gc_watch_sink *sink, struct ut_err *err)
{
	int r;

	w->session = session;
	w->sink = *sink;
	r = select_all_defs(w, err);
	return r ? r : begin_watch(w, err);
}

uint64_t gc_watch_stopped_since(const struct gc_watch *w, uint32_t pid)
{
	return w->collect ? collect_stopped_since(w->collect, pid) : 0;
}

/* Closes the open spans, and completes the hints of every process. */
static int finish_watch(struct gc_watch *w, uint64_t stop_ns)
{
	int r = pairs_stop(collect_pairs(w->collect), w->full || stop_ns < w->last_ns ? w->last_ns : stop_ns);

	for (size_t i = 0; i < w->all.n; i++)
		if (w->all.v[i]->reported)
			watch_end(w, w->all.v[i]);
	if (r >= 0 && w->sink.flush)
		r = w->sink.flush(w->sink.ctx);
	return r < 0 ? r : 0;
}

int gc_watch_run(struct gc_watch *w, enum session_end *ret_end, struct session_totals *ret_totals, struct ut_err *err)
{
	int r = session_run(w->session, &w->session_sink, ret_end, err), stopped, finished;

	if (r == -ECANCELED && w->full) {
		*ret_end = SESSION_MAX_EVENTS;
		r = 0;
	}
	stopped = session_stop(w->session, &w->session_sink, ret_totals, err);
	r = r ? r : stopped;
	finished = r ? 0 : finish_watch(w, w->start_ns + ret_totals->elapsed_ns);
	return r ? r : finished;
}

uint64_t gc_watch_start_ns(const struct gc_watch *w) { return w->start_ns; }
struct session *gc_watch_session(const struct gc_watch *w) { return w->session; }

struct gc_watch *gc_watch_close(struct gc_watch *w)
{
	if (!w)
		return NULL;
	live_probes_done(&w->probes_read);
	collect_free(w->collect);
	if (!w->options.overlay)
		session_close(w->session);
	for (size_t i = 0; i < w->all.n; i++)
		watched_free(w->all.v[i]);
	vec_done(&w->all);
	index_done(&w->index);
	vec_done(&w->young);
	vec_done(&w->versions);
	gc_defs_done(&w->defs);
	free(w->probes);
	free(w->states);
	free(w);
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* Collections over a profile: those that are open, and those that have ended. */
#include "cli/profile_gc.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define LOOKS_MAX 1000	/* at collections of other processes, for one question */

/* One that has ended. */
struct interval { uint32_t pid; uint64_t begin_ns, end_ns; };

struct profile_gc {
	struct gc_watch *watch;
	struct session_sink sink;
	VEC(struct interval) ended;	/* by end */
};

int profile_gc_open(const struct gc_watch_options *o, const struct runtimes *runtimes, struct profile_gc **ret,
		    struct ut_err *err)
{
	struct gc_watch_options wo = *o;
	struct profile_gc *g = calloc(1, sizeof(*g));
	size_t n;
	int r;

	*ret = NULL;
	if (!g)
		return ut_err_nomem(err);
	wo.overlay = true;
	wo.kinds = "gc";
	wo.no_measure = true;
	r = gc_watch_open(&wo, runtimes, &g->watch, err);
	if (r) {
		profile_gc_free(g);
		return r;
	}
	gc_watch_probes(g->watch, &n);
	if (!n) {
		profile_gc_free(g);
		return 0;
	}
	g->sink = gc_watch_session_sink(g->watch);
	*ret = g;
	return 0;
}

struct profile_gc *profile_gc_free(struct profile_gc *g)
{
	if (!g)
		return NULL;
	gc_watch_close(g->watch);
	vec_done(&g->ended);
	free(g);
	return NULL;
}

const char *const *profile_gc_probes(const struct profile_gc *g, size_t *ret_n)
{
	return gc_watch_probes(g->watch, ret_n);
}

static int on_span(void *ctx, const struct gc_process *p, const struct collect_span *span)
{
	struct profile_gc *g = ctx;
	struct interval i = { p->pid, span->begin_ns, span->end_ns };

	if (!span->def->stops)
		return 0;
	return vec_push(&g->ended, i);
}

int profile_gc_join(struct profile_gc *g, struct session *session, struct ut_err *err)
{
	struct gc_watch_sink sink = { .ctx = g, .span = on_span };

	return gc_watch_join(g->watch, session, &sink, err);
}

const struct session_sink *profile_gc_sink(const struct profile_gc *g) { return &g->sink; }
bool profile_gc_now(const struct profile_gc *g, uint32_t pid) { return gc_watch_stopped_since(g->watch, pid); }

/* The first that ended after @time_ns. */
static size_t first_after(const struct profile_gc *g, uint64_t time_ns)
{
	size_t low = 0, high = g->ended.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->ended.v[middle].end_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool profile_gc_at(const struct profile_gc *g, uint32_t pid, uint64_t time_ns)
{
	uint64_t since = gc_watch_stopped_since(g->watch, pid);
	size_t first = first_after(g, time_ns);

	if (since && since <= time_ns)
		return true;
	for (size_t i = first; i < g->ended.n && i < first + LOOKS_MAX; i++)
		if (g->ended.v[i].pid == pid && g->ended.v[i].begin_ns <= time_ns)
			return true;
	return false;
}

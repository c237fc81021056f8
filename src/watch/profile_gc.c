/* SPDX-License-Identifier: MIT */
/* Collections over a profile. */
#include "watch/profile_gc.h"

#include <stdlib.h>

struct profile_gc {
	struct gc_watch *watch;
	struct session_sink sink;
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
	free(g);
	return NULL;
}

const char *const *profile_gc_probes(const struct profile_gc *g, size_t *ret_n)
{
	return gc_watch_probes(g->watch, ret_n);
}

int profile_gc_join(struct profile_gc *g, struct session *session, struct ut_err *err)
{
	struct gc_watch_sink sink = { .ctx = g };

	return gc_watch_join(g->watch, session, &sink, err);
}

const struct session_sink *profile_gc_sink(const struct profile_gc *g) { return &g->sink; }
bool profile_gc_now(const struct profile_gc *g, uint32_t pid) { return gc_watch_stopped_since(g->watch, pid); }

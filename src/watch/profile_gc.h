/* SPDX-License-Identifier: MIT */
/* Which moments of a profile lie inside a collection that stops its process, as its runtime announces them. */
#ifndef UT_WATCH_PROFILE_GC_H
#define UT_WATCH_PROFILE_GC_H

#include "watch/gc_watch.h"

struct profile_gc;

/* As the session will be opened. *@ret NULL: no runtime that announces collections. */
int profile_gc_open(const struct gc_watch_options *o, const struct runtimes *runtimes, struct profile_gc **ret,
		    struct ut_err *err);
struct profile_gc *profile_gc_free(struct profile_gc *g);
const char *const *profile_gc_probes(const struct profile_gc *g, size_t *ret_n);
/* The session has been started; from now on its sink passes on to this one. */
int profile_gc_join(struct profile_gc *g, struct session *session, struct ut_err *err);
const struct session_sink *profile_gc_sink(const struct profile_gc *g);
/* Is it inside one that stops it, at this point of the stream? */
bool profile_gc_now(const struct profile_gc *g, uint32_t pid);

#endif

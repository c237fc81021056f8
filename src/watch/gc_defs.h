/* SPDX-License-Identifier: MIT */
/* Runtime definitions become probes, and the meaning of their events. Pure. */
#ifndef UT_WATCH_GC_DEFS_H
#define UT_WATCH_GC_DEFS_H

#include "base/buf.h"
#include "base/err.h"
#include "model/collect.h"
#include "probe/spec.h"
#include "proc/runtime.h"

#define GC_KIND_SIGNAL "signal"
#define GC_KINDS_DEFAULT "gc," GC_KIND_SIGNAL

/* A set of kinds, a bit each. */
typedef uint32_t gc_kinds;

/* "gc,gc-phase", or "all". -EINVAL with a sentence for one that does not exist. */
int gc_kinds_parse(const char *list, gc_kinds *ret, struct ut_err *err);
bool gc_kinds_has(gc_kinds kinds, const char *kind);
/* Without signals, which no runtime definition has. */
gc_kinds gc_kinds_of_runtimes(gc_kinds kinds);
/* "gc, compile" */
void gc_kinds_words(gc_kinds kinds, struct buf *out);

/* The role of one event in one definition. */
struct gc_use {
	unsigned def;
	enum collect_role role;
};

/* One probe for the session. Spans that name the same one share it. */
struct gc_request {
	char *text;
	enum probe_state state;
	VEC(struct gc_use) uses;
};

/* Where a definition comes from; both NULL: signals. */
struct gc_origin {
	const struct runtime *runtime;
	const struct runtime_span *span;
};

struct gc_defs {
	VEC(struct collect_def) defs;
	VEC(struct gc_origin) origins; /* by definition */
	VEC(struct gc_request) requests;
	VEC(void *) owned; /* what the definitions point to */
	/*
	 * Without probes at the return of a function, and spans that one begins or ends: the kernel replaces the return
	 * address, and an exception that unwinds through it ends the program.
	 */
	bool no_returns;
};

/*
 * Adds the spans of @r of these kinds, and those that are watched with them, for the @n versions ("": not known), without
 * versions for all. -EINVAL names the file and line of a malformed probe. @r outlives the definitions.
 */
int gc_defs_add(struct gc_defs *d, const struct runtime *r, gc_kinds kinds, const char *const *versions, size_t n,
		struct ut_err *err);
/*
 * Signal handlers, from tracepoints, by thread. A handler that ends with longjmp never returns: its begin stays open.
 */
int gc_defs_add_signals(struct gc_defs *d, struct ut_err *err);
void gc_defs_done(struct gc_defs *d);

#endif

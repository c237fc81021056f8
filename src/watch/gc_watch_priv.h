/* SPDX-License-Identifier: MIT */
/* The watch's insides: gc_watch.c opens, runs and closes, gc_watch_event.c takes the session's events,
 * gc_watch_process.c knows the processes, gc_watch_miss.c what of them cannot be seen. Not for others. */
#ifndef UT_WATCH_GC_WATCH_PRIV_H
#define UT_WATCH_GC_WATCH_PRIV_H

#include "base/hash.h"
#include "base/index.h"
#include "watch/gc_defs.h"
#include "watch/gc_watch.h"
#include "live/values.h"
#include "proc/process.h"

/* A runtime in a process; HotSpot and libstdc++ may be in one. */
struct watch_runtime {
	const struct runtime *runtime;
	char version[32];
};

struct watched {
	struct gc_process p;
	VEC(struct watch_runtime) runtimes;
	VEC(char *) hints;
	bool *holds, *seen; /* by definition: is it one of this process? Was there a span of it? */
	bool wanted, told;
	bool vanished; /* it had nothing mapped any more when it was looked at */
	uint64_t looked_ns;
};

/* A process that became another program, or was forked, a moment ago: it may become a runtime. */
struct young {
	uint32_t pid;
	unsigned tries;
	uint64_t since_ns, due_ns;
};

struct known_version {
	struct file_id id;
	const struct runtime *runtime;
	char version[32];
};

/* How a probe's records are read; made at its first event. */
struct reader {
	struct live_probe *probe;
	struct live_values *values;
};

struct gc_watch {
	struct gc_watch_options options;
	const struct runtimes *runtimes;
	gc_kinds kinds;
	bool signals_alone;
	struct gc_defs defs;
	const char **probes;
	enum probe_state *states;
	struct session *session;
	struct session_sink session_sink;
	struct gc_watch_sink sink;
	struct collect *collect; /* NULL: not started */
	VEC(struct watched *) all;
	struct index index; /* of all, by pid */
	VEC(struct young) young;
	VEC(struct known_version) versions;
	VEC(struct reader) readers; /* by the plan's number */
	uint64_t start_ns, last_ns, spans;
	bool full; /* of max_spans */
};

/* Those that are there; NULL. */
struct watched *watch_find(const struct gc_watch *w, uint32_t pid);
/* The same, looked at if it was not there: watched since @since_ns at the latest. NULL: no memory. */
struct watched *watch_process(struct gc_watch *w, uint32_t pid, uint64_t since_ns);
/* Reads once more what is mapped. Failures leave it as it is. 0 or -ENOMEM. */
int watch_identify(struct gc_watch *w, struct watched *p);
/* Which definitions are of this process; after the definitions are made. 0 or -ENOMEM. */
int watch_settle(struct gc_watch *w, struct watched *p);
/* Tells the sink of it, once, if it is one to watch. The sink's result. */
int watch_tell(struct gc_watch *w, struct watched *p);
void watch_end(struct gc_watch *w, struct watched *p); /* no more comes of it: its hints are complete */
/* It ended or became another program. The sink's result. */
int watch_gone(struct gc_watch *w, uint32_t pid, uint64_t time_ns);
/* It may be a runtime soon. */
void watch_expect(struct gc_watch *w, uint32_t pid, uint64_t since_ns);
/* It has loaded what it needs: it is looked at next. */
void watch_expect_now(struct gc_watch *w, uint32_t pid, uint64_t now_ns);
int watch_young(struct gc_watch *w, uint64_t now_ns);
int watch_existing(struct gc_watch *w, struct ut_err *err); /* all processes there are */
void watched_free(struct watched *p);
/* It has ended before it was looked at: it is what its event says. 0 or -ENOMEM. */
int watch_adopt(struct gc_watch *w, struct watched *p, const struct runtime *r, const struct plan_file *file);

/* Why a process that was named cannot be watched at all; -EINVAL. Before there is a plan: no runtime, no span. */
int watch_check_known(const struct gc_watch *w, const struct watched *p, struct ut_err *err);
/* And with it: nothing of what it needs is in its files. */
int watch_check_attached(const struct gc_watch *w, const struct watched *p, struct ut_err *err);
/* What is missing of it, and what it would need, as it is now: what was said before is taken back. */
void watch_add_hints(const struct gc_watch *w, struct watched *p);
/* At its end: what did not come, and would have had to be asked for. */
void watch_add_needs(const struct gc_watch *w, struct watched *p);

struct session_sink watch_session_sink(struct gc_watch *w);
int watch_on_span(void *ctx, const struct collect_span *span); /* of struct collect */

#endif

/* SPDX-License-Identifier: MIT */
/* Private to the watch: gc_watch.c opens, runs and closes it, gc_watch_event.c receives the events of the session,
 * gc_watch_process.c has the processes, and gc_watch_miss.c finds what of them cannot be traced. */
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
	bool *holds, *seen; /* by definition: does it apply to this process, was there a span of it? */
	bool wanted, reported;
	bool vanished; /* it had no mappings any more when it was identified */
	uint64_t identified_ns;
};

/* A process that was just forked or has executed a program: it may become a runtime. */
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
	struct live_probes probes_read; /* to read their records */
	uint64_t start_ns, last_ns, spans;
	bool full; /* of max_spans */
};

/* NULL: not known. */
struct watched *watch_find(const struct gc_watch *w, uint32_t pid);
/* The same, identified and added if it was not known: watched since @since_ns at the latest. NULL: out of memory. */
struct watched *watch_process(struct gc_watch *w, uint32_t pid, uint64_t since_ns);
/* Reads its mappings again. Other failures leave it unchanged. 0 or -ENOMEM. */
int watch_identify(struct gc_watch *w, struct watched *p);
/* Selects the definitions for this process, once there are definitions. 0 or -ENOMEM. */
int watch_select_defs(struct gc_watch *w, struct watched *p);
/* Reports it to the sink, once, if it is to be watched. The sink's result. */
int watch_report(struct gc_watch *w, struct watched *p);
void watch_end(struct gc_watch *w, struct watched *p); /* it has ended: completes its hints */
/* It ended or became another program. The sink's result. */
int watch_remove(struct gc_watch *w, uint32_t pid, uint64_t time_ns);
/* It may be a runtime soon. */
void watch_schedule(struct gc_watch *w, uint32_t pid, uint64_t since_ns);
/* It has loaded its libraries: it is examined next. */
void watch_schedule_now(struct gc_watch *w, uint32_t pid, uint64_t now_ns);
int watch_examine_young(struct gc_watch *w, uint64_t now_ns);
int watch_existing(struct gc_watch *w, struct ut_err *err); /* all processes there are */
/* Examines and reports the descendants of the targets that existed before the session. */
int watch_descendants(struct gc_watch *w, struct ut_err *err);
void watched_free(struct watched *p);
/* It ended before it was identified: its event determines its runtime. 0 or -ENOMEM. */
int watch_assume_runtime(struct gc_watch *w, struct watched *p, const struct runtime *r, const struct plan_file *file);

/* Why a process given by pid cannot be watched at all; -EINVAL. Before there is a plan: no runtime, no span. */
int watch_check_known(const struct gc_watch *w, const struct watched *p, struct ut_err *err);
/* With a plan: none of the needed probes are in its files. */
int watch_check_attached(const struct gc_watch *w, const struct watched *p, struct ut_err *err);
/* Replaces its hints: which spans cannot be traced, and what they would need. */
void watch_add_hints(const struct gc_watch *w, struct watched *p);
/* At its end, adds hints on spans that did not appear because the program has to enable them. */
void watch_add_needs(const struct gc_watch *w, struct watched *p);

int watch_on_span(void *ctx, const struct collect_span *span); /* of struct collect */

#endif

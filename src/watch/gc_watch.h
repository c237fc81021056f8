/* SPDX-License-Identifier: MIT */
/*
 * The engine of `gc` and `top`: runtime definitions become probes and a session, and its events become spans. One
 * thread.
 */
#ifndef UT_WATCH_GC_WATCH_H
#define UT_WATCH_GC_WATCH_H

#include "base/err.h"
#include "model/collect.h"
#include "proc/runtime.h"
#include "record/session.h"

struct gc_process {
	uint32_t pid;
	char comm[16];
	const struct runtime *runtime; /* NULL: none is known, and only signals were requested */
	char version[32]; /* "": not known */
	uint64_t seen_ns; /* since when it is watched */
	const char *const *hints; /* sentences: which spans cannot be traced, and what they would need */
	size_t nhints;
	void *mine; /* the sink's data of this process; NULL at first */
};

struct gc_watch_options {
	struct target_set targets; /* wait is set here */
	const char *kinds; /* "gc,signal": RUNTIME_KINDS and signal, or "all"; NULL: gc and signal */
	uint64_t max_spans; /* 0: no limit */
	bool no_measure;
	bool overlay; /* the session is another's: see below */
};

/* Each method may be NULL. A negative result stops; gc_watch_run returns it. */
struct gc_watch_sink {
	void *ctx;
	/* A process with a runtime is watched from now on; @p lives until gone() returns, or as long as the watch. */
	int (*process)(void *ctx, struct gc_process *p);
	/* It exited or executed another program; its hints are complete. @p is freed after the call. */
	int (*gone)(void *ctx, const struct gc_process *p, uint64_t time_ns);
	/* A positive result counts it towards max_spans. */
	int (*span)(void *ctx, const struct gc_process *p, const struct collect_span *span);
	int (*lost)(void *ctx, uint64_t count, uint64_t since_ns, uint64_t until_ns);
	int (*flush)(void *ctx); /* after each batch, at least every 50 ms */
	void (*attached)(void *ctx, size_t nprobes, size_t nsites);
	void (*note)(void *ctx, const char *text);
};

struct gc_watch;

/* Identifies processes and their runtimes, and plans; -EINVAL with a sentence for a pid without a runtime or an unknown kind. */
int gc_watch_open(const struct gc_watch_options *o, const struct runtimes *runtimes, struct gc_watch **ret,
		  struct ut_err *err);
/* @log as in session_start. */
int gc_watch_start(struct gc_watch *w, const struct gc_watch_sink *sink, char **log, struct ut_err *err);
/* Runs until the end; when it returns, all spans have been reported, incomplete ones too. */
int gc_watch_run(struct gc_watch *w, enum session_end *ret_end, struct session_totals *ret_totals, struct ut_err *err);
struct session *gc_watch_session(const struct gc_watch *w);
uint64_t gc_watch_start_ns(const struct gc_watch *w);
struct gc_watch *gc_watch_close(struct gc_watch *w);

/*
 * A watch on top of another session: open that session with only these probes as its requests, with `described`, `wait`
 * and `lives`, and with the watch's sink as one of its receivers; start it; then call gc_watch_join. Processes without a
 * runtime are not an error. No probe is at a function's return, so stacks can be unwound.
 */
const char *const *gc_watch_probes(const struct gc_watch *w, size_t *ret_n);
struct session_sink gc_watch_session_sink(struct gc_watch *w);
int gc_watch_join(struct gc_watch *w, struct session *session, const struct gc_watch_sink *sink, struct ut_err *err);
/* When the process entered the stop-the-world collection it is in at this point of the stream; 0: it is in none. */
uint64_t gc_watch_stopped_since(const struct gc_watch *w, uint32_t pid);

#endif

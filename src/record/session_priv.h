/* SPDX-License-Identifier: MIT */
/* The session's insides, shared by its files: session.c opens and closes, session_start.c attaches, session_late.c
 * takes in what is mapped later, session_run.c has the loop and the accounts. Not for others. */
#ifndef UT_RECORD_SESSION_PRIV_H
#define UT_RECORD_SESSION_PRIV_H

#include "record/attach.h"
#include "record/child.h"
#include "record/follow.h"
#include "record/late.h"
#include "record/lifecycle.h"
#include "record/mapwatch.h"
#include "record/measure.h"
#include "record/ring.h"
#include "record/sched.h"
#include "record/signals.h"
#include "sample/sampler.h"
#include "record/session.h"
#include "wire/record.h"
#include "wire/sample.h"
#include "record/user_event.h"

struct target {
	struct process_id id;
	int pidfd;
	bool ended;
};

struct throttled_account {
	uint32_t pid;
	uint64_t reported;
};

struct session {
	struct session_options options;
	struct session_sampling sampling; /* what options.sampling points to */
	struct plan *plan;
	struct attach *attach;
	struct rings rings;
	struct merge *merge;
	struct follow *follow; /* NULL: there is no set of processes */
	struct lifecycle *lifecycle; /* NULL: nobody needs forks, execs and exits */
	struct mapwatch *watch;
	int starts_fd; /* GEN_MAP_STARTS */
	int throttled_fd; /* GEN_MAP_THROTTLED */
	uint64_t throttled_seen; /* sum of the CPUs' counters when we last looked */
	uint64_t throttled_ns; /* and when that was */
	VEC(struct throttled_account) throttled; /* by process: what was told so far */
	struct late *late; /* NULL without e: */
	struct measure *measure; /* NULL: nothing is measured */
	struct signals *signals; /* NULL without s: */
	struct sched *sched; /* NULL: the same */
	struct sampler *sampler; /* NULL: no samples */
	VEC(pid_t) changed; /* sampled processes with mappings that the kernel does not know yet */
	pid_t refreshed_pid; /* whose mappings were read again last, as a stack asked for it; when */
	uint64_t refreshed_ns;
	uint64_t state_base_ns;
	struct child child;
	uint64_t command_ns; /* with sampling: since when the child is the command; 0: not yet */
	const struct runtime *runtime; /* of a process that was held; NULL: none was recognised */
	VEC(struct target) targets;
	size_t ended; /* targets */
	int epoll_fd;
	const struct session_sink *sink;
	uint64_t start_ns, stop_ns, last_sweep_ns;
	struct session_totals totals;
	bool open_rings;
};

/* Watches a process by pid and start time; its descriptor tells its end. */
int session_add_target(struct session *s, pid_t pid, struct ut_err *err);
/* Is there a set of processes that alone is traced? */
bool session_has_targets(const struct session_options *o);
/* How programs on files know whom they are for. */
enum gen_filter session_uprobe_filter(const struct session_options *o);
/*
 * Sites on 5-byte nops from @first on: leaves out those that this kernel would do harm at, and notes it. When nothing
 * else is left it does not: attaching refuses them in words then.
 */
int session_exclude_unsafe_nop5(struct session *s, size_t first, struct ut_err *err);
/* Hands the plan's new sentences to the sink. */
void session_report_notes(struct session *s);
/*
 * Processes of the command that wait at an exec or behind their dynamic linker: attaches what they brought, lets
 * them go on.
 */
void session_serve_suspended(struct session *s);
/* Records of user events and of processes' lives, to the sink; what it returned. */
int session_emit_user(struct session *s, const struct ut_rec_event *rec, size_t size, bool is_signal, unsigned cpu);
int session_emit_lifecycle(struct session *s, const struct ut_rec_event *rec, size_t size);
/* session_measure.c: from now on it is known how this process stands, if it has a runtime. @fresh: as measure_process. */
void session_measure(struct session *s, pid_t pid, bool fresh);
/* The tables, if they are needed. */
int session_measure_open(struct session *s, struct ut_err *err);
/* Then: the programs, and all that are there when tracing begins. */
int session_measure_start(struct session *s, struct ut_err *err);
/* A forked child of a process that is measured. */
void session_measure_child(struct session *s, pid_t parent, pid_t child);
const struct ut_rec_state *session_state(const struct session_event *e);
/* session_sample.c. Makes the programs; they run from session_sample_start on. */
int session_sample_open(struct session *s, struct ut_err *err);
/* Then: who is sampled. */
int session_sample_targets(struct session *s, struct ut_err *err);
int session_sample_start(struct session *s, struct ut_err *err);
/* A process is there that is to be sampled. Nothing without sampling; so the next ones. */
void session_sample_process(struct session *s, pid_t pid);
void session_sample_mapped(struct session *s, pid_t pid, const struct mapping *m, uint64_t time_ns);
void session_sample_refresh(struct session *s);
void session_sample_lifecycle(struct session *s, const struct ut_rec_life *r);
bool session_is_sample(const struct ut_rec_event *rec);
int session_emit_sample(struct session *s, const struct ut_rec_event *rec, size_t size);
/* After the last sample: waits that go on. */
int session_sample_finish(struct session *s);
/* Who was refused since the last call. */
int session_report_throttled(struct session *s);
/* What other processes mapped meanwhile. */
void session_serve_mappings(struct session *s);

#endif

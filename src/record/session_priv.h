/* SPDX-License-Identifier: MIT */
/* Private to the session's files: session.c opens and closes, session_start.c attaches, session_late.c attaches files that
 * are mapped later, session_run.c has the loop and the totals. */
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
	struct follow *follow; /* NULL: no followed processes */
	struct lifecycle *lifecycle; /* NULL: no lifecycle events are needed */
	struct mapwatch *watch;
	int starts_fd, calls_fd; /* GEN_MAP_STARTS, GEN_MAP_CALLS */
	int throttled_fd; /* GEN_MAP_THROTTLED */
	uint64_t throttled_seen; /* sum of the CPUs' counters at the last report */
	uint64_t throttled_ns; /* time of the last report */
	VEC(struct throttled_account) throttled; /* by process: events reported so far */
	struct late *late; /* NULL without e: */
	struct measure *measure; /* NULL: no measuring */
	struct signals *signals; /* NULL without s: */
	struct sched *sched; /* NULL: no measuring, either */
	struct sampler *sampler; /* NULL: no samples */
	VEC(pid_t) changed; /* sampled processes with mappings that are not in the kernel yet */
	pid_t refreshed_pid; /* the last process whose mappings were read again because of a stack; when */
	uint64_t refreshed_ns;
	uint64_t state_base_ns;
	struct child child;
	uint64_t command_ns; /* with sampling: time of the exec of the command; 0: not yet */
	const struct runtime *runtime; /* of a suspended process; NULL: none was recognized */
	VEC(struct target) targets;
	size_t ended; /* targets */
	VEC(struct process_id) descendants; /* with follow: of the targets; they existed before the session */
	int epoll_fd;
	const struct session_sink *sink;
	uint64_t start_ns, stop_ns, last_sweep_ns;
	struct session_totals totals;
	bool open_rings;
};

/* Adds a target, identified by PID and start time; its pidfd reports its exit. */
int session_add_target(struct session *s, pid_t pid, struct ut_err *err);
bool session_has_target(const struct session *s, pid_t pid);
/* Are only some processes traced? */
bool session_has_targets(const struct session_options *o);
/* session_children.c. With follow: adds the descendants of the targets that exist now, and plans their files. Until the
 * programs that follow forks run, more may come: once they do, the call finds all that are missing. */
int session_add_descendants(struct session *s, struct ut_err *err);
/* Without follow: notes which runtimes the descendants of the targets run. */
int session_note_children(struct session *s, const struct runtimes *runtimes, struct ut_err *err);
/* The same for the error of a session whose targets lack a probe. */
int session_hint_at_children(const struct session *s, const struct runtimes *runtimes, struct ut_err *err);
/* How programs on files select their processes. */
enum gen_filter session_uprobe_filter(const struct session_options *o);
/*
 * Attaches the sites from @first on. Those that would be unsafe on this kernel, and those of a pattern that the kernel
 * refuses, are excluded with a note, if others are left. @log as in attach_sites.
 */
int session_attach_sites(struct session *s, size_t first, char **log, struct ut_err *err);
/* session_held.c: sites that wait until relocation is over. Attaches those of files that a process has relocated. @started: the
 * process began under this session, so that its first events were missed. */
void session_serve_held(struct session *s, bool started);
bool session_holds_sites(const struct session *s);
/* Notes the files whose sites were never attached. */
void session_report_held(struct session *s);
/* Reports the plan's new notes to the sink. */
void session_report_notes(struct session *s);
/* Attaches to the files of processes that are suspended at an exec or in their dynamic linker, and continues them. */
void session_serve_suspended(struct session *s);
/* Emit user events and lifecycle events to the sink; return its result. */
int session_emit_user(struct session *s, const struct ut_rec_event *rec, size_t size, bool is_signal, unsigned cpu);
int session_emit_lifecycle(struct session *s, const struct ut_rec_event *rec, size_t size);
/* session_measure.c: measures this process if it has a runtime. @fresh: as in measure_process. */
void session_measure(struct session *s, pid_t pid, bool fresh);
/* Attaches the programs, and measures the present processes. */
int session_measure_start(struct session *s, struct ut_err *err);
/* Measures a child if its parent is measured. */
void session_measure_child(struct session *s, pid_t parent, pid_t child);
const struct ut_rec_state *session_state(const struct session_event *e);
/* session_sample.c. Loads the programs; they run from session_sample_start on. */
int session_sample_open(struct session *s, struct ut_err *err);
/* Adds the sampled processes. */
int session_sample_targets(struct session *s, struct ut_err *err);
int session_sample_start(struct session *s, struct ut_err *err);
/* Adds a sampled process. Without sampling, this and the next functions do nothing. */
void session_sample_process(struct session *s, pid_t pid);
void session_sample_mapped(struct session *s, pid_t pid, const struct mapping *m, uint64_t time_ns);
void session_sample_refresh(struct session *s);
void session_sample_lifecycle(struct session *s, const struct ut_rec_life *r);
bool session_is_sample(const struct ut_rec_event *rec);
int session_emit_sample(struct session *s, const struct ut_rec_event *rec, size_t size);
/* After the last sample: emits the waits that are not over. */
int session_sample_finish(struct session *s);
/* Reports processes that were throttled since the last call. */
int session_report_throttled(struct session *s);
/* Attaches indirect functions that the targets have resolved meanwhile. */
void session_choose_again(struct session *s);
/* Attaches to the files that processes have mapped meanwhile. */
void session_serve_mappings(struct session *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One tracing session from request to totals. States: opened (planned; needs no privileges), started (attached), running,
 * stopped. Single-threaded. Records go to a sink in exact time order; the sink cannot tell where they came from.
 */
#ifndef UT_RECORD_SESSION_H
#define UT_RECORD_SESSION_H

#include "plan/plan.h"
#include "record/sink.h"
#include "record/target_set.h"

struct session;
struct session_sampling; /* sample/sampler.h */

struct session_options {
	struct target_set targets;
	const char *const *probes; /* as typed */
	size_t nprobes;
	bool explain; /* the command will not run: its libraries are searched in the standard directories */
	uint32_t text_limit; /* maximum bytes of a string, 1…GEN_TEXT_LIMIT_MAX */
	uint64_t max_events; /* 0: no limit */
	bool no_multi; /* attach with perf events, as before Linux 6.6 (tests) */
	bool no_forks; /* targets never fork: see record/nop5_harm.h */
	bool no_sleep; /* no sleepable programs */
	bool no_prctl; /* only user events of <usertrace.h> */
	/*
	 * What each of probes begins or ends. NULL: no measuring. Where the kernel lacks what measuring needs, a note says so,
	 * and no event has a state.
	 */
	const enum probe_state *states;
	bool described; /* the probes come from runtime definitions: see plan_options */
	bool lifecycle; /* emit lifecycle events, even without e: probes */
	const struct session_sampling *sampling; /* NULL: none. Emits lifecycle events and mappings as well */
};

struct session_totals {
	uint64_t events, lost, missed; /* emitted; lost because a ring was full; missed (BPF recursion) */
	uint64_t throttled; /* of the lost ones, those of throttled processes */
	uint64_t lost_lifecycle; /* lifecycle events that did not fit; not among the lost ones */
	uint64_t busy; /* samples without a user stack, as another walk was under way */
	uint64_t left; /* calls of r: probes that ended without a return; not counted behind a trampoline */
	uint64_t unknown_returns; /* of r: probes: the call began before the attachment */
	uint64_t malformed; /* user events with an operation that does not exist */
	uint64_t elapsed_ns; /* from the attachment to the stop */
	size_t nprobes, nsites;
	bool multi; /* uprobe_multi links were used */
};

enum session_end { SESSION_STOPPED, SESSION_TARGETS_ENDED, SESSION_COMMAND_ENDED, SESSION_MAX_EVENTS, SESSION_TIME };

int session_open(const struct session_options *options, const struct runtimes *runtimes, struct session **ret,
		 struct ut_err *err);
struct session *session_close(struct session *s); /* from any state; detaches everything */
const struct plan *session_plan(const struct session *s);
/* With follow: the descendants of the targets that existed before the session, and are traced. Borrowed; complete after
 * session_start. */
const struct process_id *session_descendants(const struct session *s, size_t *ret_n);
/* The runtime of a command while no probe was found in it; otherwise NULL. */
const struct runtime *session_runtime(const struct session *s);

/*
 * Attaches everything or nothing, and starts recording. @log as in attach_sites. A command has executed when this
 * returns.
 */
int session_start(struct session *s, const struct session_sink *sink, char **log, struct ut_err *err);
/* Until stop_fd, the end of the targets, or a limit. *@ret_end says which. */
int session_run(struct session *s, const struct session_sink *sink, enum session_end *ret_end, struct ut_err *err);
/* Detaches, emits all that was recorded until then, and computes the totals. */
int session_stop(struct session *s, const struct session_sink *sink, struct session_totals *ret, struct ut_err *err);
/* Waits for the command. Returns its status as a shell reports it, -1 without a command. */
int session_command_status(struct session *s);
/* Does this session measure? After session_start. */
bool session_measures(const struct session *s);
/* Origin of the times in packed counters, CLOCK_MONOTONIC nanoseconds. */
uint64_t session_state_base_ns(const struct session *s);
/* Bytes of unwind tables in the kernel, and files that have one; 0 without sampling. */
void session_table_size(const struct session *s, uint64_t *ret_bytes, size_t *ret_files);
/* CLOCK_MONOTONIC nanoseconds of the attachment. */
uint64_t session_start_ns(const struct session *s);

#endif

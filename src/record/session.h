/* SPDX-License-Identifier: MIT */
/*
 * One tracing session from request to totals. States: opened (planned; needs no rights), started (attached), running,
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
	bool explain; /* the command will not run: what it would map is looked for on the usual paths */
	uint32_t text_limit; /* bytes of a text, 1…GEN_TEXT_LIMIT_MAX */
	uint64_t max_events; /* 0: no end */
	bool no_multi; /* attach the older way (tests) */
	bool no_forks; /* the programs do not fork: see record/nop5_harm.h */
	bool no_sleep; /* no handler waits for a page of the program */
	bool no_prctl; /* user events from <usertrace.h> alone */
	/*
	 * By probe, as probes is: what it begins or ends. NULL: nothing is measured. Where the kernel does not tell enough
	 * to measure, a note says so, and no event has a state.
	 */
	const enum probe_state *states;
	bool described; /* the probes are from descriptions of runtimes: see plan_options */
	bool lifecycle; /* forks, execs and exits to the sink, e: probes or not */
	const struct session_sampling *sampling; /* NULL: none. Then lives and mappings are told as well */
};

struct session_totals {
	uint64_t events, lost,
		missed; /* given to the sink; lost for want of room; not seen because a program was busy on that CPU */
	uint64_t throttled; /* of the lost ones, those of processes that flooded */
	uint64_t lost_lifecycle; /* forks, execs and exits that did not fit; none of the lost ones */
	uint64_t busy; /* samples without a user stack, as another walk was under way */
	uint64_t malformed; /* user events with an operation that does not exist */
	uint64_t elapsed_ns; /* from the attachment to the stop */
	size_t nprobes, nsites;
	bool multi; /* which way of attaching was used */
};

enum session_end { SESSION_STOPPED, SESSION_TARGETS_ENDED, SESSION_COMMAND_ENDED, SESSION_MAX_EVENTS, SESSION_TIME };

int session_open(const struct session_options *options, const struct runtimes *runtimes, struct session **ret,
		 struct ut_err *err);
struct session *session_close(struct session *s); /* from any state; leaves nothing attached */
const struct plan *session_plan(const struct session *s);
/* The runtime that a command turned out to be, as long as no probe was found in it; else NULL. */
const struct runtime *session_runtime(const struct session *s);

/*
 * Attaches everything or nothing. After this events are being recorded. @log as in attach_sites. A command has
 * been exec'ed when this returns.
 */
int session_start(struct session *s, const struct session_sink *sink, char **log, struct ut_err *err);
/* Until stop_fd, the end of the targets, or a limit. *@ret_end says which. */
int session_run(struct session *s, const struct session_sink *sink, enum session_end *ret_end, struct ut_err *err);
/* Detaches, gives out all that was recorded until then, and closes the accounts. */
int session_stop(struct session *s, const struct session_sink *sink, struct session_totals *ret, struct ut_err *err);
/* Waits for the command; its status as a shell has it, -1 without one. */
int session_command_status(struct session *s);
/* False: this session does not measure, asked for or not. After session_start. */
bool session_measures(const struct session *s);
/* What state words' times count from, CLOCK_MONOTONIC nanoseconds. */
uint64_t session_state_base_ns(const struct session *s);
/* Bytes of unwind tables in the kernel, and files that have one; 0 without sampling. */
void session_table_size(const struct session *s, uint64_t *ret_bytes, size_t *ret_files);
/* CLOCK_MONOTONIC nanoseconds of the attachment. */
uint64_t session_start_ns(const struct session *s);

#endif

/* SPDX-License-Identifier: MIT */
/* Opens a session (from its options to a plan) and closes it. Needs no privileges. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "gen/gen_user.h"
#include "kernel/kernel.h"
#include "plan/plan_priv.h"
#include "record/session_priv.h"

const struct plan *session_plan(const struct session *s) { return s->plan; }
const struct runtime *session_runtime(const struct session *s) { return s->runtime; }
uint64_t session_state_base_ns(const struct session *s) { return s->state_base_ns; }
uint64_t session_start_ns(const struct session *s) { return s->start_ns; }

bool session_has_target(const struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (s->targets.v[i].id.pid == pid)
			return true;
	return false;
}

int session_add_target(struct session *s, pid_t pid, struct ut_err *err)
{
	struct target t = { .pidfd = -1 };
	int r, pidfd_r;

	if (session_has_target(s, pid))
		return 0; /* named twice; two attachments would report each event twice */
	if (pid == getpid())
		return ut_err_set(err, -EINVAL,
				  "refusing to trace usertrace itself (pid %d): its output would generate more events",
				  pid);
	t.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	pidfd_r = -errno;
	r = process_identify(pid, &t.id, err);
	if (r) {
		close_fd(t.pidfd);
		return r;
	}
	if (t.pidfd < 0)
		return ut_err_set(err, pidfd_r, "cannot watch process %d: %s", pid, strerror(-pidfd_r));
	if (vec_push(&s->targets, t)) {
		close(t.pidfd);
		return ut_err_nomem(err);
	}
	return 0;
}

enum gen_filter session_uprobe_filter(const struct session_options *o)
{
	if (o->targets.follow && (o->targets.npids || o->targets.command))
		return GEN_FILTER_FOLLOW;
	return o->targets.npids || o->targets.command ? GEN_FILTER_NONE : GEN_FILTER_NOT_SELF;
}

bool session_has_targets(const struct session_options *o) { return o->targets.npids || o->targets.command; }

static int open_plan(struct session *s, const struct runtimes *runtimes, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	struct plan_options po = {
		.gen = { .text_limit = o->text_limit,
			 .may_sleep = !o->no_sleep,
			 .filter = session_uprobe_filter(o),
			 .self_tgid = getpid(),
			 .ncpus = kernel_cpus(),
			 .wake_bytes = (uint32_t)(s->rings.size_bytes / 4),
			 .fair_bytes = (uint32_t)GEN_FAIR_FROM(s->rings.size_bytes) },
		.states = o->states,
		.lifecycle = o->lifecycle || o->sampling,
		.samples = o->sampling ? o->sampling->probes : 0,
		.tracepoint_filter = session_has_targets(o) ? GEN_FILTER_FOLLOW : GEN_FILTER_NOT_SELF,
		.runtimes = runtimes,
		.described = o->described,
	};

	return plan_new(o->probes, o->nprobes, &po, &s->plan, err);
}

/* A kernel thread has no program: kernel tracepoints, but no probes. */
static int check_program(const struct session *s, pid_t pid, struct ut_err *err)
{
	char path[64], comm[16], c;
	bool wanted = false;

	for (size_t i = 0; i < s->plan->requests.n; i++)
		wanted |= s->plan->requests.v[i].spec->kind != PROBE_TRACEPOINT &&
			  s->plan->requests.v[i].spec->kind != PROBE_SIGNAL;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (!wanted || readlink(path, &c, 1) >= 0 || errno != ENOENT || process_has_ended(pid))
		return 0;
	process_comm(pid, comm);
	return ut_err_set(err, -EINVAL,
			  "process %d (%s) is a kernel thread: it has no probes, only kernel tracepoints (t:)", pid,
			  comm);
}

/* Plans the files that exist now. */
static int fill_plan(struct session *s, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	int r = plan_tracepoints(s->plan, err);

	if (!r)
		r = plan_user_transports(s->plan, !o->no_prctl, err);
	for (size_t i = 0; !r && i < s->targets.n; i++) {
		r = check_program(s, s->targets.v[i].id.pid, err);
		if (!r)
			r = plan_process(s->plan, s->targets.v[i].id.pid, err);
	}
	if (!r)
		r = session_add_descendants(s, err);
	if (!r && o->targets.all)
		r = plan_all(s->plan, err);
	if (!r && o->targets.command)
		r = plan_command(s->plan, o->targets.command[0], err);
	if (!r && plan_wants_user_events(s->plan) && !session_has_targets(o))
		r = plan_user_library(s->plan, err);
	if (!r)
		r = plan_named_files(s->plan,
				     (!session_has_targets(o) && !o->targets.all) || (o->targets.command && o->explain),
				     err);
	return r;
}

static void describe_targets(const struct session *s, char *ret, size_t size)
{
	const struct session_options *o = &s->options;
	char comm[16];

	if (s->targets.n == 1) {
		process_comm(s->targets.v[0].id.pid, comm);
		snprintf(ret, size, "process %d (%s)%s", s->targets.v[0].id.pid, comm,
			 s->descendants.n ? " and its children" : "");
	} else if (s->targets.n) {
		snprintf(ret, size, "the %zu processes%s", s->targets.n, s->descendants.n ? " and their children" : "");
	} else if (o->targets.all) {
		snprintf(ret, size, "any running process");
	} else {
		snprintf(ret, size,
			 "the programs and libraries in the standard directories; select a process (-p PID), all of "
			 "them (-a), or a path");
	}
}

/* A missing probe may come later with a command, or with --wait. */
static int check_complete(struct session *s, const struct runtimes *runtimes, struct ut_err *err)
{
	const struct runtime *runtime = NULL;
	char where[256];
	int r;

	if (s->options.targets.wait || s->options.targets.command)
		return plan_paths_complete(s->plan, err);
	describe_targets(s, where, sizeof(where));
	if (plan_is_complete(s->plan))
		return 0;
	if (s->targets.n == 1 && runtimes)
		runtime = runtime_of_process(runtimes, s->targets.v[0].id.pid);
	r = plan_complete(s->plan, where, runtime, err);
	return r == -EINVAL ? session_hint_at_children(s, runtimes, err) : r;
}

int session_open(const struct session_options *options, const struct runtimes *runtimes, struct session **ret,
		 struct ut_err *err)
{
	struct session *s = calloc(1, sizeof(*s));
	struct ut_err why = { 0 };
	bool no_states;
	int r = 0;

	if (!s)
		return ut_err_nomem(err);
	s->options = *options;
	if (options->sampling) {
		s->sampling = *options->sampling;
		s->options.sampling = &s->sampling;
	}
	s->rings = (struct rings){ .outer_fd = -1, .lost_fd = -1 };
	s->rings.size_bytes =
		options->targets.ring_bytes ? options->targets.ring_bytes : rings_default_size(kernel_cpus());
	s->state_base_ns = monotonic_ns() - 1000000000u; /* before any time that is stored */
	s->starts_fd = s->calls_fd = s->throttled_fd = s->epoll_fd = -1;
	no_states = options->states && measure_possible(&why);
	if (no_states)
		s->options.states = NULL;
	r = open_plan(s, runtimes, err);
	if (!r && no_states && plan_note(s->plan, "%s", why.msg))
		r = ut_err_nomem(err);
	if (!r && plan_wants_user_events(s->plan) && !session_has_targets(options))
		s->options.targets.all = true; /* user events name no program */
	for (size_t i = 0; !r && i < options->targets.npids; i++)
		r = session_add_target(s, options->targets.pids[i], err);
	if (!r)
		r = fill_plan(s, err);
	if (!r)
		r = check_complete(s, runtimes, err);
	if (!r)
		r = session_note_children(s, runtimes, err);
	if (r) {
		session_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct session *session_close(struct session *s)
{
	if (!s)
		return NULL;
	attach_free(s->attach);
	lifecycle_stop(s->lifecycle);
	follow_close(s->follow); /* continues suspended processes, which are waited for below */
	child_abandon(&s->child);
	mapwatch_close(s->watch);
	if (s->open_rings)
		rings_close(&s->rings);
	merge_free(s->merge);
	for (size_t i = 0; i < s->targets.n; i++)
		close_fd(s->targets.v[i].pidfd);
	vec_done(&s->targets);
	vec_done(&s->descendants);
	close_fd(s->starts_fd);
	close_fd(s->calls_fd);
	close_fd(s->throttled_fd);
	vec_done(&s->throttled);
	late_free(s->late);
	signals_close(s->signals);
	sched_close(s->sched);
	measure_close(s->measure);
	lifecycle_close(s->lifecycle);
	sampler_close(s->sampler);
	vec_done(&s->changed);
	close_fd(s->epoll_fd);
	plan_free(s->plan);
	free(s);
	return NULL;
}

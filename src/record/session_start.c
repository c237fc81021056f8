/* SPDX-License-Identifier: MIT */
/* From a plan to running programs, in an order in which no event is missed and nothing is half attached. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "gen/gen_user.h"
#include "kernel/kernel.h"
#include "plan/plan_priv.h"
#include "record/nop5_harm.h"
#include "record/session_priv.h"

/* The reader runs briefly each time, but events are lost if it waits behind busy programs. */
#define READER_NICE (-15)

/* Only returns need it, and the kernel takes a millisecond to create it. */
static int open_starts(struct session *s, struct ut_err *err)
{
	bool needed = false;
	int fd;

	for (size_t i = 0; i < s->plan->requests.n; i++)
		needed |= s->plan->requests.v[i].spec->kind == PROBE_RETURN;
	if (!needed)
		return 0;
	fd = kernel_starts_map();
	if (fd < 0)
		return ut_err_set(err, fd, "cannot create the table of calls in progress: %s", strerror(-fd));
	s->starts_fd = fd;
	fd = kernel_calls_map();
	if (fd < 0)
		return ut_err_set(err, fd, "cannot create the counters of calls: %s", strerror(-fd));
	s->calls_fd = fd;
	return 0;
}

/* Only for user events: the table of throttled processes, and names that are not in memory. */
static int open_user(struct session *s, struct ut_err *err)
{
	bool signals = plan_wants_signals(s->plan);

	if (!plan_wants_user_events(s->plan) && !signals)
		return 0;
	s->throttled_fd = kernel_throttled_map(sizeof(struct ut_throttled));
	if (s->throttled_fd < 0)
		return ut_err_set(err, s->throttled_fd, "cannot create the table of throttled processes: %s",
				  strerror(-s->throttled_fd));
	if (!plan_wants_user_events(s->plan))
		return 0;
	s->late = late_new();
	if (!s->late)
		return ut_err_nomem(err);
	for (size_t i = 0; i < s->targets.n; i++)
		late_note_process(s->late, s->targets.v[i].id.pid);
	for (size_t i = 0; i < s->descendants.n; i++)
		late_note_process(s->late, s->descendants.v[i].pid);
	return 0;
}

static bool needs_follow(const struct session *s)
{
	if (!session_has_targets(&s->options))
		return false;
	if (s->options.targets.follow)
		return true;
	for (size_t i = 0; i < s->plan->requests.n; i++)
		if (s->plan->requests.v[i].spec->kind == PROBE_TRACEPOINT)
			return true;
	if (s->options.sampling)
		return true;
	return plan_wants_user_events(s->plan) || plan_wants_signals(s->plan) || s->options.lifecycle;
}

/* Are there probes that the kernel filters by process? See attach_process_again. */
static bool wants_thread_execs(const struct session *s)
{
	bool wanted = false;

	for (size_t i = 0; i < s->plan->requests.n; i++)
		wanted |= s->plan->requests.v[i].spec->kind != PROBE_TRACEPOINT &&
			  s->plan->requests.v[i].spec->kind != PROBE_SIGNAL;
	return wanted && session_has_targets(&s->options) && session_uprobe_filter(&s->options) == GEN_FILTER_NONE &&
	       process_in_first_pid_namespace();
}

/* Can a file that is mapped later have a missing probe? A provider may be in several files. */
static bool wants_more_files(const struct session *s)
{
	for (size_t i = 0; i < s->plan->requests.n; i++) {
		const struct plan_request *r = &s->plan->requests.v[i];

		if (r->spec->kind == PROBE_TRACEPOINT || r->spec->kind == PROBE_SIGNAL)
			continue;
		if (!plan_request_is_path(r) || !r->nprobes)
			return true;
	}
	return false;
}

/* Is the command suspended at each exec and in its dynamic linker? BPF programs must see the PIDs that usertrace sees. */
static bool wants_suspension(const struct session *s)
{
	return s->options.targets.command && (wants_more_files(s) || s->sink->process || s->options.sampling) &&
	       process_in_first_pid_namespace();
}

static int open_follow(struct session *s, struct ut_err *err)
{
	bool suspend = wants_suspension(s);

	if (!needs_follow(s) && !suspend && !wants_thread_execs(s))
		return 0;
	if (!process_in_first_pid_namespace())
		return ut_err_set(err, -EINVAL,
				  "usertrace runs in its own PID namespace, but BPF programs see the PIDs of the host: "
				  "run it on the host to trace tracepoints or follow children, or use --no-follow");
	return follow_open(suspend, &s->follow, err);
}

/* After the maps that its programs share, before a process is in them: so no fork of a followed process is missed. */
static int open_lifecycle(struct session *s, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	struct lifecycle_setup setup = {
		.records = plan_wants_lifecycle(s->plan),
		.targets = session_has_targets(o),
		.thread_execs = s->follow && wants_thread_execs(s),
		.children = s->follow && o->targets.follow,
		.suspend = s->follow && follow_control_fd(s->follow) >= 0,
		.sample_children = o->targets.all || o->targets.follow,
		.ncpus = s->rings.n,
		.rings_fd = s->rings.outer_fd,
		.lost_fd = s->rings.lost_fd,
		.ring_fd = rings_fd(&s->rings, 0),
		.follow_fd = s->follow ? follow_map_fd(s->follow) : -1,
		.control_fd = s->follow ? follow_control_fd(s->follow) : -1,
		.sampled_fd = s->sampler ? sampler_processes_fd(s->sampler) : -1,
		.state = s->measure ? measure_maps(s->measure) : NULL,
		.base_ns = s->state_base_ns,
		.multi = kernel_has_uprobe_multi(),
		.verbose = o->targets.verbose,
	};
	int r = 0;

	if (setup.records || setup.thread_execs || setup.children || setup.suspend || setup.state ||
	    setup.sampled_fd >= 0)
		r = lifecycle_open(&setup, &s->lifecycle, err);
	for (size_t i = 0; !r && s->follow && i < s->targets.n; i++)
		r = follow_add(s->follow, s->targets.v[i].id.pid, err);
	for (size_t i = 0; !r && s->follow && i < s->descendants.n; i++)
		r = follow_add(s->follow, s->descendants.v[i].pid, err);
	return r ? r : session_add_descendants(s, err); /* whom a process forked before it was in the set */
}

static int open_mapwatch(struct session *s, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	bool later = o->targets.all || o->targets.wait || (o->targets.follow && o->targets.npids) ||
		     (o->targets.command && !wants_suspension(s));

	/* User events need it to know the mappings of a process that has exited. */
	if (o->sampling || plan_wants_user_events(s->plan))
		return mapwatch_open(&s->watch, err);
	return later && wants_more_files(s) ? mapwatch_open(&s->watch, err) : 0;
}

static int watch_fd(struct session *s, int fd, uint32_t events, struct ut_err *err)
{
	struct epoll_event e = { .events = events, .data.fd = fd };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e)
		       ? ut_err_set(err, -errno, "cannot wait for events: %s", strerror(errno))
		       : 0;
}

static int open_signals(struct session *s, struct ut_err *err)
{
	const struct signals_setup setup = {
		.events = &s->plan->signals,
		.options = &s->plan->options.gen,
		.targets = session_has_targets(&s->options),
		.rings_fd = s->rings.outer_fd,
		.lost_fd = s->rings.lost_fd,
		.throttled_fd = s->throttled_fd,
		.follow_fd = s->follow ? follow_map_fd(s->follow) : -1,
		.verbose = s->options.targets.verbose,
	};

	return plan_wants_signals(s->plan) ? signals_open(&setup, &s->signals, err) : 0;
}

/* Rings become readable by their fill level: edge-triggered, since they are readable most of the time. */
static int open_epoll(struct session *s, struct ut_err *err)
{
	int r = 0;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return ut_err_set(err, -errno, "cannot wait for events: %s", strerror(errno));
	for (unsigned i = 0; !r && i < s->rings.n; i++)
		r = watch_fd(s, rings_fd(&s->rings, i), EPOLLIN | EPOLLET, err);
	if (!r && s->options.targets.stop_fd >= 0)
		r = watch_fd(s, s->options.targets.stop_fd, EPOLLIN, err);
	for (size_t i = 0; !r && i < s->targets.n; i++)
		r = watch_fd(s, s->targets.v[i].pidfd, EPOLLIN, err);
	if (!r && s->follow && follow_control_fd(s->follow) >= 0)
		r = watch_fd(s, follow_control_fd(s->follow), EPOLLIN, err);
	for (unsigned i = 0; !r && s->watch && i < mapwatch_fds(s->watch); i++)
		r = watch_fd(s, mapwatch_fd(s->watch, i), EPOLLIN, err);
	return r;
}

static int open_attach(struct session *s, struct ut_err *err)
{
	struct attach_options ao = {
		.map_fds = { [GEN_MAP_RINGS] = s->rings.outer_fd,
			     [GEN_MAP_LOST] = s->rings.lost_fd,
			     [GEN_MAP_FOLLOW] = s->follow ? follow_map_fd(s->follow) : -1,
			     [GEN_MAP_STARTS] = s->starts_fd,
			     [GEN_MAP_CALLS] = s->calls_fd,
			     [GEN_MAP_THROTTLED] = s->throttled_fd },
		.functions = s->sched ? sched_functions(s->sched) : NULL,
		.no_multi = s->options.no_multi,
		.hold = s->targets.n > 0,
		.no_forks = s->options.no_forks,
		.verbose = s->options.targets.verbose,
	};
	AUTO_FREE pid_t *pids = calloc(s->targets.n + 1, sizeof(*pids));

	if (!pids)
		return ut_err_nomem(err);
	ao.map_fds[GEN_MAP_WALK_UPROBE] = ao.map_fds[GEN_MAP_WALK_TRACEPOINT] = -1;
	if (s->sampler)
		sampler_maps(s->sampler, ao.map_fds);
	for (size_t i = 0; i < s->targets.n; i++)
		pids[i] = s->targets.v[i].id.pid;
	ao.pids = pids;
	ao.npids = session_uprobe_filter(&s->options) == GEN_FILTER_NONE ? s->targets.n : 0;
	s->attach = attach_new(&ao);
	return s->attach ? 0 : ut_err_nomem(err);
}

/* Are the PIDs still those of the processes that were planned? */
static int check_targets(struct session *s, struct ut_err *err)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (!process_is_alive(&s->targets.v[i].id))
			return ut_err_set(err, -ESRCH, "process %d exited while probes were being attached",
					  s->targets.v[i].id.pid);
	return 0;
}

void session_report_notes(struct session *s)
{
	for (; s->plan->notes_reported < s->plan->notes.n; s->plan->notes_reported++)
		if (s->sink->note)
			s->sink->note(s->sink->ctx, s->plan->notes.v[s->plan->notes_reported]);
}

/* The site of <usertrace.h> is a 1-byte nop after a 5-byte one, which is the faster site where it is safe. */
static void use_fast_sites(struct session *s, size_t first)
{
	for (size_t i = first; i < s->plan->sites.n; i++) {
		struct plan_site *site = &s->plan->sites.v[i];

		if (!site->nop5_before || nop5_unsafe(NOP5_FIRST, s->options.no_forks))
			continue;
		site->nop5_before = false;
		site->nop5 = NOP5_FIRST;
		site->vaddr -= 5;
		site->offset -= 5;
	}
}

/*
 * Excludes the sites from @first on that are on 5-byte nops and unsafe on this kernel, with a note. If all of them are
 * unsafe, excludes none: attaching fails with the reason then.
 */
static int exclude_unsafe_nop5(struct session *s, size_t first, struct ut_err *err)
{
	struct plan *plan = s->plan;
	size_t unsafe = 0;

	use_fast_sites(s, first);
	for (size_t i = first; i < plan->sites.n; i++)
		unsafe += nop5_unsafe(plan->sites.v[i].nop5, s->options.no_forks) != NULL;
	if (!unsafe || unsafe == plan->sites.n - first)
		return 0;
	for (size_t i = first; i < plan->sites.n; i++) {
		struct plan_site *site = &plan->sites.v[i];
		const struct plan_probe *p = &plan->probes.v[site->probe];
		const char *why = nop5_unsafe(site->nop5, s->options.no_forks);

		site->excluded = why != NULL;
		if (why && plan_note(plan, "%s:%s at 0x%llx in '%s' is skipped: %s", p->provider, p->func,
				     (unsigned long long)site->vaddr, plan->files.v[site->file].path, why))
			return ut_err_nomem(err);
	}
	return 0;
}

static bool has_sites(const struct plan *plan, unsigned request)
{
	for (size_t i = 0; i < plan->sites.n; i++)
		if (plan->probes.v[plan->sites.v[i].probe].request == request && site_has_events(&plan->sites.v[i]))
			return true;
	return false;
}

/* Excludes the sites that the kernel refused, with one note for each file and request. */
static int exclude_refused(struct session *s, struct ut_err *err)
{
	struct plan *plan = s->plan;
	const struct plan_site *named = NULL;
	const struct plan_probe *p = NULL;
	const uint32_t *numbers;
	size_t more = 0, n = attach_refused(s->attach, &numbers);
	int r = 0;

	for (size_t i = 0; !r && i <= n; i++) {
		struct plan_site *site = i < n ? &plan->sites.v[numbers[i]] : NULL;

		if (site && site->excluded)
			continue;
		if (site && site_has_events(site))
			plan->probes.v[site->probe].nsites--;
		if (site)
			site->excluded = true;
		if (site && named && site->file == named->file && plan->probes.v[site->probe].request == p->request) {
			more++;
			continue;
		}
		if (named && more)
			r = plan_note(plan,
				      "%s and %zu more of '%s' are skipped: the kernel cannot probe their instructions",
				      p->func, more, plan->files.v[named->file].path);
		else if (named)
			r = plan_note(plan, "%s of '%s' is skipped: the kernel cannot probe its instruction", p->func,
				      plan->files.v[named->file].path);
		if (!r && named && !has_sites(plan, p->request))
			return ut_err_set(err, -EOPNOTSUPP, "the kernel cannot probe any function that '%s' selects",
					  plan->requests.v[p->request].text);
		named = site;
		p = site ? &plan->probes.v[site->probe] : NULL;
		more = 0;
	}
	return r ? ut_err_nomem(err) : 0;
}

int session_attach_sites(struct session *s, size_t first, char **log, struct ut_err *err)
{
	int r = exclude_unsafe_nop5(s, first, err);

	if (!r)
		r = attach_sites(s->attach, s->plan, first, log, err);
	return r ? r : exclude_refused(s, err);
}

int session_start(struct session *s, const struct session_sink *sink, char **log, struct ut_err *err)
{
	char *const *command = s->options.targets.command;
	int r = rings_open(&s->rings, kernel_cpus(), s->rings.size_bytes, err);

	s->sink = sink;
	s->open_rings = r == 0;
	if (!r)
		r = (s->merge = merge_new(s->rings.n)) ? 0 : ut_err_nomem(err);
	if (!r)
		r = open_starts(s, err);
	if (!r)
		r = open_user(s, err);
	if (!r && command)
		r = child_start(command, &s->child, err);
	if (!r && command)
		r = session_add_target(s, s->child.pid, err);
	if (!r)
		r = open_mapwatch(s, err); /* before attaching: later mappings are seen */
	if (!r)
		r = open_follow(s, err);
	if (!r && plan_measures(s->plan))
		r = measure_open(s->state_base_ns, &s->measure, err);
	if (!r)
		r = session_sample_open(s, err);
	if (!r)
		r = open_lifecycle(s, err);
	if (!r)
		r = session_measure_start(s, err);
	if (!r)
		r = session_sample_targets(s, err);
	if (!r)
		r = open_attach(s, err);
	if (!r)
		r = session_attach_sites(s, 0, log, err);
	if (!r)
		session_serve_held(s, false);
	if (!r)
		r = open_signals(s, err);
	if (!r)
		r = check_targets(s, err);
	if (!r)
		r = open_epoll(s, err);
	if (!r)
		r = session_sample_start(s, err);
	if (r)
		return r;
	s->start_ns = s->last_sweep_ns = s->throttled_ns = monotonic_ns();
	setpriority(PRIO_PROCESS, 0,
		    READER_NICE); /* may fail without privileges; the reader then runs at its normal priority */
	session_report_notes(s);
	return command ? child_release(&s->child, command[0], err) : 0;
}

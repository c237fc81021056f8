/* SPDX-License-Identifier: MIT */
/* The session: what is opened in which order, the loop, and the accounts. The work is done by plan, attach, ring, merge and follow. */
#include "record/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "record/attach.h"
#include "record/child.h"
#include "record/follow.h"
#include "record/kernel.h"
#include "record/mapwatch.h"
#include "record/ring.h"

#define IDLE_MS_MAX 40	/* a person sees a line at once */
/* The reader does little at a time, but must not wait behind busy programs: that is what loses events. */
#define READER_NICE (-15)
#define SWEEP_NS 1000000000u

struct target {
	struct process_id id;
	int pidfd;
	bool ended;
};

struct session {
	struct session_options options;
	struct plan *plan;
	struct attach *attach;
	struct rings rings;
	struct merge *merge;
	struct follow *follow;
	struct mapwatch *watch;
	int starts_fd;		/* GEN_MAP_STARTS */
	struct child child;
	const struct runtime *runtime;	/* of a process that was held; NULL: none was recognised */
	VEC(struct target) targets;
	size_t ended;		/* targets */
	int epoll_fd;
	const struct session_sink *sink;
	uint64_t start_ns, stop_ns, last_sweep_ns;
	struct session_totals totals;
	bool open_rings;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

const struct plan *session_plan(const struct session *s) { return s->plan; }
const struct runtime *session_runtime(const struct session *s) { return s->runtime; }
uint64_t session_start_ns(const struct session *s) { return s->start_ns; }

/* --- opening: who and what ------------------------------------------------------------------------------------------ */

static int add_target(struct session *s, pid_t pid, struct ut_err *err)
{
	struct target t = { .pidfd = -1 };
	int r;

	if (pid == getpid())
		return ut_err_set(err, -EINVAL, "process %d is usertrace itself: each line would make another", pid);
	t.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	r = process_identify(pid, &t.id, err);
	if (r) {
		if (t.pidfd >= 0)
			close(t.pidfd);
		return r;
	}
	if (t.pidfd < 0)
		return ut_err_set(err, -errno, "cannot watch process %d: %s", pid, strerror(errno));
	if (vec_push(&s->targets, t)) {
		close(t.pidfd);
		return ut_err_nomem(err);
	}
	return 0;
}

static enum gen_filter uprobe_filter(const struct session_options *o)
{
	if (o->follow && (o->npids || o->command))
		return GEN_FILTER_FOLLOW;
	return o->npids || o->command ? GEN_FILTER_NONE : GEN_FILTER_NOT_SELF;
}

static bool has_targets(const struct session_options *o) { return o->npids || o->command; }

static int open_plan(struct session *s, const struct runtimes *runtimes, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct plan_options po = {
		.gen = { .text_limit = o->text_limit, .may_sleep = true, .filter = uprobe_filter(o), .self_tgid = getpid(),
			 .ncpus = (uint32_t)cpus, .wake_bytes = (uint32_t)(s->rings.size_bytes / 4) },
		.tracepoint_filter = has_targets(o) ? GEN_FILTER_FOLLOW : GEN_FILTER_NOT_SELF,
		.runtimes = runtimes,
	};

	return plan_new(o->probes, o->nprobes, &po, &s->plan, err);
}

/* A process without a program has events, but no probes. */
static int check_program(const struct session *s, pid_t pid, struct ut_err *err)
{
	char path[64], comm[16], c;
	bool wanted = false;

	for (size_t i = 0; i < s->plan->requests.n; i++)
		wanted |= s->plan->requests.v[i].spec->kind != PROBE_TRACEPOINT;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (!wanted || readlink(path, &c, 1) >= 0 || errno != ENOENT || !process_state(pid) || process_state(pid) == 'Z')
		return 0;
	process_comm(pid, comm);
	return ut_err_set(err, -EINVAL, "process %d (%s) is a kernel thread: it has no probes, only the kernel's events (t:)", pid, comm);
}

/* The files that exist now. */
static int fill_plan(struct session *s, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	int r = plan_tracepoints(s->plan, err);

	for (size_t i = 0; !r && i < s->targets.n; i++) {
		r = check_program(s, s->targets.v[i].id.pid, err);
		if (!r)
			r = plan_process(s->plan, s->targets.v[i].id.pid, err);
	}
	if (!r && o->all)
		r = plan_all(s->plan, err);
	if (!r)
		r = plan_named_files(s->plan, !has_targets(o) && !o->all, err);
	return r;
}

static void where_words(const struct session *s, char *ret, size_t size)
{
	const struct session_options *o = &s->options;
	char comm[16];

	if (s->targets.n == 1) {
		process_comm(s->targets.v[0].id.pid, comm);
		snprintf(ret, size, "process %d (%s)", s->targets.v[0].id.pid, comm);
	} else if (s->targets.n) {
		snprintf(ret, size, "the %zu processes", s->targets.n);
	} else if (o->all) {
		snprintf(ret, size, "any running process");
	} else {
		snprintf(ret, size, "the programs and libraries on the usual paths; name a process (-p PID), all of them (-a), or a path");
	}
}

/* What was not found may come later with a command, or when the user says so. */
static int check_complete(struct session *s, const struct runtimes *runtimes, struct ut_err *err)
{
	char where[256];

	if (s->options.wait || s->options.command)
		return 0;
	where_words(s, where, sizeof(where));
	return plan_complete(s->plan, where, s->targets.n == 1 && runtimes ? runtime_of_process(runtimes, s->targets.v[0].id.pid) : NULL, err);
}

int session_open(const struct session_options *options, const struct runtimes *runtimes, struct session **ret, struct ut_err *err)
{
	struct session *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return ut_err_nomem(err);
	s->options = *options;
	s->rings = (struct rings){ .outer_fd = -1, .lost_fd = -1 };
	s->rings.size_bytes = options->ring_bytes ? options->ring_bytes : rings_default_size((unsigned)sysconf(_SC_NPROCESSORS_CONF));
	s->starts_fd = s->epoll_fd = -1;
	r = open_plan(s, runtimes, err);
	for (size_t i = 0; !r && i < options->npids; i++)
		r = add_target(s, options->pids[i], err);
	if (!r)
		r = fill_plan(s, err);
	if (!r)
		r = check_complete(s, runtimes, err);
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
	child_abandon(&s->child);
	attach_free(s->attach);
	follow_close(s->follow);
	mapwatch_close(s->watch);
	if (s->open_rings)
		rings_close(&s->rings);
	merge_free(s->merge);
	for (size_t i = 0; i < s->targets.n; i++)
		if (s->targets.v[i].pidfd >= 0)
			close(s->targets.v[i].pidfd);
	vec_done(&s->targets);
	if (s->starts_fd >= 0)
		close(s->starts_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	plan_free(s->plan);
	free(s);
	return NULL;
}

/* --- starting ------------------------------------------------------------------------------------------------------- */

/* Only returns with a duration need it, and it takes the kernel a millisecond to make. */
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
		return ut_err_set(err, fd, "cannot make the table of calls in progress: %s", strerror(-fd));
	s->starts_fd = fd;
	return 0;
}

static bool needs_follow(const struct session *s)
{
	if (s->options.follow && has_targets(&s->options))
		return true;
	for (size_t i = 0; i < s->plan->requests.n; i++)
		if (s->plan->requests.v[i].spec->kind == PROBE_TRACEPOINT && has_targets(&s->options))
			return true;
	return false;
}

/* Does anything remain that only a file mapped later can give? A provider may come in more files than one. */
static bool wants_more_files(const struct session *s)
{
	for (size_t i = 0; i < s->plan->requests.n; i++) {
		const struct plan_request *r = &s->plan->requests.v[i];

		if (r->spec->kind != PROBE_TRACEPOINT && (!plan_request_is_path(r) || !r->nprobes))
			return true;
	}
	return false;
}

/* Is the command held at every exec and behind its dynamic linker? Needs programs that see the pids that we see. */
static bool wants_hold(const struct session *s)
{
	return s->options.command && (wants_more_files(s) || s->sink->process) && process_in_first_pid_namespace();
}

static int open_follow(struct session *s, struct ut_err *err)
{
	bool hold = wants_hold(s);
	int r;

	if (!needs_follow(s) && !hold)
		return 0;
	if (!process_in_first_pid_namespace())
		return ut_err_set(err, -EINVAL, "usertrace runs in a pid namespace of its own, whose process ids the kernel's programs do not see: "
				  "run it on the host for kernel events and for following children, or use --no-follow");
	r = follow_open(s->options.follow, hold, &s->follow, err);
	for (size_t i = 0; !r && i < s->targets.n; i++)
		r = follow_add(s->follow, s->targets.v[i].id.pid, err);
	return r;
}

static int open_watch(struct session *s, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	bool later = o->all || o->wait || (o->follow && o->npids) || (o->command && !wants_hold(s));

	return later && wants_more_files(s) ? mapwatch_open(&s->watch, err) : 0;
}

static int watch_fd(struct session *s, int fd, uint32_t events, struct ut_err *err)
{
	struct epoll_event e = { .events = events, .data.fd = fd };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? ut_err_set(err, -errno, "cannot wait for events: %s", strerror(errno)) : 0;
}

/* Rings wake us by their fill level: edge-triggered, since they are readable most of the time. */
static int open_epoll(struct session *s, struct ut_err *err)
{
	int r = 0;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return ut_err_set(err, -errno, "cannot wait for events: %s", strerror(errno));
	for (unsigned i = 0; !r && i < s->rings.n; i++)
		r = watch_fd(s, rings_fd(&s->rings, i), EPOLLIN | EPOLLET, err);
	if (!r && s->options.stop_fd >= 0)
		r = watch_fd(s, s->options.stop_fd, EPOLLIN, err);
	for (size_t i = 0; !r && i < s->targets.n; i++)
		r = watch_fd(s, s->targets.v[i].pidfd, EPOLLIN, err);
	if (!r && s->follow && follow_fd(s->follow) >= 0)
		r = watch_fd(s, follow_fd(s->follow), EPOLLIN, err);
	for (unsigned i = 0; !r && s->watch && i < mapwatch_fds(s->watch); i++)
		r = watch_fd(s, mapwatch_fd(s->watch, i), EPOLLIN, err);
	return r;
}

static int open_attach(struct session *s, struct ut_err *err)
{
	struct attach_options ao = {
		.map_fds = { [GEN_MAP_RINGS] = s->rings.outer_fd, [GEN_MAP_LOST] = s->rings.lost_fd,
			     [GEN_MAP_FOLLOW] = s->follow ? follow_map_fd(s->follow) : -1, [GEN_MAP_STARTS] = s->starts_fd },
		.no_multi = s->options.no_multi, .verbose = s->options.verbose,
	};
	AUTO_FREE pid_t *pids = calloc(s->targets.n + 1, sizeof(*pids));

	if (!pids)
		return ut_err_nomem(err);
	for (size_t i = 0; i < s->targets.n; i++)
		pids[i] = s->targets.v[i].id.pid;
	ao.pids = pids;
	ao.npids = uprobe_filter(&s->options) == GEN_FILTER_NONE ? s->targets.n : 0;
	s->attach = attach_new(&ao);
	return s->attach ? 0 : ut_err_nomem(err);
}

/* The pids that we attached to are still the processes that we looked at. */
static int check_targets(struct session *s, struct ut_err *err)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (!process_is_alive(&s->targets.v[i].id))
			return ut_err_set(err, -ESRCH, "process %d ended while probes were being attached", s->targets.v[i].id.pid);
	return 0;
}

static void tell_notes(struct session *s)
{
	for (; s->plan->notes_told < s->plan->notes.n; s->plan->notes_told++)
		if (s->sink->note)
			s->sink->note(s->sink->ctx, s->plan->notes.v[s->plan->notes_told]);
}

static int start_command(struct session *s, struct ut_err *err)
{
	int r = child_start(s->options.command, &s->child, err);

	return r ? r : add_target(s, s->child.pid, err);
}

int session_start(struct session *s, const struct session_sink *sink, char **log, struct ut_err *err)
{
	int r = rings_open(&s->rings, (unsigned)sysconf(_SC_NPROCESSORS_CONF), s->rings.size_bytes, err);

	s->sink = sink;
	s->open_rings = r == 0;
	if (!r)
		r = (s->merge = merge_new(s->rings.n)) ? 0 : ut_err_nomem(err);
	if (!r)
		r = open_starts(s, err);
	if (!r && s->options.command)
		r = start_command(s, err);
	if (!r)
		r = open_watch(s, err);	/* before the plan is acted on: what is mapped meanwhile is seen */
	if (!r)
		r = open_follow(s, err);
	if (!r)
		r = open_attach(s, err);
	if (!r)
		r = attach_sites(s->attach, s->plan, 0, log, err);
	if (!r)
		r = check_targets(s, err);
	if (!r)
		r = open_epoll(s, err);
	if (r)
		return r;
	s->start_ns = s->last_sweep_ns = now_ns();
	setpriority(PRIO_PROCESS, 0, READER_NICE);	/* may be refused; then it reads as it is */
	tell_notes(s);
	return s->options.command ? child_release(&s->child, s->options.command[0], err) : 0;
}

/* --- files that come later ------------------------------------------------------------------------------------------- */

/* Sites that print something: the entries of traced returns only start their clocks. */
static size_t sites_since(const struct plan *plan, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < plan->sites.n; i++)
		n += plan->sites.v[i].kind != SITE_ENTRY;
	return n;
}

/* Attaches what the plan grew by since @first; a failure is told, and tracing goes on with what there is. */
static void attach_more(struct session *s, size_t first_probe, size_t first_site)
{
	struct ut_err err = { 0 };
	char *log = NULL;

	if (s->plan->sites.n == first_site)
		return;
	if (attach_sites(s->attach, s->plan, first_site, &log, &err)) {
		if (s->sink->note)
			s->sink->note(s->sink->ctx, err.msg);
	} else if (s->sink->attached) {
		s->sink->attached(s->sink->ctx, s->plan->probes.n - first_probe, sites_since(s->plan, first_site));
	}
	free(log);
	tell_notes(s);
}

/* Is what this process maps any business of ours? */
static bool is_traced(const struct session *s, pid_t pid)
{
	if (pid == getpid())
		return false;
	for (size_t i = 0; i < s->targets.n; i++)
		if (s->targets.v[i].id.pid == pid)
			return true;
	return s->follow && s->options.follow ? follow_contains(s->follow, pid) : !s->targets.n;
}

static int mapped(void *ctx, pid_t pid, const struct mapping *m)
{
	struct session *s = ctx;
	size_t first_probe = s->plan->probes.n, first_site = s->plan->sites.n;
	struct ut_err err = { 0 };
	int r;

	if (!is_traced(s, pid))
		return 0;
	r = plan_mapping(s->plan, pid, m, &err);
	if (r && s->sink->note)
		s->sink->note(s->sink->ctx, err.msg);
	attach_more(s, first_probe, first_site);
	return 0;
}

/* For what to say when nothing is found in the end. */
static void note_runtime(struct session *s, pid_t pid)
{
	const struct runtimes *known = s->plan->options.runtimes;
	const struct runtime *runtime = known && !s->plan->probes.n ? runtime_of_process(known, pid) : NULL;

	if (runtime)
		s->runtime = runtime;
}

/* Processes of the command that wait at an exec or behind their dynamic linker. */
static void serve_held(struct session *s)
{
	pid_t pid;

	while (s->follow && (pid = follow_held(s->follow))) {
		size_t first_probe = s->plan->probes.n, first_site = s->plan->sites.n;
		struct ut_err err = { 0 };

		if (plan_process(s->plan, pid, &err) && err.code != -ESRCH && s->sink->note)
			s->sink->note(s->sink->ctx, err.msg);
		attach_more(s, first_probe, first_site);
		if (s->sink->process)
			s->sink->process(s->sink->ctx, pid);
		note_runtime(s, pid);
		err = (struct ut_err){ 0 };
		if (follow_linker(s->follow, pid, &err) && err.code != -ESRCH && s->sink->note)
			s->sink->note(s->sink->ctx, err.msg);
		follow_continue(s->follow, pid);
	}
}

/* --- the loop -------------------------------------------------------------------------------------------------------- */

static int give_item(struct session *s, const struct merge_item *item, unsigned cpu)
{
	const struct session_sink *sink = s->sink;
	uint64_t begun_ns = item->rec ? item->time_ns : item->since_ns;
	struct session_event e = { .rec = item->rec, .size = item->size, .cpu = cpu };

	if (s->stop_ns && begun_ns > s->stop_ns)
		return 0;	/* it came while we were letting go, which can take long on old kernels */
	if (!item->rec) {
		s->totals.lost += item->lost;
		return sink->lost ? sink->lost(sink->ctx, item->lost, cpu, item->since_ns, item->time_ns) : 0;
	}
	if (e.rec->site >= s->plan->sites.n)
		return 0;	/* cannot be; never follow a number that came from outside */
	e.site = &s->plan->sites.v[e.rec->site];
	e.probe = &s->plan->probes.v[e.site->probe];
	s->plan->probes.v[e.site->probe].events++;
	s->totals.events++;
	return sink->event ? sink->event(sink->ctx, &e) : 0;
}

static bool enough(const struct session *s)
{
	return s->options.max_events && s->totals.events >= s->options.max_events;
}

/* One round: all that is there goes into the merge, all that is certain comes out. */
static int pump(struct session *s, uint64_t *ret_n, struct ut_err *err)
{
	const struct merge_item *item;
	unsigned cpu;
	int r = rings_read(&s->rings, s->merge, ret_n);

	if (r)
		return ut_err_nomem(err);
	while (r >= 0 && !enough(s) && (item = merge_next(s->merge, &cpu)))
		r = give_item(s, item, cpu);
	rings_release(&s->rings, s->merge);
	if (r >= 0 && s->sink->flush)	/* also what an earlier round has read */
		r = s->sink->flush(s->sink->ctx);
	return r < 0 ? r : 0;
}

static void target_ended(struct session *s, int fd)
{
	for (size_t i = 0; i < s->targets.n; i++) {
		struct target *t = &s->targets.v[i];

		if (t->pidfd != fd || t->ended)
			continue;
		t->ended = true;
		s->ended++;
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	}
}

static bool is_pidfd(const struct session *s, int fd)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (s->targets.v[i].pidfd == fd)
			return true;
	return false;
}

/* Waits, then looks after everything but the rings. True: the stop descriptor is readable. */
static bool serve(struct session *s, int timeout_ms)
{
	struct epoll_event events[16];
	int n = epoll_wait(s->epoll_fd, events, ARRAY_SIZE(events), timeout_ms);
	bool stop = false, maps = false;

	for (int i = 0; i < n; i++) {
		int fd = events[i].data.fd;

		if (fd == s->options.stop_fd)
			stop = true;
		else if (is_pidfd(s, fd))
			target_ended(s, fd);
		else
			maps = true;
	}
	serve_held(s);
	if (maps && s->watch)
		mapwatch_read(s->watch, mapped, s);
	if (s->follow && now_ns() - s->last_sweep_ns > SWEEP_NS) {
		s->last_sweep_ns = now_ns();
		follow_sweep(s->follow);
	}
	return stop;
}

/* How long to sleep: short while events flow, so that rings cannot fill; longer when nothing comes. Never past the end of the session. */
static int next_timeout(const struct session *s, uint64_t n, int last_ms)
{
	int ms = n ? 2 : last_ms * 2;
	uint64_t passed = now_ns() - s->start_ns;

	ms = ms < 1 ? 1 : ms > IDLE_MS_MAX ? IDLE_MS_MAX : ms;
	if (s->options.duration_ns && passed + (uint64_t)ms * 1000000u > s->options.duration_ns)
		ms = passed > s->options.duration_ns ? 0 : (int)((s->options.duration_ns - passed) / 1000000u) + 1;
	return ms;
}

static bool at_end(const struct session *s, bool stop, enum session_end *ret)
{
	if (enough(s))
		*ret = SESSION_MAX_EVENTS;
	else if (stop)
		*ret = SESSION_STOPPED;
	else if (s->options.duration_ns && now_ns() - s->start_ns >= s->options.duration_ns)
		*ret = SESSION_TIME;
	else if (s->targets.n && s->ended == s->targets.n)
		*ret = s->options.command ? SESSION_COMMAND_ENDED : SESSION_TARGETS_ENDED;
	else
		return false;
	return true;
}

int session_run(struct session *s, const struct session_sink *sink, enum session_end *ret_end, struct ut_err *err)
{
	int timeout = 1, r = 0;
	bool stop = false;
	uint64_t n = 0;

	s->sink = sink;
	while (!r && !at_end(s, stop, ret_end)) {
		stop = serve(s, timeout);
		r = pump(s, &n, err);
		timeout = next_timeout(s, n, timeout);
	}
	return r;
}

/* --- stopping -------------------------------------------------------------------------------------------------------- */

int session_stop(struct session *s, const struct session_sink *sink, struct session_totals *ret, struct ut_err *err)
{
	uint64_t n = 1;
	int r = 0;

	s->sink = sink;
	s->stop_ns = now_ns();
	if (s->attach) {
		attach_release(s->attach);
		s->totals.missed = attach_missed(s->attach);
		s->totals.multi = attach_is_multi(s->attach);
	}
	s->follow = follow_close(s->follow);
	while (!r && n)
		r = pump(s, &n, err);
	if (!r) {
		rings_seal_all(&s->rings, s->merge);
		r = pump(s, &n, err);
	}
	if (!r && sink->flush)
		r = sink->flush(sink->ctx);
	s->totals.elapsed_ns = s->stop_ns - s->start_ns;
	s->totals.nprobes = s->plan->probes.n;
	s->totals.nsites = s->plan->sites.n;
	*ret = s->totals;
	return r < 0 ? r : 0;
}

int session_command_status(struct session *s) { return child_wait(&s->child); }

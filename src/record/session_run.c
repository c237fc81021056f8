/* SPDX-License-Identifier: MIT */
/* The loop of a session, and the totals at its end. */
#include <sys/epoll.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/calls.h"
#include "record/session_priv.h"

#define IDLE_MS_MAX 40 /* short enough that a line seems to appear at once */
#define SWEEP_NS 1000000000u
#define HELD_NS 2000000000u

static int emit_item(struct session *s, const struct merge_item *item, unsigned cpu)
{
	const struct session_sink *sink = s->sink;
	uint64_t begun_ns = item->rec ? item->time_ns : item->since_ns;
	struct session_event e = { .rec = item->rec, .size = item->size, .cpu = cpu };

	if (s->stop_ns && begun_ns > s->stop_ns)
		return 0; /* the event came during the detachment, which can take long on old kernels */
	if (!item->rec) {
		s->totals.lost += item->lost;
		return sink->lost ? sink->lost(sink->ctx, item->lost, cpu, item->since_ns, item->time_ns) : 0;
	}
	if (session_is_sample(e.rec))
		return session_emit_sample(s, e.rec, e.size);
	if (e.rec->site == UT_SITE_LIFE)
		return session_emit_lifecycle(s, e.rec, e.size);
	if (e.rec->site == UT_SITE_SIGNAL)
		return session_emit_user(s, e.rec, e.size, true, cpu);
	if (e.rec->site >= s->plan->sites.n)
		return 0; /* unexpected; a number from outside is never trusted */
	e.pid = e.rec->pid;
	e.site = &s->plan->sites.v[e.rec->site];
	if (e.site->kind == SITE_USER || e.site->kind == SITE_PRCTL)
		return session_emit_user(s, e.rec, e.size, false, cpu);
	if (e.site->snippet == SITE_NO_SNIPPET)
		return 0;
	e.probe = &s->plan->probes.v[e.site->probe];
	e.state = session_state(&e);
	s->plan->probes.v[e.site->probe].events++;
	s->totals.events++;
	return sink->event ? sink->event(sink->ctx, &e) : 0;
}

static bool reached_max_events(const struct session *s)
{
	return s->options.max_events && s->totals.events >= s->options.max_events;
}

/* Moves all present records into the merge, and emits those whose order is certain. */
static int drain(struct session *s, uint64_t *ret_n, struct ut_err *err)
{
	const struct merge_item *item;
	unsigned cpu;
	int r = rings_read(&s->rings, s->merge, ret_n);

	if (r)
		return ut_err_nomem(err);
	if (s->watch) /* all mappings older than these records, whose addresses they name */
		session_serve_mappings(s);
	while (r >= 0 && !reached_max_events(s) && (item = merge_next(s->merge, &cpu)))
		r = emit_item(s, item, cpu);
	rings_release(&s->rings, s->merge);
	if (r >= 0)
		r = session_report_throttled(s);
	if (r >= 0 && s->sink->flush) /* also after reads of an earlier call */
		r = s->sink->flush(s->sink->ctx);
	return r < 0 ? r : 0;
}

/* The target with this descriptor; NULL: it is another one's. */
static struct target *target_of_pidfd(struct session *s, int fd)
{
	for (size_t i = 0; i < s->targets.n; i++)
		if (s->targets.v[i].pidfd == fd)
			return &s->targets.v[i];
	return NULL;
}

/* Waits, then looks after everything but the rings. True: the stop descriptor is readable. */
static bool serve_descriptors(struct session *s, int timeout_ms)
{
	struct epoll_event events[16];
	int n = epoll_wait(s->epoll_fd, events, ARRAY_SIZE(events), timeout_ms);
	bool stop = false, maps = false;

	for (int i = 0; i < n; i++) {
		int fd = events[i].data.fd;
		struct target *target = target_of_pidfd(s, fd);

		if (fd == s->options.targets.stop_fd) {
			stop = true;
		} else if (!target) {
			maps = true;
		} else if (!target->ended) {
			target->ended = true;
			s->ended++;
			epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		}
	}
	session_serve_suspended(s);
	if (maps && s->watch)
		session_serve_mappings(s);
	session_serve_held(s, true);
	session_sample_refresh(s);
	if (s->sampler) {
		sampler_vary_periods(s->sampler, monotonic_ns());
		unwind_maps_reclaim(sampler_unwind(s->sampler), monotonic_ns());
	}
	if (s->follow && monotonic_ns() - s->last_sweep_ns > SWEEP_NS) {
		s->last_sweep_ns = monotonic_ns();
		follow_sweep(s->follow);
		session_choose_again(s);
	}
	return stop;
}

/* How long to sleep: short while events arrive, so that rings cannot fill; longer when idle; never past the session's end. */
static int next_timeout(const struct session *s, uint64_t n, int last_ms)
{
	int ms = n ? 2 : last_ms * 2;
	uint64_t passed = monotonic_ns() - s->start_ns;

	if (session_holds_sites(s) && passed < HELD_NS)
		ms = 1; /* events are missed until they are attached */

	ms = ms < 1 ? 1 : ms > IDLE_MS_MAX ? IDLE_MS_MAX : ms;
	if (s->options.targets.duration_ns && passed + (uint64_t)ms * 1000000u > s->options.targets.duration_ns)
		ms = passed > s->options.targets.duration_ns
			     ? 0
			     : (int)((s->options.targets.duration_ns - passed) / 1000000u) + 1;
	return ms;
}

static bool at_end(const struct session *s, bool stop, enum session_end *ret)
{
	if (reached_max_events(s))
		*ret = SESSION_MAX_EVENTS;
	else if (stop)
		*ret = SESSION_STOPPED;
	else if (s->options.targets.duration_ns && monotonic_ns() - s->start_ns >= s->options.targets.duration_ns)
		*ret = SESSION_TIME;
	else if (s->targets.n && s->ended == s->targets.n)
		*ret = s->options.targets.command ? SESSION_COMMAND_ENDED : SESSION_TARGETS_ENDED;
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
		stop = serve_descriptors(s, timeout);
		r = drain(s, &n, err);
		timeout = next_timeout(s, n, timeout);
	}
	return r;
}

static void count_calls(struct session *s)
{
	struct ut_call_counts counts;

	if (s->calls_fd < 0 || !calls_are_paired(s->plan))
		return;
	calls_count(s->starts_fd, s->calls_fd, &counts);
	s->totals.left = counts.left;
	s->totals.unknown_returns = counts.unknown;
}

int session_stop(struct session *s, const struct session_sink *sink, struct session_totals *ret, struct ut_err *err)
{
	uint64_t n = 1;
	int r = 0;

	s->sink = sink;
	s->stop_ns = monotonic_ns();
	if (s->attach) {
		session_report_held(s);
		if (s->sampler)
			sampler_stop(s->sampler);
		if (s->sampler && sink->sampled)
			sink->sampled(sink->ctx);
		attach_release(s->attach);
		s->totals.missed = attach_missed(s->attach);
		s->totals.multi = attach_is_multi(s->attach);
	}
	count_calls(s);
	signals_stop(s->signals);
	if (s->signals)
		s->totals.missed += signals_missed(s->signals);
	lifecycle_stop(s->lifecycle);
	if (s->lifecycle)
		s->totals.missed += lifecycle_missed(s->lifecycle);
	s->follow = follow_close(s->follow);
	while (!r && n)
		r = drain(s, &n, err);
	if (!r) {
		rings_end_watermarks(&s->rings, s->merge);
		r = drain(s, &n, err);
	}
	if (r >= 0)
		r = session_sample_finish(s);
	if (!r && sink->flush)
		r = sink->flush(sink->ctx);
	s->totals.lost_lifecycle = rings_lost_lifecycle(&s->rings);
	s->totals.elapsed_ns = s->stop_ns - s->start_ns;
	s->totals.nprobes = s->plan->probes.n;
	s->totals.nsites = s->plan->sites.n;
	*ret = s->totals;
	return r < 0 ? r : 0;
}

int session_command_status(struct session *s) { return child_wait(&s->child); }

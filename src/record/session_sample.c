/* SPDX-License-Identifier: MIT */
/* Samples in a session: the sampled processes, their mappings, and their records on the way to the sink. */
#include <errno.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "proc/process.h"
#include "record/attach.h"
#include "kernel/kernel.h"
#include "record/session_priv.h"

static void report_error(struct session *s, const struct ut_err *err)
{
	if (s->sink->note)
		s->sink->note(s->sink->ctx, err->msg);
}

/* Reports the mappings of a sampled process to the kernel, and the process to the sink. */
static void add_sampled_process(struct session *s, pid_t pid)
{
	struct ut_err err = { 0 };

	if (pid == getpid())
		return;
	if (unwind_maps_process(sampler_unwind(s->sampler), pid, &err))
		report_error(s, &err);
	if (s->sink->appeared)
		s->sink->appeared(s->sink->ctx, pid, monotonic_ns());
}

/* Until its exec, the child of the command runs code of usertrace. */
static bool is_ours(const struct session *s, const struct ut_rec_event *head)
{
	return s->options.targets.command && (pid_t)head->pid == s->child.pid &&
	       (!s->command_ns || head->time_ns < s->command_ns);
}

void session_sample_process(struct session *s, pid_t pid)
{
	if (!s->sampler)
		return;
	if (pid == s->child.pid && !s->command_ns)
		s->command_ns = monotonic_ns(); /* an upper bound: the record of the exec has the exact time */
	add_sampled_process(s, pid);
	sampler_add_threads(s->sampler, pid);
}

static int add_all_processes(struct session *s, struct ut_err *err)
{
	AUTO_FREE struct process_id *ids = NULL;
	size_t n = 0;
	int r = process_list(&ids, &n, err);

	for (size_t i = 0; !r && i < n; i++)
		session_sample_process(s, ids[i].pid);
	return r;
}

int session_sample_open(struct session *s, struct ut_err *err)
{
	const struct session_options *o = &s->options;
	struct sampler_options so = {
		.sampling = o->sampling,
		.all = o->targets.all,
		.rings_fd = s->rings.outer_fd,
		.lost_fd = s->rings.lost_fd,
		.ncpus = s->rings.n,
		.verbose = o->targets.verbose,
		.multi = !o->no_multi && kernel_has_uprobe_multi(),
	};

	if (!o->sampling)
		return 0;
	if (!process_in_first_pid_namespace())
		return ut_err_set(err, -EINVAL,
				  "usertrace runs in its own PID namespace, but BPF programs see the PIDs of the host: "
				  "run it on the host");
	return sampler_open(&so, &s->sampler, err);
}

int session_sample_targets(struct session *s, struct ut_err *err)
{
	int r = 0;

	if (!s->sampler)
		return 0;
	for (size_t i = 0; !r && i < s->targets.n; i++) {
		if (s->child.pid == s->targets.v[i].id.pid) /* the command has not executed yet */
			r = unwind_maps_enable(sampler_unwind(s->sampler), s->targets.v[i].id.pid, err);
		else
			session_sample_process(s, s->targets.v[i].id.pid);
	}
	for (size_t i = 0; !r && i < s->descendants.n; i++)
		session_sample_process(s, s->descendants.v[i].pid);
	if (!r && s->options.targets.all)
		r = add_all_processes(s, err);
	return r;
}

static int emit_blocked_stack(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips)
{
	struct session *s = ctx;

	return s->sink->stack ? s->sink->stack(s->sink->ctx, rec, ips) : 0;
}

int session_sample_start(struct session *s, struct ut_err *err)
{
	int r = s->sampler ? sampler_start(s->sampler, err) : 0;

	if (r || !s->sampler)
		return r;
	r = sampler_walk_blocked(s->sampler, emit_blocked_stack, s);
	return r == -ENOMEM ? ut_err_nomem(err) : r;
}

static bool is_sampled(const struct session *s, pid_t pid)
{
	return pid != getpid() && (s->options.targets.all || unwind_maps_has(sampler_unwind(s->sampler), pid));
}

/* Several mappings of one process come together: they are read once, in session_sample_refresh. */
void session_sample_mapped(struct session *s, pid_t pid, const struct mapping *m, uint64_t time_ns)
{
	if (!s->sampler || !is_sampled(s, pid))
		return;
	if (s->sink->mapped)
		s->sink->mapped(s->sink->ctx, pid, m, time_ns);
	for (size_t i = 0; i < s->changed.n; i++)
		if (s->changed.v[i] == pid)
			return;
	vec_push(&s->changed, pid); /* without memory: it is read again when a stack shows that it must be */
}

void session_sample_refresh(struct session *s)
{
	struct ut_err err = { 0 };

	for (size_t i = 0; i < s->changed.n; i++)
		if (unwind_maps_process(sampler_unwind(s->sampler), s->changed.v[i], &err))
			report_error(s, &err);
	s->changed.n = 0;
}

void session_sample_lifecycle(struct session *s, const struct ut_rec_life *r)
{
	pid_t pid = (pid_t)r->head.pid, child = (pid_t)r->other;

	if (!s->sampler)
		return;
	if (r->what == UT_LIFE_FORK && child != pid && is_sampled(s, pid) &&
	    (s->options.targets.all || s->options.targets.follow)) {
		add_sampled_process(s, child);
	} else if (r->what == UT_LIFE_EXEC && is_sampled(s, pid)) {
		if (pid == s->child.pid && (!s->command_ns || r->head.time_ns < s->command_ns))
			s->command_ns = r->head.time_ns;
		add_sampled_process(s, pid);
	} else if (r->what == UT_LIFE_EXIT && r->other & UT_EXIT_LAST) {
		unwind_maps_remove(sampler_unwind(s->sampler), pid);
	}
}

/* A stack that ended at an unknown address: a mapping may have been missed. Limited to a few times a second. */
#define REFRESH_NS 100000000u

static void refresh_mappings(struct session *s, const struct ut_rec_stack *rec)
{
	pid_t pid = (pid_t)rec->head.pid;
	uint64_t now = monotonic_ns();

	if ((rec->end != UT_END_NO_MAPPING && rec->end != UT_END_NO_PROCESS) || !is_sampled(s, pid) ||
	    is_ours(s, &rec->head))
		return;
	if (s->refreshed_pid == pid && now - s->refreshed_ns < REFRESH_NS)
		return;
	s->refreshed_pid = pid;
	s->refreshed_ns = now;
	add_sampled_process(s, pid);
}

static int emit_stack(struct session *s, const struct ut_rec_event *head, size_t size)
{
	const struct ut_rec_stack *rec = (const void *)head;

	if (size < sizeof(*rec) || (size - sizeof(*rec)) / 8 < (size_t)rec->kernel + rec->user)
		return 0;
	refresh_mappings(s, rec);
	return s->sink->stack ? s->sink->stack(s->sink->ctx, rec, (const uint64_t *)(rec + 1)) : 0;
}

static int emit_sample(struct session *s, const struct ut_rec_event *head, size_t size)
{
	const struct ut_rec_sample *rec = (const void *)head;
	const struct plan_probe *probe = NULL;

	if (size < sizeof(*rec) || is_ours(s, head))
		return 0;
	if (rec->kind == UT_SAMPLE_PROBE) {
		if (rec->probe_site >= s->plan->sites.n)
			return 0;
		probe = &s->plan->probes.v[s->plan->sites.v[rec->probe_site].probe];
	}
	s->totals.events++;
	return s->sink->sample ? s->sink->sample(s->sink->ctx, rec, probe) : 0;
}

/* A process that usertrace suspends until its probes are attached (record/follow.h) does not wait by itself. */
static bool was_suspended(const struct ut_rec_wait *rec)
{
	return rec->state & 4 && rec->runnable_ns && rec->waker == (uint32_t)gettid(); /* usertrace sent SIGCONT */
}

static int emit_wait(struct session *s, const struct ut_rec_event *head, size_t size)
{
	struct ut_rec_wait rec;

	if (size < sizeof(rec) || !s->sink->wait || is_ours(s, head))
		return 0;
	rec = *(const struct ut_rec_wait *)(const void *)head;
	sampler_fill_wait(s->sampler, &rec);
	if (was_suspended(&rec)) {
		rec.from_ns = rec.runnable_ns;
		rec.state = 0;
	}
	return s->sink->wait(s->sink->ctx, &rec);
}

bool session_is_sample(const struct ut_rec_event *rec)
{
	return rec->site >= UT_SITE_STACK && rec->site <= UT_SITE_WAIT;
}

int session_emit_sample(struct session *s, const struct ut_rec_event *rec, size_t size)
{
	switch (rec->site) {
	case UT_SITE_STACK: return emit_stack(s, rec, size);
	case UT_SITE_SAMPLE: return emit_sample(s, rec, size);
	case UT_SITE_WAIT: return emit_wait(s, rec, size);
	default: return 0;
	}
}

static int emit_unfinished_wait(void *ctx, const struct ut_rec_wait *rec)
{
	struct session *s = ctx;

	return s->sink->wait ? s->sink->wait(s->sink->ctx, rec) : 0;
}

int session_sample_finish(struct session *s)
{
	if (!s->sampler)
		return 0;
	s->totals.busy = sampler_busy(s->sampler);
	return sampler_unfinished(s->sampler, s->stop_ns, emit_unfinished_wait, s);
}

void session_table_size(const struct session *s, uint64_t *ret_bytes, size_t *ret_files)
{
	*ret_bytes = 0;
	*ret_files = 0;
	if (s->sampler)
		unwind_maps_size(sampler_unwind(s->sampler), ret_bytes, ret_files);
}

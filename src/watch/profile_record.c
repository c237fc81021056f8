/* SPDX-License-Identifier: MIT */
/* What the session gives, on its way to samples and names. */
#include "watch/profile_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "watch/gc_watch.h"
#include "watch/profile_maps.h"
#include "wire/record.h"
#include "wire/sample.h"
#include "sample/sampler.h"

#define PROGRESS_NS 1000000000u

struct profile_record_inner {
	struct session_tee tee; /* of the profile, then of gc */
	struct session_sink sink; /* of the tee */
	struct gc_watch *gc; /* NULL: nothing announces collections */
	struct profile_maps *maps;
	uint64_t lost, told_ns;
	bool started;
	char *unit;
};

static void tell_progress(struct profile_record *r, uint64_t time_ns)
{
	struct profile_record_inner *in = r->inner;

	if (!r->sink.progress || time_ns < in->told_ns + PROGRESS_NS)
		return;
	in->told_ns = time_ns;
	r->sink.progress(r->sink.ctx, time_ns - session_start_ns(r->session), samples_count(r->samples), in->lost);
}

static int on_stack(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips)
{
	struct profile_record *r = ctx;
	int code = samples_stack(r->samples, rec, ips);
	uint64_t stacks = code ? 0 : samples_new_runtime(r->samples, rec->head.pid);

	if (stacks)
		profile_maps_note(r->inner->maps, (pid_t)rec->head.pid, stacks);
	return code;
}

static int on_sample(void *ctx, const struct ut_rec_sample *rec, const struct plan_probe *probe)
{
	struct profile_record *r = ctx;
	const struct gc_watch *gc = r->inner->gc;

	(void)probe;
	return samples_sample(r->samples, rec, gc && gc_watch_stopped_since(gc, rec->head.pid));
}

static int on_wait(void *ctx, const struct ut_rec_wait *rec)
{
	struct profile_record *r = ctx;

	return samples_wait(r->samples, rec);
}

static void on_exec(struct profile_record *r, const struct session_lifecycle *life)
{
	names_exec(r->names, (pid_t)life->pid, life->time_ns);
	profile_maps_gone(r->inner->maps, (pid_t)life->pid);
	samples_exec(r->samples, life->pid);
	samples_process(r->samples, life->pid, life->comm);
}

static int on_life(void *ctx, const struct session_lifecycle *life)
{
	struct profile_record *r = ctx;

	switch (life->what) {
	case UT_LIFE_FORK: names_fork(r->names, (pid_t)life->pid, (pid_t)life->child, life->time_ns); break;
	case UT_LIFE_EXEC: on_exec(r, life); break;
	case UT_LIFE_EXIT:
		samples_exit(r->samples, life->pid, life->tid, life->last);
		if (life->last)
			names_exit(r->names, (pid_t)life->pid, life->time_ns);
		if (life->last)
			profile_maps_gone(r->inner->maps, (pid_t)life->pid);
		break;
	}
	return 0;
}

static void on_appeared(void *ctx, pid_t pid, uint64_t time_ns)
{
	struct profile_record *r = ctx;
	char comm[16] = "";

	names_process(r->names, pid, time_ns);
	if (!process_comm(pid, comm))
		samples_process(r->samples, (uint32_t)pid, comm);
}

static void on_mapped(void *ctx, pid_t pid, const struct mapping *m, uint64_t time_ns)
{
	struct profile_record *r = ctx;

	names_mapped(r->names, pid, m, time_ns);
	samples_mapped(r->samples, (uint32_t)pid, time_ns); /* out of memory: the next sample tells */
}

static int on_lost(void *ctx, uint64_t count, unsigned cpu, uint64_t since_ns, uint64_t until_ns)
{
	(void)cpu;
	(void)since_ns;
	(void)until_ns;
	((struct profile_record *)ctx)->inner->lost += count;
	return 0;
}

static int on_flush(void *ctx)
{
	struct profile_record *r = ctx;
	uint64_t time_ns = monotonic_ns();

	names_poll(r->names, time_ns);
	profile_maps_flush(r->inner->maps, time_ns);
	if (r->inner->started)
		tell_progress(r, time_ns);
	return 0;
}

static void on_sampled(void *ctx)
{
	struct profile_record *r = ctx;

	if (!r->options.no_kernel)
		names_load_kernel(r->names);
}

static void on_note(void *ctx, const char *text)
{
	struct profile_record *r = ctx;

	if (r->sink.note)
		r->sink.note(r->sink.ctx, text);
}

/* A watch of collections over the same session, where a runtime announces them. */
static int open_gc(struct profile_record *r, const struct runtimes *runtimes, struct ut_err *err)
{
	const struct gc_watch_options wo = {
		.targets = r->options.targets, .kinds = "gc", .no_measure = true, .overlay = true
	};
	struct session_sink sink;
	size_t n;
	int code = 0;

	if (r->options.gc && !r->options.nprobes)
		code = gc_watch_open(&wo, runtimes, &r->inner->gc, err);
	if (code || !r->inner->gc)
		return code;
	gc_watch_probes(r->inner->gc, &n);
	if (n) {
		sink = gc_watch_session_sink(r->inner->gc);
		session_tee_add(&r->inner->tee, &sink);
	} else {
		r->inner->gc = gc_watch_close(r->inner->gc);
	}
	return 0;
}

static int open_session(struct profile_record *r, const struct runtimes *runtimes, struct ut_err *err)
{
	const struct profile_record_options *o = &r->options;
	struct session_sampling sampling = {
		.frequency_hz = o->frequency_hz, .waits = o->waits, .no_kernel = o->no_kernel, .probes = o->nprobes
	};
	struct session_options so = {
		.targets = o->targets,
		.probes = o->probes,
		.nprobes = o->nprobes,
		.text_limit = COLLECT_TEXT_MAX,
		.lifecycle = true,
		.sampling = &sampling,
	};

	if (r->inner->gc) {
		so.probes = gc_watch_probes(r->inner->gc, &so.nprobes);
		so.targets.wait = so.described = true;
	}
	return session_open(&so, runtimes, &r->session, err);
}

/* What a count is of: the probes, as they were typed. */
static char *unit_of(const struct profile_record_options *o)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < o->nprobes; i++)
		buf_addf(&text, "%s%s", i ? ", " : "", o->probes[i]);
	return buf_take(&text);
}

int profile_record_open(const struct profile_record_options *o, const struct runtimes *runtimes,
			const struct profile_record_sink *sink, struct profile_record *ret, struct ut_err *err)
{
	struct names_options no = { .lines = o->lines };
	struct profile_record *r = ret;
	int code;

	*r = (struct profile_record){
		.options = *o, .sink = *sink, .inner = calloc(1, sizeof(*r->inner)), .names = names_new(&no)
	};
	if (r->inner && r->names) {
		r->samples = samples_new(r->names);
		r->inner->maps = profile_maps_new(r->names, runtimes);
		r->inner->unit = unit_of(o);
	}
	if (!r->samples || !r->inner->maps || !r->inner->unit)
		return ut_err_nomem(err);
	session_tee_add(&r->inner->tee, &(struct session_sink){ .ctx = r,
								.life = on_life,
								.stack = on_stack,
								.sample = on_sample,
								.wait = on_wait,
								.appeared = on_appeared,
								.mapped = on_mapped,
								.lost = on_lost,
								.flush = on_flush,
								.note = on_note,
								.sampled = on_sampled });
	code = open_gc(r, runtimes, err);
	r->inner->sink = session_tee_sink(&r->inner->tee);
	return code ? code : open_session(r, runtimes, err);
}

static int start(struct profile_record *r, char **log, struct ut_err *err)
{
	const struct gc_watch_sink no_spans = { 0 };
	uint64_t mono_ns, wall_ns;
	int code = session_start(r->session, &r->inner->sink, log, err);

	if (code)
		return code;
	clock_both(&mono_ns, &wall_ns);
	r->begin_wall_ns = (int64_t)(wall_ns - (mono_ns - session_start_ns(r->session)));
	samples_start(r->samples, session_start_ns(r->session));
	r->inner->told_ns = mono_ns;
	r->inner->started = true;
	return r->inner->gc ? gc_watch_join(r->inner->gc, r->session, &no_spans, err) : 0;
}

int profile_record_run(struct profile_record *r, enum session_end *ret_end, char **log, struct ut_err *err)
{
	int code = start(r, log, err), stopped;

	if (code)
		return code;
	if (r->sink.started)
		r->sink.started(r->sink.ctx);
	code = session_run(r->session, &r->inner->sink, ret_end, err);
	session_table_size(r->session, &r->table_bytes, &r->table_files);
	stopped = session_stop(r->session, &r->inner->sink, &r->totals, err);
	r->stop_ns = session_start_ns(r->session) + r->totals.elapsed_ns;
	profile_maps_finish(r->inner->maps);
	names_poll(r->names, monotonic_ns());
	return code ? code : stopped;
}

static void tell_failures(struct profile_record *r)
{
	const char *const *texts;
	size_t n = profile_maps_failures(r->inner->maps, &texts);

	for (size_t i = 0; i < n; i++)
		on_note(r, texts[i]);
	n = names_notes(r->names, &texts);
	for (size_t i = 0; i < n; i++)
		on_note(r, texts[i]);
}

int profile_record_build(struct profile_record *r, bool idle, struct profile **ret)
{
	const struct profile_record_options *o = &r->options;
	struct samples_options so = {
		.stop_ns = r->stop_ns,
		.idle = idle,
		.unit = o->nprobes ? r->inner->unit : NULL,
		.period_ns = o->frequency_hz ? 1000000000u / o->frequency_hz : 0,
	};
	int code = samples_build(r->samples, &so, ret);

	if (code)
		return code;
	(*ret)->totals.lost = r->totals.lost + r->totals.missed;
	(*ret)->totals.begin_wall_ns = r->begin_wall_ns;
	tell_failures(r);
	return 0;
}

void profile_record_done(struct profile_record *r)
{
	session_close(r->session);
	samples_free(r->samples);
	names_free(r->names);
	if (!r->inner)
		return;
	gc_watch_close(r->inner->gc);
	profile_maps_free(r->inner->maps);
	free(r->inner->unit);
	free(r->inner);
}

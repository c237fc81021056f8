/* SPDX-License-Identifier: MIT */
/* Passes what the session reports to samples and names. */
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
	struct gc_watch *gc; /* NULL: no runtime reports collections */
	struct profile_maps *maps;
	uint64_t lost, progress_ns;
	bool started;
	char *unit;
};

static int on_stack(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips)
{
	struct profile_record *p = ctx;
	int r = samples_stack(p->samples, rec, ips);
	uint64_t stacks = r ? 0 : samples_new_runtime(p->samples, rec->head.pid);

	if (stacks)
		profile_maps_note(p->inner->maps, (pid_t)rec->head.pid, stacks);
	return r;
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

static int on_profile_life(void *ctx, const struct session_lifecycle *life)
{
	struct profile_record *r = ctx;

	profile_maps_life(r->inner->maps, life);
	if (life->what == UT_LIFE_EXIT)
		samples_exit(r->samples, life->pid, life->tid, life->last);
	if (life->what != UT_LIFE_EXEC)
		return 0;
	samples_exec(r->samples, life->pid);
	samples_process(r->samples, life->pid, life->comm);
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
	samples_mapped(r->samples, (uint32_t)pid, time_ns); /* out of memory: the next sample fails too */
}

static int on_profile_lost(void *ctx, uint64_t count, unsigned cpu, uint64_t since_ns, uint64_t until_ns)
{
	(void)cpu;
	(void)since_ns;
	(void)until_ns;
	((struct profile_record *)ctx)->inner->lost += count;
	return 0;
}

static int on_profile_flush(void *ctx)
{
	struct profile_record *r = ctx;
	struct profile_record_inner *in = r->inner;
	uint64_t time_ns = monotonic_ns();

	profile_maps_flush(in->maps, time_ns);
	if (!in->started || !r->sink.progress || time_ns < in->progress_ns + PROGRESS_NS)
		return 0;
	in->progress_ns = time_ns;
	r->sink.progress(r->sink.ctx, time_ns - session_start_ns(r->session), samples_count(r->samples), in->lost);
	return 0;
}

static void on_sampled(void *ctx)
{
	struct profile_record *r = ctx;

	if (!r->options.no_kernel)
		names_load_kernel(r->names);
}

static void on_profile_note(void *ctx, const char *text)
{
	struct profile_record *r = ctx;

	if (r->sink.note)
		r->sink.note(r->sink.ctx, text);
}

/* A watch of collections over the same session, if a runtime reports them. */
static int open_gc(struct profile_record *p, const struct runtimes *runtimes, struct ut_err *err)
{
	const struct gc_watch_options wo = {
		.targets = p->options.targets, .kinds = "gc", .no_measure = true, .overlay = true
	};
	struct session_sink sink;
	size_t n;
	int r = 0;

	if (p->options.gc && !p->options.nprobes)
		r = gc_watch_open(&wo, runtimes, &p->inner->gc, err);
	if (r || !p->inner->gc)
		return r;
	gc_watch_probes(p->inner->gc, &n);
	if (n) {
		sink = gc_watch_session_sink(p->inner->gc);
		session_tee_add(&p->inner->tee, &sink);
	} else {
		p->inner->gc = gc_watch_close(p->inner->gc);
	}
	return 0;
}

static int open_profile_session(struct profile_record *r, const struct runtimes *runtimes, struct ut_err *err)
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

/* The unit of counts: the probes, as typed. */
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
	struct profile_record *p = ret;
	int r;

	*p = (struct profile_record){
		.options = *o, .sink = *sink, .inner = calloc(1, sizeof(*p->inner)), .names = names_new(&no)
	};
	if (p->inner && p->names) {
		p->samples = samples_new(p->names);
		p->inner->maps = profile_maps_new(p->names, runtimes);
		p->inner->unit = unit_of(o);
	}
	if (!p->samples || !p->inner->maps || !p->inner->unit)
		return ut_err_nomem(err);
	session_tee_add(&p->inner->tee, &(struct session_sink){ .ctx = p,
								.life = on_profile_life,
								.stack = on_stack,
								.sample = on_sample,
								.wait = on_wait,
								.appeared = on_appeared,
								.mapped = on_mapped,
								.lost = on_profile_lost,
								.flush = on_profile_flush,
								.note = on_profile_note,
								.sampled = on_sampled });
	r = open_gc(p, runtimes, err);
	p->inner->sink = session_tee_sink(&p->inner->tee);
	return r ? r : open_profile_session(p, runtimes, err);
}

static int start_recording(struct profile_record *p, char **log, struct ut_err *err)
{
	const struct gc_watch_sink no_spans = { 0 };
	uint64_t mono_ns, wall_ns;
	int r = session_start(p->session, &p->inner->sink, log, err);

	if (r)
		return r;
	clock_both(&mono_ns, &wall_ns);
	p->begin_wall_ns = (int64_t)(wall_ns - (mono_ns - session_start_ns(p->session)));
	samples_start(p->samples, session_start_ns(p->session));
	p->inner->progress_ns = mono_ns;
	p->inner->started = true;
	return p->inner->gc ? gc_watch_join(p->inner->gc, p->session, &no_spans, err) : 0;
}

int profile_record_run(struct profile_record *p, enum session_end *ret_end, char **log, struct ut_err *err)
{
	int r = start_recording(p, log, err), stopped;

	if (r)
		return r;
	if (p->sink.started)
		p->sink.started(p->sink.ctx);
	r = session_run(p->session, &p->inner->sink, ret_end, err);
	session_table_size(p->session, &p->table_bytes, &p->table_files);
	stopped = session_stop(p->session, &p->inner->sink, &p->totals, err);
	p->stop_ns = session_start_ns(p->session) + p->totals.elapsed_ns;
	profile_maps_finish(p->inner->maps);
	names_poll(p->names, monotonic_ns());
	return r ? r : stopped;
}

int profile_record_build(struct profile_record *p, bool idle, struct profile **ret)
{
	const struct profile_record_options *o = &p->options;
	struct samples_options so = {
		.stop_ns = p->stop_ns,
		.idle = idle,
		.unit = o->nprobes ? p->inner->unit : NULL,
		.period_ns = o->frequency_hz ? 1000000000u / o->frequency_hz : 0,
	};
	int r = samples_build(p->samples, &so, ret);

	if (r)
		return r;
	(*ret)->totals.lost = p->totals.lost + p->totals.missed;
	(*ret)->totals.begin_wall_ns = p->begin_wall_ns;
	profile_maps_notes(p->inner->maps, on_profile_note, p);
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

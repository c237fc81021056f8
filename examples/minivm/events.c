// SPDX-License-Identifier: MIT
/*
 * Emits user events and probes with usertrace.h, names JIT-compiled code with usertrace-jit.h, and writes the log that
 * a test compares with the trace.
 */
#include <stdio.h>
#include <time.h>

#include "usertrace.h"
#include "usertrace-jit.h"

#include "events.h"
#include "vm.h"

#ifdef MINIVM_PROVIDER_H
/* Generated from ccl.d by `usertrace dtrace -h`. */
#include MINIVM_PROVIDER_H
#endif

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

static struct log_entry *entry(struct log_thread *list, const struct mutator *of, const char *kind, const char *text,
			       uint64_t before)
{
	struct log_entry *e = log_entry(list);

	e->thread = of->id;
	e->tid = of->tid;
	e->kind = kind;
	e->text = text;
	e->before = before;
	return e;
}

/*
 * Reads the clock right before and right after each event, so the time of the traced event lies between the two
 * readings. It is closer to the second one, because the tracer reads its clock after it has copied the string, when the
 * caches are warm. From there to the second reading takes nearly the same time at the begin and at the end, so the time
 * from BEGUN to ENDED is the best one to compare with a traced duration. If two readings are far apart, the thread was
 * interrupted in between. The same applies to probes.
 */
static void emit_timed_begin(struct log_entry *e)
{
	ut_begin_value(e->kind, (int64_t)e->before, e->text);
	e->begun_ns = now_ns();
}

static void emit_timed_end(struct mutator *m, struct log_entry *e)
{
	ut_end_value(e->kind, (int64_t)e->after);
	e->ended_ns = now_ns();
	log_done(m->log, e);
}

struct log_entry *emit_begin(struct mutator *m, const char *kind, const char *text, uint64_t before)
{
	struct log_entry *e = entry(m->log, m, kind, text, before);

	e->begin_ns = now_ns();
	emit_timed_begin(e);
	return e;
}

void emit_end(struct mutator *m, struct log_entry *e, uint64_t after)
{
	e->after = after;
	e->end_ns = now_ns();
	emit_timed_end(m, e);
}

struct log_entry *emit_safepoint_begin(struct mutator *m)
{
	struct log_entry *e = emit_begin(m, "safepoint", NULL, 0);

	if (log_is_kept(m->log))
		e->before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return e;
}

void log_woken(struct mutator *m)
{
	struct log_entry *e;

	if (!log_is_kept(m->log))
		return;
	e = entry(m->log, m, "woken", NULL, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	e->after = e->before;
	e->begin_ns = e->begun_ns = e->end_ns = e->ended_ns = now_ns();
	log_done(m->log, e);
}

void emit_safepoint_end(struct mutator *m, struct log_entry *e)
{
	uint64_t cpu_ns = log_is_kept(m->log) ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;

	emit_end(m, e, 0);
	e->after = cpu_ns;
}

/* Records the CPU time of each other thread at the begin of a collection. */
static void record_other_threads(struct mutator *m)
{
	struct world *w = &m->vm->world;

	pthread_mutex_lock(&w->lock);
	for (struct mutator *o = w->first; o; o = o->next) {
		if (o == m)
			continue;
		o->recorded_cpu_ns = o->cpu ? clock_ns(o->cpu) : 0;
		o->recorded_ns = now_ns();
	}
	pthread_mutex_unlock(&w->lock);
}

/* Logs the CPU time that they used since then; new threads began at 0. */
static void log_other_threads(struct mutator *m, uint64_t gc_begun_ns)
{
	struct world *w = &m->vm->world;
	struct log_entry *e;

	pthread_mutex_lock(&w->lock);
	for (const struct mutator *o = w->first; o; o = o->next) {
		bool recorded = o->recorded_ns >= gc_begun_ns;

		if (o == m || !o->cpu)
			continue;
		e = entry(m->log, o, "ran", NULL, recorded ? o->recorded_cpu_ns : 0);
		e->begin_ns = e->begun_ns = recorded ? o->recorded_ns : gc_begun_ns;
		e->after = clock_ns(o->cpu);
		e->end_ns = e->ended_ns = now_ns();
		log_done(m->log, e);
	}
	pthread_mutex_unlock(&w->lock);
}

struct log_entry *emit_gc_begin(struct mutator *m, const char *cause, uint64_t used)
{
	struct log_entry *e = entry(m->log, m, "gc", cause, used);

	e->begin_ns = now_ns();
	UT_PROBE(minivm, gc__begin, cause, used);
	emit_timed_begin(e);
	if (log_is_kept(m->log))
		record_other_threads(m);
	return e;
}

void emit_gc_end(struct mutator *m, struct log_entry *e, uint64_t used)
{
	if (log_is_kept(m->log))
		log_other_threads(m, e->begun_ns);
	e->after = used;
	e->end_ns = now_ns();
	UT_PROBE(minivm, gc__end, e->text, e->before, used);
	emit_timed_end(m, e);
}

void emit_code_open(bool map, bool dump)
{
	unsigned flags = (map ? UT_JIT_MAP : 0u) | (dump ? UT_JIT_DUMP : 0u);

	ut_jit_open(flags);
	if (ut_jit_error() && (flags || UT_HAVE_JIT))
		fprintf(stderr, "minivm: JIT-compiled code will have no names in profiles: %s\n", ut_jit_error());
}

void emit_code(const void *code, size_t len, const char *function) { ut_jit_code(code, len, function); }
void emit_code_moved(const void *from, const void *to, size_t len) { ut_jit_move(from, to, len); }
void emit_code_freed(const void *code, size_t len) { ut_jit_drop(code, len); }

struct log_entry *emit_compile_begin(struct mutator *m, const char *function)
{
	struct log_entry *e = entry(m->log, m, "compile", function, 0);

	e->begin_ns = now_ns();
	UT_PROBE(minivm, compile__begin, function);
	emit_timed_begin(e);
	return e;
}

void emit_compile_end(struct mutator *m, struct log_entry *e, uint64_t code_bytes)
{
	e->after = code_bytes;
	e->end_ns = now_ns();
	UT_PROBE(minivm, compile__end, e->text, code_bytes);
	emit_timed_end(m, e);
}

/* With an id: such a span may end on another thread, and does not nest with other spans of its thread. */
struct log_entry *emit_thread_begin(struct mutator *m)
{
	struct log_entry *e = entry(m->log, m, "thread", NULL, 0);

#ifdef MINIVM_PROVIDER_H
	if (CCL_CREATE_THREAD_ENABLED())
		CCL_CREATE_THREAD(m->tid);
#endif
	e->begin_ns = now_ns();
	UT_PROBE(minivm, thread__start, m->id);
	ut_begin_id("thread", m->id);
	e->begun_ns = now_ns();
	return e;
}

void emit_thread_end(struct mutator *m, struct log_entry *e)
{
	e->end_ns = now_ns();
	UT_PROBE(minivm, thread__end, m->id);
	ut_end_id("thread", m->id);
	e->ended_ns = now_ns();
	log_done(m->log, e);
}

/* Generation 0 is the nursery. Without the provider's header these macros do nothing. */
#ifndef MINIVM_PROVIDER_H
#define CCL_GC_START(bytes) ((void)(bytes))
#define CCL_GC_FINISH(freed) ((void)(freed))
#define CCL_EGC_START(bytes, generation) ((void)(bytes))
#define CCL_EGC_FINISH(freed, generation) ((void)(freed))
#endif

void emit_minor_begin(uint64_t used) { CCL_EGC_START(used, 0); }
void emit_minor_end(uint64_t freed) { CCL_EGC_FINISH(freed, 0); }
void emit_full_begin(uint64_t used) { CCL_GC_START(used); }
void emit_full_end(uint64_t freed) { CCL_GC_FINISH(freed); }

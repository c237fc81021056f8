// SPDX-License-Identifier: MIT
/*
 * User events and probes through usertrace.h, the names of code through usertrace-jit.h, and the log that a test compares
 * events with.
 */
#include <stdio.h>
#include <time.h>

#include "usertrace.h"
#include "usertrace-jit.h"

#include "announce.h"
#include "vm.h"

#ifdef MINIVM_PROVIDER_H
/* Made from ccl.d by `usertrace dtrace -h`. */
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
 * The clock is read right before and right after each event, and nothing else stands in between: the time that a tracer
 * notes lies between the two. It notes it late, when the text has been copied and the caches are warm again, so that
 * from there to the second reading takes nearly the same at the begin and at the end: the time from BEGUN to ENDED is
 * the best to compare a traced duration with. Two readings that are far apart: the thread was interrupted there.
 * Where there is a probe as well, the same holds for it.
 */
static void emit_begin(struct log_entry *e)
{
	ut_begin_value(e->kind, (int64_t)e->before, e->text);
	e->begun_ns = now_ns();
}

static void emit_end(struct mutator *m, struct log_entry *e)
{
	ut_end_value(e->kind, (int64_t)e->after);
	e->ended_ns = now_ns();
	log_done(m->log, e);
}

struct log_entry *announce_begin(struct mutator *m, const char *kind, const char *text, uint64_t before)
{
	struct log_entry *e = entry(m->log, m, kind, text, before);

	e->begin_ns = now_ns();
	emit_begin(e);
	return e;
}

void announce_end(struct mutator *m, struct log_entry *e, uint64_t after)
{
	e->after = after;
	e->end_ns = now_ns();
	emit_end(m, e);
}

struct log_entry *announce_still_begin(struct mutator *m)
{
	struct log_entry *e = announce_begin(m, "safepoint", NULL, 0);

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

void announce_still_end(struct mutator *m, struct log_entry *e)
{
	uint64_t cpu_ns = log_is_kept(m->log) ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;

	announce_end(m, e, 0);
	e->after = cpu_ns;
}

/* Notes how much processor time each other thread has had when a collection begins. */
static void note_others(struct mutator *m)
{
	struct world *w = &m->vm->world;

	pthread_mutex_lock(&w->lock);
	for (struct mutator *o = w->first; o; o = o->next) {
		if (o == m)
			continue;
		o->noted_cpu_ns = o->cpu ? clock_ns(o->cpu) : 0;
		o->noted_ns = now_ns();
	}
	pthread_mutex_unlock(&w->lock);
}

/* How much they have had since then; one that was not there yet began with none. */
static void log_others(struct mutator *m, uint64_t gc_begun_ns)
{
	struct world *w = &m->vm->world;
	struct log_entry *e;

	pthread_mutex_lock(&w->lock);
	for (const struct mutator *o = w->first; o; o = o->next) {
		bool noted = o->noted_ns >= gc_begun_ns;

		if (o == m || !o->cpu)
			continue;
		e = entry(m->log, o, "ran", NULL, noted ? o->noted_cpu_ns : 0);
		e->begin_ns = e->begun_ns = noted ? o->noted_ns : gc_begun_ns;
		e->after = clock_ns(o->cpu);
		e->end_ns = e->ended_ns = now_ns();
		log_done(m->log, e);
	}
	pthread_mutex_unlock(&w->lock);
}

struct log_entry *announce_gc_begin(struct mutator *m, const char *cause, uint64_t used)
{
	struct log_entry *e = entry(m->log, m, "gc", cause, used);

	e->begin_ns = now_ns();
	UT_PROBE(minivm, gc__begin, cause, used);
	emit_begin(e);
	if (log_is_kept(m->log))
		note_others(m);
	return e;
}

void announce_gc_end(struct mutator *m, struct log_entry *e, uint64_t used)
{
	if (log_is_kept(m->log))
		log_others(m, e->begun_ns);
	e->after = used;
	e->end_ns = now_ns();
	UT_PROBE(minivm, gc__end, e->text, e->before, used);
	emit_end(m, e);
}

void announce_code_open(bool map, bool dump)
{
	unsigned asked = (map ? UT_JIT_MAP : 0u) | (dump ? UT_JIT_DUMP : 0u);

	ut_jit_open(asked);
	if (ut_jit_error() && (asked || UT_HAVE_JIT))
		fprintf(stderr, "minivm: its code has no names for profilers: %s\n", ut_jit_error());
}

void announce_code(const void *code, size_t len, const char *function) { ut_jit_code(code, len, function); }
void announce_code_moved(const void *from, const void *to, size_t len) { ut_jit_move(from, to, len); }
void announce_code_gone(const void *code, size_t len) { ut_jit_drop(code, len); }

struct log_entry *announce_compile_begin(struct mutator *m, const char *function)
{
	struct log_entry *e = entry(m->log, m, "compile", function, 0);

	e->begin_ns = now_ns();
	UT_PROBE(minivm, compile__begin, function);
	emit_begin(e);
	return e;
}

void announce_compile_end(struct mutator *m, struct log_entry *e, uint64_t code_bytes)
{
	e->after = code_bytes;
	e->end_ns = now_ns();
	UT_PROBE(minivm, compile__end, e->text, code_bytes);
	emit_end(m, e);
}

/* With its id: a span with an id may end on another thread, and does not nest with the other spans of its own. */
struct log_entry *announce_thread_begin(struct mutator *m)
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

void announce_thread_end(struct mutator *m, struct log_entry *e)
{
	e->end_ns = now_ns();
	UT_PROBE(minivm, thread__end, m->id);
	ut_end_id("thread", m->id);
	e->ended_ns = now_ns();
	log_done(m->log, e);
}

/* Generation 0 is the nursery. Without the provider's header these are nothing. */
#ifndef MINIVM_PROVIDER_H
#define CCL_GC_START(bytes) ((void)(bytes))
#define CCL_GC_FINISH(freed) ((void)(freed))
#define CCL_EGC_START(bytes, generation) ((void)(bytes))
#define CCL_EGC_FINISH(freed, generation) ((void)(freed))
#endif

void announce_minor_begin(uint64_t used) { CCL_EGC_START(used, 0); }
void announce_minor_end(uint64_t freed) { CCL_EGC_FINISH(freed, 0); }
void announce_full_begin(uint64_t used) { CCL_GC_START(used); }
void announce_full_end(uint64_t freed) { CCL_GC_FINISH(freed); }

// SPDX-License-Identifier: MIT
/* User events and probes through usertrace.h, and the log that a test compares them with. */
#include <time.h>

#include "usertrace.h"

#include "announce.h"

#ifdef MINIVM_PROVIDER_H
/* Made from ccl.d by `usertrace dtrace -h`. */
#include MINIVM_PROVIDER_H
#endif

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct log_entry *entry(const struct mutator *m, const char *kind, const char *text, uint64_t before)
{
	struct log_entry *e = log_entry(m->log);

	e->thread = m->id;
	e->tid = m->tid;
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
 */
struct log_entry *announce_begin(struct mutator *m, const char *kind, const char *text, uint64_t before)
{
	struct log_entry *e = entry(m, kind, text, before);

	e->begin_ns = now_ns();
	ut_emit(UT_BEGIN | (text ? UT_TEXT : 0), kind, (int64_t)before, 0, text);
	e->begun_ns = now_ns();
	return e;
}

void announce_end(struct mutator *m, struct log_entry *e, uint64_t after)
{
	e->after = after;
	e->end_ns = now_ns();
	ut_emit(UT_END, e->kind, (int64_t)after, 0, NULL);
	e->ended_ns = now_ns();
	log_done(m->log, e);
}

struct log_entry *announce_gc_begin(struct mutator *m, const char *cause, uint64_t used)
{
	UT_PROBE(minivm, gc__begin, cause, used);
	return announce_begin(m, "gc", cause, used);
}

void announce_gc_end(struct mutator *m, struct log_entry *e, uint64_t used)
{
	announce_end(m, e, used);
	UT_PROBE(minivm, gc__end, e->text, e->before, used);
}

struct log_entry *announce_compile_begin(struct mutator *m, const char *function)
{
	UT_PROBE(minivm, compile__begin, function);
	return announce_begin(m, "compile", function, 0);
}

void announce_compile_end(struct mutator *m, struct log_entry *e, uint64_t code_bytes)
{
	announce_end(m, e, code_bytes);
	UT_PROBE(minivm, compile__end, e->text, code_bytes);
}

/* With its id: a span with an id may end on another thread, and does not nest with the other spans of its own. */
struct log_entry *announce_thread_begin(struct mutator *m)
{
	struct log_entry *e = entry(m, "thread", NULL, 0);

	UT_PROBE(minivm, thread__start, m->id);
#ifdef MINIVM_PROVIDER_H
	if (CCL_CREATE_THREAD_ENABLED())
		CCL_CREATE_THREAD(m->tid);
#endif
	e->begin_ns = now_ns();
	ut_begin_id("thread", m->id);
	e->begun_ns = now_ns();
	return e;
}

void announce_thread_end(struct mutator *m, struct log_entry *e)
{
	e->end_ns = now_ns();
	ut_end_id("thread", m->id);
	e->ended_ns = now_ns();
	log_done(m->log, e);
	UT_PROBE(minivm, thread__end, m->id);
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

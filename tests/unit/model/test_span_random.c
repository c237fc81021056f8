/* SPDX-License-Identifier: MIT */
/* Thousands of random streams through the pairing of spans and through a slow model of its rules, told alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "model/span_priv.h"
#include "unit.h"

#define STEPS 250
#define STREAMS 2000
#define PIDS 5 /* 1 to 4 */

static const struct span_limits limits = {
	.per_process = 9, .all = 20, .idle = 1000, .heritage = 1000, .all_heritage = 100000
};

/* The third and fourth are one when cut, the fifth is not. */
static const struct name {
	size_t len;
	char bytes[SPAN_NAME_MAX + 8];
} names[] = {
	{ 2, "gc" },
	{ 0, "" },
	{ SPAN_NAME_MAX + 1, "long" },
	{ SPAN_NAME_MAX + 8, "long" },
	{ SPAN_NAME_MAX, "longer" },
	{ 3, "a\0b" },
	{ 3, "a\0c" },
};

static size_t name_class(size_t name) { return name == 3 ? 2 : name; }

enum kind { BEGIN, END, FORK, EXEC, THREAD_START, THREAD_EXIT, PROCESS_EXIT, LOST };

struct step {
	enum kind kind;
	uint64_t time, since;
	uint32_t pid, tid; /* FORK: tid is the child */
	size_t name;
	bool has_id;
	uint64_t id;
};

struct model_span {
	struct step begin;
	bool open, crossed, detached;
	unsigned depth;
	struct {
		uint64_t begin, end;
	} inside[STEPS];
	size_t n_inside;
};

struct heir {
	uint32_t pid;
	size_t name;
	bool has_id;
	uint64_t id;
	bool gone;
};

/* Everything that happened, and every rule looked up in it from the start. */
struct model {
	struct step log[STEPS];
	size_t n;
	const struct step *now; /* not yet in the log */
	struct model_span span[STEPS]; /* in the order of their begins */
	size_t n_spans;
	struct heir heir[STEPS * 64];
	size_t n_heirs;
	uint64_t changed[PIDS], changes; /* when the number of open spans did */
	struct span told[STEPS * 2];
	size_t n_told;
};

/* What the engine tells in a step. */
struct told {
	struct span span[STEPS * 2];
	size_t n;
};

static bool same_key(const struct step *a, const struct step *b)
{
	return a->pid == b->pid && name_class(a->name) == name_class(b->name) && a->has_id == b->has_id &&
	       (a->has_id ? a->id == b->id : a->tid == b->tid);
}

static bool same_thread(const struct model_span *a, const struct model_span *b)
{
	return a->begin.pid == b->begin.pid && a->begin.tid == b->begin.tid && !a->detached && !b->detached;
}

static bool starts_process(const struct step *s, uint32_t pid)
{
	return s->kind == FORK ? s->tid == pid && s->pid != pid
			       : (s->kind == EXEC || s->kind == PROCESS_EXIT) && s->pid == pid;
}

/* Is there a loss that concerns @pid and ends after @since? */
static bool model_lost(const struct model *m, uint32_t pid, bool since_known, uint64_t since)
{
	for (size_t i = m->n; i-- > 0;)
		if (m->log[i].kind == LOST && !m->log[i].pid && (!since_known || m->log[i].time > since))
			return true;
	for (size_t i = m->n; i-- > 0 && !starts_process(&m->log[i], pid);)
		if (m->log[i].kind == LOST && m->log[i].pid == pid && (!since_known || m->log[i].time > since))
			return true;
	return false;
}

/* The time that the spans inside cover, moment by moment. */
static uint64_t covered(const struct model_span *s, uint64_t end)
{
	uint64_t sum = 0;

	for (uint64_t t = s->begin.time; t < end; t++)
		for (size_t i = 0; i < s->n_inside; i++)
			if (s->inside[i].begin <= t && t < s->inside[i].end) {
				sum++;
				break;
			}
	return sum;
}

static void tell(struct model *m, struct model_span *s, uint64_t time, enum span_end how)
{
	struct span *t = &m->told[m->n_told++];
	const struct name *name = &names[s->begin.name];
	uint64_t end = time < s->begin.time ? s->begin.time : time;

	*t = (struct span){ .pid = s->begin.pid,
			    .tid = s->begin.tid,
			    .has_id = s->begin.has_id,
			    .id = s->begin.has_id ? s->begin.id : 0,
			    .value = (int64_t)s->begin.time * 3,
			    .depth = s->depth };
	t->name_len = name->len < SPAN_NAME_MAX ? name->len : SPAN_NAME_MAX;
	memcpy(t->name, name->bytes, t->name_len);
	t->begin_ns = s->begin.time;
	t->end_ns = end;
	t->own_ns = end - s->begin.time - covered(s, end);
	t->end = how;
	t->flags = (model_lost(m, s->begin.pid, true, s->begin.time) ? SPAN_LOST_INSIDE : 0u) |
		   (time < s->begin.time ? SPAN_CLOCK_STEP : 0u) | (s->crossed ? SPAN_CROSSED : 0u);
	t->exit_known = how == SPAN_PROCESS_EXITED && m->now->kind == PROCESS_EXIT && m->now->has_id;
	t->exit_code = t->exit_known ? (int)m->now->id : 0;
	s->open = false;
	m->changed[s->begin.pid] = ++m->changes;
}

static void put_inside(struct model_span *outer, const struct model_span *s, uint64_t time)
{
	outer->inside[outer->n_inside].begin = s->begin.time;
	outer->inside[outer->n_inside++].end = time;
}

/* The newest open one that began before @s on its thread; with @plain, of those without id. */
static struct model_span *around(struct model *m, const struct model_span *s, bool plain)
{
	for (size_t i = (size_t)(s - m->span); i-- > 0;)
		if (m->span[i].open && same_thread(&m->span[i], s) && !(plain && m->span[i].begin.has_id))
			return &m->span[i];
	return NULL;
}

static void leave(struct model *m, struct model_span *s, uint64_t time)
{
	struct model_span *direct = around(m, s, false), *plain = around(m, s, true);

	if (direct && direct->begin.has_id)
		put_inside(direct, s, time);
	if (plain && !s->begin.has_id)
		put_inside(plain, s, time);
}

/* Something else than its end: what is open directly inside it counts. */
static void close_span(struct model *m, struct model_span *s, uint64_t time, enum span_end how)
{
	for (struct model_span *i = s + 1; i < m->span + m->n_spans; i++)
		if (i->open && same_thread(i, s) && (s->begin.has_id || !i->begin.has_id)) {
			put_inside(s, i, time);
			break;
		}
	leave(m, s, time);
	tell(m, s, time, how);
}

static size_t open_of(const struct model *m, uint32_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_spans; i++)
		n += m->span[i].open && (!pid || m->span[i].begin.pid == pid);
	return n;
}

static void close_all(struct model *m, uint32_t pid, uint64_t time, enum span_end how, size_t max)
{
	for (size_t i = 0; i < m->n_spans && max; i++)
		if (m->span[i].open && (!pid || m->span[i].begin.pid == pid)) {
			close_span(m, &m->span[i], time, how);
			max--;
		}
}

static void model_forget(struct model *m, const struct step *s)
{
	uint32_t most = 1;

	if (open_of(m, s->pid) > limits.per_process) {
		close_all(m, s->pid, s->time, SPAN_EVICTED, 1);
		return;
	}
	if (open_of(m, 0) <= limits.all)
		return;
	for (uint32_t pid = 2; pid < PIDS; pid++)
		if (open_of(m, pid) > open_of(m, most) ||
		    (open_of(m, pid) == open_of(m, most) && m->changed[pid] > m->changed[most]))
			most = pid;
	close_all(m, most, s->time, SPAN_EVICTED, 1);
}

static void model_begin(struct model *m, const struct step *s)
{
	struct model_span *span = &m->span[m->n_spans++];

	*span = (struct model_span){ .begin = *s, .open = true, .depth = 1 };
	for (struct model_span *i = m->span; i < span; i++)
		span->depth += i->open && same_thread(i, span) && (s->has_id || !i->begin.has_id);
	m->changed[s->pid] = ++m->changes;
	model_forget(m, s);
}

static void model_cross(struct model *m, struct model_span *s)
{
	for (struct model_span *i = s + 1; i < m->span + m->n_spans; i++)
		if (i->open && same_thread(i, s) && !i->begin.has_id && !s->begin.has_id)
			i->crossed = s->crossed = true;
}

static bool model_inherited(struct model *m, const struct step *s)
{
	for (size_t i = 0; i < m->n_heirs; i++) {
		struct heir *h = &m->heir[i];

		if (h->gone || h->pid != s->pid || h->name != name_class(s->name) || h->has_id != s->has_id)
			continue;
		if (s->has_id ? h->id != s->id : s->tid != s->pid)
			continue;
		h->gone = true;
		return true;
	}
	return false;
}

static bool begins_key(const struct step *l, const struct step *s) { return l->kind == BEGIN && same_key(l, s); }
static bool starts_its_process(const struct step *l, const struct step *s) { return starts_process(l, s->pid); }

static bool starts_its_thread(const struct step *l, const struct step *s)
{
	return (l->kind == THREAD_START || l->kind == THREAD_EXIT) && l->pid == s->pid && l->tid == s->tid &&
	       !s->has_id;
}

static enum span_end model_unmatched(struct model *m, const struct step *s)
{
	bool (*const is[])(const struct step *l, const struct step *s) = { begins_key, starts_its_process,
									   starts_its_thread };
	bool known = false;
	uint64_t since = 0;

	if (model_inherited(m, s))
		return SPAN_INHERITED;
	for (size_t k = 0; k < ARRAY_SIZE(is); k++)
		for (size_t i = m->n; i-- > 0;)
			if (is[k](&m->log[i], s)) {
				since = !known || m->log[i].time > since ? m->log[i].time : since;
				known = true;
				break; /* the latest of its sort */
			}
	if (model_lost(m, s->pid, known, since))
		return SPAN_LOST;
	return known ? SPAN_ORPHAN : SPAN_BEFORE_ATTACH;
}

static enum span_end model_end(struct model *m, const struct step *s)
{
	for (size_t i = m->n_spans; i-- > 0;) {
		struct model_span *span = &m->span[i];

		if (!span->open || !same_key(&span->begin, s))
			continue;
		model_cross(m, span);
		if (span->begin.tid == s->tid && !span->detached)
			leave(m, span, s->time);
		tell(m, span, s->time, SPAN_COMPLETE);
		return SPAN_COMPLETE;
	}
	return model_unmatched(m, s);
}

static void model_restart(struct model *m, uint32_t pid, uint64_t time, enum span_end how)
{
	close_all(m, pid, time, how, SIZE_MAX);
	for (size_t i = 0; i < m->n_heirs; i++)
		m->heir[i].gone |= m->heir[i].pid == pid;
}

static void add_heir(struct model *m, struct heir h)
{
	assert_true(m->n_heirs < ARRAY_SIZE(m->heir));
	m->heir[m->n_heirs++] = h;
}

static void model_fork(struct model *m, const struct step *s)
{
	size_t n = m->n_heirs;

	if (s->pid == s->tid)
		return;
	model_restart(m, s->tid, s->time, SPAN_PROCESS_EXITED);
	for (size_t i = 0; i < m->n_spans; i++) {
		const struct step *b = &m->span[i].begin;

		if (m->span[i].open && b->pid == s->pid)
			add_heir(m, (struct heir){ s->tid, name_class(b->name), b->has_id, b->id, false });
	}
	for (size_t i = 0; i < n; i++)
		if (!m->heir[i].gone && m->heir[i].pid == s->pid)
			add_heir(m, (struct heir){ s->tid, m->heir[i].name, m->heir[i].has_id, m->heir[i].id, false });
}

static void model_thread(struct model *m, const struct step *s)
{
	for (size_t i = 0; i < m->n_spans; i++) {
		struct model_span *span = &m->span[i];

		if (span->open && span->begin.pid == s->pid && span->begin.tid == s->tid && !span->begin.has_id)
			close_span(m, span, s->time, SPAN_THREAD_EXITED);
	}
	for (size_t i = 0; i < m->n_spans; i++)
		m->span[i].detached |= m->span[i].begin.pid == s->pid && m->span[i].begin.tid == s->tid;
}

static enum span_end model_step(struct model *m, const struct step *s)
{
	enum span_end end = SPAN_COMPLETE;

	m->now = s;
	switch (s->kind) {
	case END: end = model_end(m, s); break;
	case BEGIN: model_begin(m, s); break;
	case FORK: model_fork(m, s); break;
	case EXEC: model_restart(m, s->pid, s->time, SPAN_EXEC); break;
	case PROCESS_EXIT: model_restart(m, s->pid, s->time, SPAN_PROCESS_EXITED); break;
	case THREAD_START:
	case THREAD_EXIT: model_thread(m, s); break;
	default: break;
	}
	m->log[m->n++] = *s;
	return end;
}

static void hear(void *ctx, const struct span *span)
{
	struct told *t = ctx;

	assert_true(t->n < ARRAY_SIZE(t->span));
	t->span[t->n++] = *span;
}

static enum span_end engine_step(struct spans *s, const struct step *step, struct told *told)
{
	struct span_event e = { .time_ns = step->time,
				.pid = step->pid,
				.tid = step->tid,
				.name = names[step->name].bytes,
				.name_len = names[step->name].len,
				.has_id = step->has_id,
				.id = step->id,
				.value = (int64_t)step->time * 3 };
	enum span_end end = SPAN_COMPLETE;
	struct span span;

	switch (step->kind) {
	case BEGIN: assert_int_equal(spans_begin(s, &e), 0); break;
	case END:
		end = spans_end(s, &e, &span);
		if (end == SPAN_COMPLETE)
			hear(told, &span);
		break;
	case FORK: spans_fork(s, step->time, step->pid, step->tid); break;
	case EXEC: spans_exec(s, step->time, step->pid); break;
	case THREAD_START: spans_thread_start(s, step->time, step->pid, step->tid); break;
	case THREAD_EXIT: spans_thread_exit(s, step->time, step->pid, step->tid); break;
	case PROCESS_EXIT: spans_process_exit(s, step->time, step->pid, step->has_id, (int)step->id); break;
	case LOST: spans_lost(s, step->pid, step->since, step->time); break;
	}
	return end;
}

/* Of the numbers that one seed gives; splitmix64. */
static uint64_t roll(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % n;
}

static enum kind roll_kind(uint64_t *state)
{
	uint64_t n = roll(state, 100);

	return n < 45	? BEGIN
	       : n < 86 ? END
	       : n < 90 ? FORK
	       : n < 91 ? EXEC
	       : n < 92 ? THREAD_START
	       : n < 94 ? THREAD_EXIT
	       : n < 96 ? PROCESS_EXIT
			: LOST;
}

static struct step roll_step(uint64_t *state, uint64_t before, bool steps_back, size_t variety)
{
	struct step s = { .kind = roll_kind(state), .time = before + roll(state, 4) };

	if (steps_back && !roll(state, 10))
		s.time -= roll(state, s.time < 30 ? s.time : 30);
	s.pid = 1 + (uint32_t)roll(state, PIDS - 1);
	s.tid = roll(state, 2) ? s.pid : 1 + (uint32_t)roll(state, PIDS - 1);
	s.name = roll(state, variety);
	s.has_id = !roll(state, 3);
	s.id = roll(state, 3);
	if (s.kind == LOST) {
		s.pid = (uint32_t)roll(state, PIDS);
		s.since = s.time - roll(state, s.time < 20 ? s.time : 20);
	}
	return s;
}

static void compare_span(const struct span *a, const struct span *b, bool own)
{
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->name_len, b->name_len);
	assert_memory_equal(a->name, b->name, a->name_len);
	assert_int_equal(a->has_id, b->has_id);
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->value, b->value);
	assert_int_equal(a->begin_ns, b->begin_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->depth, b->depth);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->exit_known, b->exit_known);
	assert_int_equal(a->exit_code, b->exit_code);
	assert_true(a->own_ns <= a->end_ns - a->begin_ns);
	if (own)
		assert_int_equal(a->own_ns, b->own_ns);
}

static void compare_told(struct told *told, struct model *m, bool own)
{
	assert_int_equal(told->n, m->n_told);
	for (size_t i = 0; i < told->n; i++)
		compare_span(&told->span[i], &m->told[i], own);
	told->n = m->n_told = 0;
}

static uint64_t sum_of(const uint64_t ends[SPAN_ENDS])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < SPAN_ENDS; i++)
		sum += ends[i];
	return sum;
}

static void compare_counts(const struct spans *s, const uint64_t ends[SPAN_ENDS], uint64_t begins)
{
	const struct span_counts *c = spans_counts(s);
	uint64_t closed = 0;

	for (size_t i = 0; i < SPAN_LOST; i++)
		closed += c->of[i];
	assert_int_equal(closed, begins);
	assert_int_equal(c->begins, begins);
	assert_int_equal(c->of[SPAN_COMPLETE], ends[SPAN_COMPLETE]);
	for (size_t i = SPAN_LOST; i < SPAN_ENDS; i++)
		assert_int_equal(c->of[i], ends[i]);
	assert_int_equal(c->ends, sum_of(ends));
}

/* @own: the clock never goes back, so that own times are exact. */
static void run_stream(uint64_t seed, bool own, struct model *m, struct told *told, uint64_t ends[SPAN_ENDS])
{
	struct spans *s = spans_new_limited(hear, told, &limits);
	uint64_t state = seed, time = 50, begins = 0, of_this[SPAN_ENDS] = { 0 };
	size_t variety = 1 + roll(&state, ARRAY_SIZE(names));

	m->n = m->n_spans = m->n_heirs = 0;
	assert_non_null(s);
	for (size_t i = 0; i < STEPS; i++) {
		struct step step = roll_step(&state, time, !own, variety);
		enum span_end expected = model_step(m, &step), end = engine_step(s, &step, told);

		if (expected != end)
			fail_msg("seed %#llx, step %zu: an end is told as %d, not %d", (unsigned long long)seed, i, end,
				 expected);
		compare_told(told, m, own);
		assert_int_equal(spans_open(s), open_of(m, 0));
		of_this[end] += step.kind == END;
		begins += step.kind == BEGIN;
		time = step.time;
	}
	close_all(m, 0, time, SPAN_OPEN, SIZE_MAX);
	spans_stop(s, time);
	compare_told(told, m, own);
	compare_counts(s, of_this, begins);
	for (size_t i = 0; i < SPAN_ENDS; i++)
		ends[i] += of_this[i];
	spans_free(s);
}

static void run_streams(uint64_t seed, bool own)
{
	AUTO_FREE struct model *m = calloc(1, sizeof(*m));
	AUTO_FREE struct told *told = calloc(1, sizeof(*told));
	uint64_t ends[SPAN_ENDS] = { 0 };

	assert_non_null(m);
	assert_non_null(told);
	for (uint64_t i = 0; i < STREAMS / 2; i++)
		run_stream(seed + i, own, m, told, ends);
	assert_true(ends[SPAN_COMPLETE] > STREAMS / 10);
	for (size_t i = SPAN_LOST; i < SPAN_ENDS; i++) /* the streams try every answer */
		assert_true(ends[i] > STREAMS / 10);
}

static void test_streams(void **state)
{
	(void)state;
	run_streams(0x5e9d0001, true);
}

static void test_streams_whose_clock_steps_back(void **state)
{
	(void)state;
	run_streams(0x5e9d0000001, false);
}

UNIT_TESTS(span_random)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_streams_whose_clock_steps_back),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Thousands of random streams through both users of the pairing engine and through a slow model of its rules, told alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "model/collect_priv.h"
#include "model/pair_priv.h"
#include "model/span_priv.h"
#include "unit.h"

#define STEPS 250
#define STREAMS 2000
#define PIDS 5 /* 1 to 4 */

static const struct pair_limits limits = {
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
	bool runtimes; /* the rules of their spans */
	bool nests[2 * ARRAY_SIZE(names)]; /* of a name, without an id and with one */
};

/* What the engine tells in a step. */
struct told {
	struct span span[STEPS * 2];
	char name[STEPS * 2][SPAN_NAME_MAX];
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

/* The end of the last loss that concerns @pid; 0: there is none, as no time is that early. */
static uint64_t last_loss(const struct model *m, uint32_t pid)
{
	uint64_t ret = 0;

	for (size_t i = m->n; i-- > 0;)
		if (m->log[i].kind == LOST && !m->log[i].pid && m->log[i].time > ret)
			ret = m->log[i].time;
	for (size_t i = m->n; i-- > 0 && !starts_process(&m->log[i], pid);)
		if (m->log[i].kind == LOST && m->log[i].pid == pid && m->log[i].time > ret)
			ret = m->log[i].time;
	return ret;
}

/* Is there a loss that concerns @pid and ends after @since? */
static bool model_lost(const struct model *m, uint32_t pid, bool since_known, uint64_t since)
{
	uint64_t loss = last_loss(m, pid);

	return loss && (!since_known || loss > since);
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
	t->name =
		(struct ut_text){ .bytes = name->bytes, .len = name->len < SPAN_NAME_MAX ? name->len : SPAN_NAME_MAX };
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

/* The inner ones first. */
static void close_all(struct model *m, uint32_t pid, uint64_t time, enum span_end how)
{
	for (size_t i = m->n_spans; i-- > 0;)
		if (m->span[i].open && (!pid || m->span[i].begin.pid == pid))
			close_span(m, &m->span[i], time, how);
}

static void evict_oldest(struct model *m, uint32_t pid, uint64_t time)
{
	size_t i = 0;

	while (!m->span[i].open || m->span[i].begin.pid != pid)
		i++;
	close_span(m, &m->span[i], time, SPAN_EVICTED);
}

static void model_forget(struct model *m, const struct step *s)
{
	uint32_t most = 1;

	if (open_of(m, s->pid) > limits.per_process) {
		evict_oldest(m, s->pid, s->time);
		return;
	}
	if (open_of(m, 0) <= limits.all)
		return;
	for (uint32_t pid = 2; pid < PIDS; pid++)
		if (open_of(m, pid) > open_of(m, most) ||
		    (open_of(m, pid) == open_of(m, most) && m->changed[pid] > m->changed[most]))
			most = pid;
	evict_oldest(m, most, s->time);
}

static struct model_span *model_newest(struct model *m, const struct step *s)
{
	for (size_t i = m->n_spans; i-- > 0;)
		if (m->span[i].open && same_key(&m->span[i].begin, s))
			return &m->span[i];
	return NULL;
}

/* One is open over a loss: then its end was lost, unless such ones nest. */
static void model_replace(struct model *m, const struct step *s)
{
	struct model_span *old = model_newest(m, s);
	bool *nests = &m->nests[2 * name_class(s->name) + s->has_id];
	uint64_t loss = last_loss(m, s->pid);

	if (old && loss <= old->begin.time)
		*nests = true;
	else if (old && !*nests)
		close_span(m, old, loss < s->time ? loss : s->time, SPAN_LOST);
}

static void model_begin(struct model *m, const struct step *s)
{
	struct model_span *span = &m->span[m->n_spans++];

	if (m->runtimes) {
		m->n_spans--;
		model_replace(m, s);
		m->n_spans++;
	}
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

/* Does the latest begin, or the latest start of its thread, count for the program that started at @start? */
static bool seen_since(const struct model *m, const struct step *s, uint64_t start)
{
	bool begun = false, thread = false, ret = false;

	for (size_t i = m->n; i-- > 0;) {
		if (!begun && begins_key(&m->log[i], s)) {
			begun = true;
			ret |= m->log[i].time >= start;
		}
		if (!thread && starts_its_thread(&m->log[i], s)) {
			thread = true;
			ret |= m->log[i].time >= start;
		}
	}
	return ret;
}

static enum span_end model_unmatched(struct model *m, const struct step *s)
{
	bool (*const is[])(const struct step *l, const struct step *s) = { begins_key, starts_its_process,
									   starts_its_thread };
	bool known = false, started = false;
	uint64_t since = 0, start = 0;

	if (model_inherited(m, s))
		return SPAN_INHERITED;
	for (size_t k = 0; k < ARRAY_SIZE(is); k++)
		for (size_t i = m->n; i-- > 0;)
			if (is[k](&m->log[i], s)) {
				if (is[k] == starts_its_process) {
					start = m->log[i].time;
					started = true;
				}
				since = !known || m->log[i].time > since ? m->log[i].time : since;
				known = true;
				break; /* the latest of its sort */
			}
	if (model_lost(m, s->pid, known, since))
		return SPAN_LOST;
	if (m->runtimes && known && started && !seen_since(m, s, start))
		return SPAN_BEFORE_ATTACH; /* nothing but the start is known, and it was not watched from there on */
	return known ? SPAN_ORPHAN : SPAN_BEFORE_ATTACH;
}

static enum span_end model_end(struct model *m, const struct step *s)
{
	struct model_span *span = model_newest(m, s);

	if (!span)
		return model_unmatched(m, s);
	model_cross(m, span);
	if (span->begin.tid == s->tid && !span->detached)
		leave(m, span, s->time);
	tell(m, span, s->time, SPAN_COMPLETE);
	return SPAN_COMPLETE;
}

static void model_restart(struct model *m, uint32_t pid, uint64_t time, enum span_end how)
{
	close_all(m, pid, time, how);
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
	for (size_t i = m->n_spans; i-- > 0;) {
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
	t->span[t->n] = *span;
	memcpy(t->name[t->n], span->name.bytes, span->name.len);
	t->span[t->n].name.bytes = t->name[t->n];
	t->n++;
}

static enum span_end engine_step(struct spans *s, const struct step *step, struct told *told)
{
	struct span_event e = { .time_ns = step->time,
				.pid = step->pid,
				.tid = step->tid,
				.name = { .bytes = names[step->name].bytes, .len = names[step->name].len },
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
	case FORK: pairs_fork(spans_pairs(s), step->time, step->pid, step->tid); break;
	case EXEC: pairs_exec(spans_pairs(s), step->time, step->pid); break;
	case THREAD_START: pairs_thread_exit(spans_pairs(s), step->time, step->pid, step->tid); break;
	case THREAD_EXIT: pairs_thread_exit(spans_pairs(s), step->time, step->pid, step->tid); break;
	case PROCESS_EXIT:
		pairs_process_exit(spans_pairs(s), step->time, step->pid, step->has_id, (int)step->id);
		break;
	case LOST: pairs_lost(spans_pairs(s), step->pid, step->since, step->time); break;
	}
	return end;
}

/* A definition of each name without an id, and behind it one with. Names that are equal when cut are one. */
static struct collect_def defs[2 * ARRAY_SIZE(names)];

/* What spans of runtimes have of all that user spans have. */
static struct span collected_of(const struct collect_span *c)
{
	size_t def = (size_t)(c->def - defs);

	return (struct span){ .pid = c->pid,
			      .tid = c->tid,
			      .name = { .bytes = names[def / 2].bytes,
					.len = names[def / 2].len < SPAN_NAME_MAX ? names[def / 2].len
										  : SPAN_NAME_MAX },
			      .has_id = def % 2,
			      .id = def % 2 ? (uint64_t)c->values[0].number : 0,
			      .begin_ns = c->begin_ns,
			      .end_ns = c->end_ns,
			      .end = c->end,
			      .flags = c->lost_inside ? SPAN_LOST_INSIDE : 0u };
}

static struct span collectable(const struct span *s)
{
	struct span ret = *s;

	ret.value = 0;
	ret.own_ns = ret.depth = 0;
	ret.flags &= SPAN_LOST_INSIDE;
	ret.exit_known = false;
	ret.exit_code = 0;
	return ret;
}

struct collected {
	struct told *told;
	bool is_end; /* of a step that is an end */
	enum span_end end;
};

static int hear_collected(void *ctx, const struct collect_span *span)
{
	struct collected *c = ctx;
	struct span s = collected_of(span);

	if (c->is_end)
		c->end = span->end;
	if (!c->is_end || span->end == SPAN_COMPLETE)
		hear(c->told, &s);
	return 0;
}

static enum span_end collect_step(struct collect *c, const struct step *step, struct collected *told)
{
	const struct collect_value id = { .name = "id", .key = collect_name_key("id"), .number = (int64_t)step->id };
	struct collect_event e = { .time_ns = step->time,
				   .pid = step->pid,
				   .tid = step->tid,
				   .def = (unsigned)(2 * name_class(step->name) + step->has_id),
				   .role = step->kind == BEGIN ? COLLECT_BEGIN : COLLECT_END,
				   .values = &id,
				   .nvalues = step->has_id };

	told->is_end = step->kind == END;
	told->end = SPAN_COMPLETE;
	switch (step->kind) {
	case BEGIN:
	case END: assert_int_equal(collect_event(c, &e), 0); break;
	case FORK: pairs_fork(collect_pairs(c), step->time, step->pid, step->tid); break;
	case EXEC: pairs_exec(collect_pairs(c), step->time, step->pid); break;
	case THREAD_START:
	case THREAD_EXIT: pairs_thread_exit(collect_pairs(c), step->time, step->pid, step->tid); break;
	case PROCESS_EXIT: pairs_process_exit(collect_pairs(c), step->time, step->pid, false, 0); break;
	case LOST: pairs_lost(collect_pairs(c), step->pid, step->since, step->time); break;
	}
	told->is_end = false;
	return told->end;
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
	assert_int_equal(a->name.len, b->name.len);
	assert_memory_equal(a->name.bytes, b->name.bytes, a->name.len);
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

static void clear(struct model *m, bool runtimes)
{
	m->n = m->n_spans = m->n_heirs = 0;
	m->runtimes = runtimes;
	memset(m->nests, 0, sizeof(m->nests));
}

static void compare_collected(struct told *told, struct model *m)
{
	for (size_t i = 0; i < m->n_told; i++)
		m->told[i] = collectable(&m->told[i]);
	compare_told(told, m, false);
}

static void run_collected(uint64_t seed, bool steps_back, struct model *m, struct told *told, uint64_t ends[SPAN_ENDS])
{
	struct collected collected = { .told = told };
	struct collect *c = collect_new_limited(defs, ARRAY_SIZE(defs), 0, 0, hear_collected, &collected, &limits);
	uint64_t state = seed, time = 50;
	size_t variety = 1 + roll(&state, ARRAY_SIZE(names));

	clear(m, true);
	assert_non_null(c);
	for (size_t i = 0; i < STEPS; i++) {
		struct step step = roll_step(&state, time, steps_back, variety);
		enum span_end expected = model_step(m, &step), end = collect_step(c, &step, &collected);

		if (expected != end)
			fail_msg("seed %#llx, step %zu: an end is told as %s, not %s", (unsigned long long)seed, i,
				 span_end_name(end), span_end_name(expected));
		compare_collected(told, m);
		ends[end] += step.kind == END;
		time = step.time;
	}
	close_all(m, 0, time, SPAN_OPEN);
	assert_int_equal(pairs_stop(collect_pairs(c), time), 0);
	compare_collected(told, m);
	collect_free(c);
}

/* @own: the clock never goes back, so that own times are exact. */
static void run_stream(uint64_t seed, bool own, struct model *m, struct told *told, uint64_t ends[SPAN_ENDS])
{
	struct spans *s = spans_new_limited(hear, told, &limits);
	uint64_t state = seed, time = 50, begins = 0, of_this[SPAN_ENDS] = { 0 };
	size_t variety = 1 + roll(&state, ARRAY_SIZE(names));

	clear(m, false);
	assert_non_null(s);
	for (size_t i = 0; i < STEPS; i++) {
		struct step step = roll_step(&state, time, !own, variety);
		enum span_end expected = model_step(m, &step), end = engine_step(s, &step, told);

		if (expected != end)
			fail_msg("seed %#llx, step %zu: an end is told as %d, not %d", (unsigned long long)seed, i, end,
				 expected);
		compare_told(told, m, own);
		assert_int_equal(s->pairs->open, open_of(m, 0));
		of_this[end] += step.kind == END;
		begins += step.kind == BEGIN;
		time = step.time;
	}
	close_all(m, 0, time, SPAN_OPEN);
	pairs_stop(spans_pairs(s), time);
	compare_told(told, m, own);
	compare_counts(s, of_this, begins);
	for (size_t i = 0; i < SPAN_ENDS; i++)
		ends[i] += of_this[i];
	spans_free(s);
}

static void run_streams(uint64_t seed, bool own, bool runtimes)
{
	AUTO_FREE struct model *m = calloc(1, sizeof(*m));
	AUTO_FREE struct told *told = calloc(1, sizeof(*told));
	uint64_t ends[SPAN_ENDS] = { 0 };

	assert_non_null(m);
	assert_non_null(told);
	for (uint64_t i = 0; i < STREAMS / 2; i++)
		if (runtimes)
			run_collected(seed + i, !own, m, told, ends);
		else
			run_stream(seed + i, own, m, told, ends);
	assert_true(ends[SPAN_COMPLETE] > STREAMS / 10);
	for (size_t i = SPAN_LOST; i < SPAN_ENDS; i++) /* the streams try every answer */
		assert_true(ends[i] > STREAMS / 10);
}

static void test_streams(void **state)
{
	(void)state;
	run_streams(0x5e9d0001, true, false);
}

static void test_streams_whose_clock_steps_back(void **state)
{
	(void)state;
	run_streams(0x5e9d0000001, false, false);
}

static void test_spans_of_runtimes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(defs); i++)
		defs[i] = (struct collect_def){ .runtime = "R",
						.kind = "request",
						.by = i % 2 ? PAIR_BY_ID : PAIR_BY_THREAD };
	run_streams(0x5e9d1000001, true, true);
	run_streams(0x5e9d2000001, false, true);
}

UNIT_TESTS(span_random)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_streams_whose_clock_steps_back),
		cmocka_unit_test(test_spans_of_runtimes),
	};

	return unit_run(tests, NULL, NULL);
}

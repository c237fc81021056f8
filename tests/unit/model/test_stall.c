/* SPDX-License-Identifier: MIT */
/* What two states of a process say about the time between: cases, and processors at random against a plain account. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "model/stall.h"
#include "unit.h"
#include "wire/record.h"

#define BASE UINT64_C(1000000000000)
#define MS UINT64_C(1000000)
#define UNIT (UINT64_C(1) << UT_WORD_UNIT_SHIFT)

static uint64_t time_bits(uint64_t ns) { return ((ns - BASE) >> UT_WORD_UNIT_SHIFT) << UT_WORD_COUNT_BITS; }
static void enter(uint64_t *word, uint64_t ns) { *word += 1 - time_bits(ns); }
static void leave(uint64_t *word, uint64_t ns) { *word += time_bits(ns) - 1; }

/* In two steps, as processors do it. */
static bool enter_any(uint64_t *word) { return !((*word)++ & ((1u << UT_WORD_COUNT_BITS) - 1)); }

static bool leave_any(uint64_t *word) { return !(--*word & ((1u << UT_WORD_COUNT_BITS) - 1)); }

static void not_zero_since(uint64_t *word, uint64_t ns) { *word += time_bits(ns); }
static void zero_since(uint64_t *word, uint64_t ns) { *word -= time_bits(ns); }

static struct ut_rec_state fresh(uint64_t ns)
{
	return (struct ut_rec_state){ .none_runs = -time_bits(ns), .held = -time_bits(ns), .known = 1 };
}

static void words(void **ctx)
{
	uint64_t word = 0;

	(void)ctx;
	assert_int_equal(stall_word_ns(word, BASE, BASE + MS), 0);
	enter(&word, BASE + 1 * MS);
	assert_int_equal(stall_word_ns(word, BASE, BASE + 1 * MS), 0);
	assert_int_equal(stall_word_ns(word, BASE, BASE + 3 * MS), 2 * MS);
	enter(&word, BASE + 2 * MS);
	assert_int_equal(stall_word_ns(word, BASE, BASE + 3 * MS), 3 * MS);
	leave(&word, BASE + 4 * MS);
	leave(&word, BASE + 5 * MS);
	assert_int_equal(stall_word_ns(word, BASE, BASE + 90 * MS), 6 * MS);
	enter(&word, BASE + 100 * MS);
	assert_int_equal(stall_word_ns(word, BASE, BASE + 10 * MS), 0); /* before: never below 0 */
	assert_int_equal(stall_word_ns(word, BASE, BASE - 10 * MS), 0);
}

/* A hundred waiting threads for a hundred days: the sum wraps, what lies between does not. */
static void sums_that_wrap(void **ctx)
{
	const uint64_t day = 86400 * 1000 * MS;
	struct ut_rec_state from = fresh(BASE), to;
	struct stall s;

	(void)ctx;
	for (unsigned i = 0; i < 100; i++)
		enter(&from.waiting, BASE + i * day);
	to = from;
	s = stall_between(&from, BASE + 100 * day, &to, BASE + 100 * day + 5 * MS, BASE);
	assert_true(s.known);
	assert_int_equal(s.waited_ns, 500 * MS);
	leave(&to.waiting, BASE + 100 * day + 1 * MS);
	s = stall_between(&from, BASE + 100 * day, &to, BASE + 100 * day + 5 * MS, BASE);
	assert_int_equal(s.waited_ns, 496 * MS);
}

static void zeros(void **ctx)
{
	uint64_t word = -time_bits(BASE + 1 * MS), early, late;

	(void)ctx;
	assert_int_equal(stall_zero_ns(word, BASE, BASE + 3 * MS), 2 * MS);
	assert_int_equal(stall_zero_ns(0, BASE, BASE + 3 * MS), 3 * MS);
	assert_int_equal(stall_zero_ns(0, BASE, BASE), 0);
	assert_true(enter_any(&word));
	not_zero_since(&word, BASE + 3 * MS);
	assert_int_equal(stall_zero_ns(word, BASE, BASE + 9 * MS), 2 * MS);
	assert_false(enter_any(&word));
	assert_false(leave_any(&word));
	/* One leaves at 9 ms and another comes at 9.001 ms, and either says so first. */
	assert_true(leave_any(&word));
	assert_true(enter_any(&word));
	late = early = word;
	zero_since(&early, BASE + 9 * MS);
	not_zero_since(&late, BASE + 9 * MS + 1000);
	assert_in_range(stall_zero_ns(early, BASE, BASE + 9 * MS + 1600), 2 * MS, 2 * MS + 1600);
	assert_in_range(stall_zero_ns(late, BASE, BASE + 9 * MS + 1600), 2 * MS - 1600, 2 * MS + 1600);
	/* Two of them, and the last word missing on both. */
	zero_since(&early, BASE + 9 * MS + 1200);
	not_zero_since(&late, BASE + 9 * MS + 1400);
	assert_in_range(stall_zero_ns(early, BASE, BASE + 9 * MS + 1600), 2 * MS - 1600, 2 * MS + 3200);
	assert_in_range(stall_zero_ns(late, BASE, BASE + 9 * MS + 1600), 2 * MS - 1600, 2 * MS + 3200);
}

/* A process that always ran, in whose end state a processor has said only half of what it has to. */
static void ambiguous_alone(void **ctx)
{
	struct ut_rec_state from = { 0 }, to;
	struct stall s;

	(void)ctx;
	from.known = 1;
	from.held = -time_bits(BASE);
	enter_any(&from.none_runs); /* since the base */
	to = from;
	leave_any(&to.none_runs);
	enter_any(&to.none_runs);
	not_zero_since(&to.none_runs, BASE + 500 * MS);
	s = stall_between(&from, BASE + 400 * MS, &to, BASE + 500 * MS + 1600, BASE);
	assert_true(s.known);
	assert_in_range(s.stopped_ns, 0, 1600);
}

static void what_is_not_known(void **ctx)
{
	struct ut_rec_state from = fresh(BASE), to = from, other = fresh(BASE);
	struct stall zero = { 0 }, s;

	(void)ctx;
	to.known = 2;
	s = stall_between(&from, BASE + MS, &to, BASE + 2 * MS, BASE);
	assert_memory_equal(&s, &zero, sizeof(s));
	s = stall_between(&to, BASE + MS, &from, BASE + 2 * MS, BASE);
	assert_false(s.known);
	to.known = 0;
	assert_false(stall_between(&from, BASE + MS, &to, BASE + 2 * MS, BASE).known);
	to.known = 1;
	assert_true(stall_between(&from, BASE + MS, &to, BASE + 2 * MS, BASE).known);
	assert_false(stall_between(&from, BASE + 3 * MS, &to, BASE + 2 * MS, BASE).known);
	assert_false(stall_between(NULL, BASE + MS, &to, BASE + 2 * MS, BASE).known);
	assert_false(stall_between(&from, BASE + MS, NULL, BASE + 2 * MS, BASE).known);
	/* a second of processor time that there was before, and now is not: another measuring */
	enter(&other.program, BASE);
	leave(&other.program, BASE + 1000 * MS);
	assert_false(stall_between(&other, BASE + 1000 * MS, &to, BASE + 1002 * MS, BASE).known);
	/* and as much that cannot have come in so little time */
	to = from;
	enter(&to.program, BASE);
	to.program += time_bits(BASE + 100000000 * MS);
	assert_false(stall_between(&from, BASE + 1000 * MS, &to, BASE + 1002 * MS, BASE).known);
}

static void held_is_not_stopped(void **ctx)
{
	struct ut_rec_state from = fresh(BASE), to;
	struct stall s;

	(void)ctx;
	to = from;
	enter_any(&to.held);
	not_zero_since(&to.held, BASE + 3 * MS);
	leave_any(&to.held);
	zero_since(&to.held, BASE + 7 * MS);
	s = stall_between(&from, BASE + 1 * MS, &to, BASE + 9 * MS, BASE);
	assert_true(s.known);
	assert_int_equal(s.held_ns, 4 * MS);
	assert_int_equal(s.stopped_ns, 4 * MS);
	/* a time between two units is not a time that anybody was held */
	s = stall_between(&from, BASE + 1 * MS + 3, &from, BASE + 2 * MS + 15, BASE);
	assert_int_equal(s.held_ns, 0);
	assert_in_range(s.stopped_ns, MS - 2 * UNIT, MS + 12);
}

/* --- processors at random --- */

#define CPUS 4
#define THREADS 7
#define COLLECTORS 2 /* the first threads */

struct half {
	uint64_t *word, ns, due_ns;
	bool zero;
};

/* The plain account: integrals over time, in units of time of which all moments are multiples. */
struct account {
	uint64_t none, program, collector, waiting, held;
};

struct machine {
	uint64_t now_ns;
	int cpu[CPUS]; /* thread, -1 */
	bool on_cpu[THREADS], waits[THREADS], held[THREADS];
	struct ut_rec_state state;
	struct half half[64];
	unsigned nhalves;
	uint64_t late_ns; /* how late a second step may come; 0: at once */
	struct account account;
};

static uint64_t dice(uint64_t below) { return ((uint64_t)random() << 31 ^ (uint64_t)random()) % below; }
static bool is_collector(unsigned thread) { return thread < COLLECTORS; }

static void account_until(struct machine *m, uint64_t ns)
{
	uint64_t step = ns - m->now_ns, program = 0, collector = 0, waiting = 0, held = 0;

	for (unsigned t = 0; t < THREADS; t++) {
		program += m->on_cpu[t] && !is_collector(t);
		collector += m->on_cpu[t] && is_collector(t);
		waiting += m->waits[t];
		held += m->held[t];
	}
	m->account.none += program ? 0 : step;
	m->account.held += held ? step : 0;
	m->account.program += program * step;
	m->account.collector += collector * step;
	m->account.waiting += waiting * step;
	m->now_ns = ns;
}

static void say(const struct half *h) { (h->zero ? zero_since : not_zero_since)(h->word, h->ns); }

static void say_due(struct machine *m)
{
	for (unsigned i = 0; i < m->nhalves;)
		if (m->half[i].due_ns <= m->now_ns) {
			say(&m->half[i]);
			m->half[i] = m->half[--m->nhalves];
		} else {
			i++;
		}
}

static void say_later(struct machine *m, uint64_t *word, bool zero)
{
	struct half h = { word, m->now_ns, m->now_ns, zero };

	if (m->late_ns)
		h.due_ns += dice(m->late_ns / UNIT) * UNIT;
	if (h.due_ns == m->now_ns)
		say(&h);
	else
		m->half[m->nhalves++] = h;
	assert_true(m->nhalves < ARRAY_SIZE(m->half));
}

static void any(struct machine *m, uint64_t *word, bool more)
{
	if (more ? enter_any(word) : leave_any(word))
		say_later(m, word, !more);
}

static void switch_out(struct machine *m, unsigned cpu)
{
	unsigned t = (unsigned)m->cpu[cpu];

	m->cpu[cpu] = -1;
	m->on_cpu[t] = false;
	leave(is_collector(t) ? &m->state.collector : &m->state.program, m->now_ns);
	if (!is_collector(t))
		any(m, &m->state.none_runs, false);
	if (!is_collector(t) && !dice(3)) {
		m->waits[t] = true;
		enter(&m->state.waiting, m->now_ns);
	}
	if (!dice(5)) {
		m->held[t] = true;
		any(m, &m->state.held, true);
	}
}

static void switch_in(struct machine *m, unsigned cpu, unsigned t)
{
	m->cpu[cpu] = (int)t;
	m->on_cpu[t] = true;
	enter(is_collector(t) ? &m->state.collector : &m->state.program, m->now_ns);
	if (!is_collector(t))
		any(m, &m->state.none_runs, true);
	if (m->waits[t])
		leave(&m->state.waiting, m->now_ns);
	if (m->held[t])
		any(m, &m->state.held, false);
	m->waits[t] = m->held[t] = false;
}

static void step(struct machine *m)
{
	unsigned cpu = (unsigned)dice(CPUS), t = (unsigned)dice(THREADS);
	uint64_t ns = dice(8) ? dice(200) : dice(20000); /* units: often within the time of a half step */

	account_until(m, m->now_ns + ns * UNIT);
	say_due(m);
	if (m->cpu[cpu] >= 0)
		switch_out(m, cpu);
	if (!m->on_cpu[t] && dice(3))
		switch_in(m, cpu, t);
}

static void near(uint64_t seen, uint64_t wanted, uint64_t slack)
{
	assert_in_range(seen, wanted > slack ? wanted - slack : 0, wanted + slack);
}

static void check_between(const struct machine *from, const struct machine *to)
{
	uint64_t slack = 6 * from->late_ns, span = to->now_ns - from->now_ns;
	uint64_t held = to->account.held - from->account.held, none = to->account.none - from->account.none;
	struct stall s = stall_between(&from->state, from->now_ns, &to->state, to->now_ns, BASE);

	assert_true(s.known);
	assert_true(s.stopped_ns <= span && s.held_ns <= span && s.stopped_ns + s.held_ns <= span);
	near(s.held_ns, held, slack + UNIT);
	near(s.stopped_ns, none > held ? none - held : 0, 2 * (slack + UNIT));
	near(s.program_ns, to->account.program - from->account.program, 0);
	near(s.collector_ns, to->account.collector - from->account.collector, 0);
	near(s.waited_ns, to->account.waiting - from->account.waiting, 0);
}

/* Near the base a process that was never so and one that always was look alike; this one was both for a while. */
static void warm_up(struct machine *m)
{
	uint64_t late_ns = m->late_ns;

	m->late_ns = 0;
	account_until(m, m->now_ns + MS);
	switch_in(m, 0, THREADS - 1);
	any(m, &m->state.held, true);
	m->held[0] = true;
	account_until(m, m->now_ns + MS);
	any(m, &m->state.held, false);
	m->held[0] = false;
	m->late_ns = late_ns;
}

static void run(unsigned seed, uint64_t late_ns)
{
	struct machine m = { .now_ns = BASE + (seed % 3) * 777 * UNIT, .late_ns = late_ns }, past[64];

	srandom(seed);
	memset(m.cpu, -1, sizeof(m.cpu));
	m.state = fresh(m.now_ns);
	warm_up(&m);
	for (unsigned i = 0; i < 400; i++) {
		step(&m);
		if (i >= 64)
			check_between(&past[dice(64)], &m);
		past[i % 64] = m;
	}
	check_between(&m, &m);
}

static void at_random(void **ctx)
{
	(void)ctx;
	for (unsigned seed = 1; seed <= 300; seed++)
		run(seed, 0);
}

static void at_random_with_half_steps(void **ctx)
{
	(void)ctx;
	for (unsigned seed = 1; seed <= 1500; seed++)
		run(seed, 250 * UNIT);
}

/* Whatever the words are, nothing is longer than it can be. */
static void garbage(void **ctx)
{
	struct ut_rec_state from, to;

	(void)ctx;
	srandom(7);
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t *word[] = { &from.none_runs, &from.program, &from.collector, &from.waiting, &from.held,
				     &to.none_runs,   &to.program,   &to.collector,   &to.waiting,   &to.held };
		uint64_t at = BASE + dice(1u << 30), span = dice(1u << (i % 31));
		struct stall s;

		for (unsigned w = 0; w < ARRAY_SIZE(word); w++)
			*word[w] = (dice(UINT64_MAX) ^ dice(UINT64_MAX) << 33) >> dice(64);
		from.known = to.known = 1;
		s = stall_between(&from, at, &to, at + span, BASE);
		assert_true(s.stopped_ns <= span && s.held_ns <= span && s.stopped_ns + s.held_ns <= span);
		assert_true(s.program_ns <= (span + UNIT) * 8192 && s.waited_ns <= (span + UNIT) * 16384);
	}
}

UNIT_TESTS(stall)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(sums_that_wrap),
		cmocka_unit_test(zeros),
		cmocka_unit_test(ambiguous_alone),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(held_is_not_stopped),
		cmocka_unit_test(at_random),
		cmocka_unit_test(at_random_with_half_steps),
		cmocka_unit_test(garbage),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For sched.bpf.c alone: what the generated programs of spans' begins and ends call. Who begins a stop collects from then
 * on. These programs can be preempted, and may sleep, between any two instructions; they stay on their CPU.
 */
#ifndef UT_BPF_SPAN_H
#define UT_BPF_SPAN_H

#include "bpf/sched.h"
#include "bpf/state.h"

/* A process that nobody told us of is measured from here on. A function of its own: so is its stack. */
static __noinline struct ut_process_state *span_new_process(uint32_t process, uint64_t now)
{
	const struct ut_process_state new = {
		.none_runs = -now, .held = -now, .epoch = 1, .since = now >> UT_WORD_COUNT_BITS
	};

	bpf_map_update_elem(&ut_processes, &process, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ut_processes, &process);
}

static __noinline struct ut_thread_state *span_new_thread(uint32_t tid, uint32_t process)
{
	return state_new_thread((struct ids){ .tid = tid, .process = process }, UT_ROLE_PROGRAM);
}

/*
 * The current thread counts as @role from now on, and the counters follow. The exchange decides: a switch between it and
 * the counters subtracts what was not added yet, and the sums are right in the end. A thread that nobody saw begin to run
 * here takes the entry first, as one that counts as nothing.
 */
static __always_inline void span_change_role(struct ut_process_state *p, struct ids ids, uint64_t role, uint64_t now)
{
	struct ut_current_thread *here = state_current();
	uint64_t before;

	if (!here)
		return;
	before = READ_ONCE(here->both);
	if (!(before >> 32))
		__sync_val_compare_and_swap(&here->both, before, (uint64_t)ids.tid << 32 | ids.process);
	if (READ_ONCE(here->thread) != ids.tid)
		return;
	before = __sync_lock_test_and_set(&here->role, role);
	if (before == role)
		return;
	state_leave(p, before, now);
	state_enter(p, role, now);
}

/*
 * At a function's entry: if the thread is no deeper in its stack than where it began to collect, that function was left
 * by a jump or an exception, and its return will never be seen.
 */
static __always_inline void span_drop_left(struct ut_process_state *p, struct ut_thread_state *t, uint64_t stack,
					   uint64_t now)
{
	uint64_t collects = t->collects;

	if (!collects || t->collects_in != READ_ONCE(p->epoch) || !t->stack || stack < t->stack)
		return;
	t->collects = 0;
	state_end_stops(p, collects, now);
}

static __always_inline void span_begin_stop(struct ut_process_state *p, struct ut_thread_state *t, struct ids ids,
					    uint64_t stack, uint64_t now)
{
	uint64_t epoch;

	if (stack)
		span_drop_left(p, t, stack, now);
	if (!__sync_fetch_and_add(&p->open, 1))
		state_next_epoch(p, now);
	epoch = READ_ONCE(p->epoch);
	if (t->collects_in != epoch) {
		t->collects_in = epoch;
		t->collects = 0;
	}
	if (!t->collects)
		t->stack = stack;
	t->collects++;
	span_change_role(p, ids, UT_ROLE_COLLECTOR, now);
}

/* An end whose begin nobody saw changes nothing. */
static __always_inline void span_end_stop(struct ut_process_state *p, struct ut_thread_state *t, struct ids ids,
					  uint64_t now)
{
	if (t->collects_in == READ_ONCE(p->epoch) && t->collects && !--t->collects)
		span_change_role(p, ids, t->role, now);
	if (READ_ONCE(p->open)) /* another thread may have begun it */
		state_end_stops(p, 1, now);
}

/* @stack: the stack pointer at a function's entry, else 0. The process, whose counters go into the record; NULL: none. */
static __noinline struct ut_process_state *span_step(uint32_t step, uint64_t stack)
{
	struct ids ids = current_ids();
	uint64_t now = state_now(options.base_ns);
	struct ut_process_state *p = state_process(ids.process);
	struct ut_thread_state *t;

	if (!p)
		p = span_new_process(ids.process, now);
	if (!p || step == UT_SPAN_SEE)
		return p;
	t = bpf_map_lookup_elem(&ut_threads, &ids.tid);
	if (!t)
		t = span_new_thread(ids.tid, ids.process);
	if (!t)
		return p;
	if (step == UT_SPAN_STOP)
		span_begin_stop(p, t, ids, stack, now);
	else
		span_end_stop(p, t, ids, now);
	return p;
}

/* How the process stands, into the reserved record. */
static __noinline int span_copy(struct ut_rec_state *to, struct ut_process_state *p)
{
	uint64_t now;

	if (!to)
		return 0;
	*to = (struct ut_rec_state){ 0 };
	if (!p)
		return 0;
	to->none_runs = READ_ONCE(p->none_runs);
	to->program = READ_ONCE(p->program);
	to->collector = READ_ONCE(p->collector);
	to->waiting = READ_ONCE(p->waiting);
	to->held = READ_ONCE(p->held);
	to->open = (uint32_t)READ_ONCE(p->open);
	to->known = 1;
	if (p->since) {
		now = state_now(options.base_ns) >> UT_WORD_COUNT_BITS;
		if (now - p->since < SCHED_DOUBT_NS >> UT_WORD_UNIT_SHIFT)
			to->known = 2;
	}
	return 0;
}

#endif

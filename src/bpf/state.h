/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stopped time of a program, counted in the kernel: for each measured process the packed counters of wire/record.h,
 * which programs on the scheduler's events keep, and which the programs of spans' begins and ends copy into their records.
 *
 * Nothing here takes a lock. What a thread added when it began to run on a CPU is remembered in that CPU's
 * current-thread entry, and subtracted from there: a thread that was running before anybody looked is not counted until it
 * runs again. Programs on the scheduler's events are not preempted. Those of begins and ends are, and each access of theirs
 * to the entry says what a switch in the middle does.
 */
#ifndef UT_BPF_STATE_H
#define UT_BPF_STATE_H

#include "bpf/packed.h"
#include "bpf/task.h"
#include "wire/state.h"

#define TASK_STOPPED_OR_TRACED 12u /* __TASK_STOPPED and __TASK_TRACED */

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

/* All made by record/measure.c. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct ut_process_state);
	__uint(max_entries, 1);
} ut_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, uint32_t);
	__type(value, struct ut_thread_state);
	__uint(max_entries, 1);
} ut_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, uint32_t);
	__type(value, struct ut_current_thread);
	__uint(max_entries, 1);
} ut_current SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ut_thread_name);
	__type(value, uint32_t);
	__uint(max_entries, 1);
} ut_names SEC(".maps");

static __always_inline struct ut_process_state *state_process(uint32_t process)
{
	return process ? bpf_map_lookup_elem(&ut_processes, &process) : 0;
}

static __always_inline struct ut_current_thread *state_current(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&ut_current, &zero);
}

static __always_inline uint64_t state_now(uint64_t base_ns) { return packed_time(bpf_ktime_get_ns(), base_ns); }

/* A thread that counts as @role begins to run; ceases to. */
static __always_inline void state_enter(struct ut_process_state *p, uint64_t role, uint64_t now)
{
	if (role == UT_ROLE_PROGRAM) {
		packed_enter_any(&p->none_runs, now);
		packed_enter(&p->program, now);
	} else if (role == UT_ROLE_COLLECTOR) {
		packed_enter(&p->collector, now);
	}
}

static __always_inline void state_leave(struct ut_process_state *p, uint64_t role, uint64_t now)
{
	if (role == UT_ROLE_PROGRAM) {
		packed_leave_any(&p->none_runs, now);
		packed_leave(&p->program, now);
	} else if (role == UT_ROLE_COLLECTOR) {
		packed_leave(&p->collector, now);
	}
}

/*
 * The process leaves open = 0, or comes back to it: nobody waits, and what threads remember is of another epoch. The epoch
 * first: who stops waiting from then on, of the old one, subtracts nothing.
 */
static __always_inline void state_next_epoch(struct ut_process_state *p, uint64_t now)
{
	__sync_fetch_and_add(&p->epoch, 1);
	packed_clear(&p->waiting, now);
}

/* @n stops end; never more than are open. */
static __always_inline void state_end_stops(struct ut_process_state *p, uint64_t n, uint64_t now)
{
	int64_t open = (int64_t)__sync_fetch_and_add(&p->open, -n);

	if (open > (int64_t)n)
		return;
	if (open != (int64_t)n)
		WRITE_ONCE(p->open, 0); /* two threads ended the same one */
	state_next_epoch(p, now);
}

/* A thread that was not known, or whose number was another's; NULL when there is no room. */
static __always_inline struct ut_thread_state *state_new_thread(struct ids ids, uint32_t role)
{
	const struct ut_thread_state new = { .process = ids.process, .role = role };

	bpf_map_update_elem(&ut_threads, &ids.tid, &new, BPF_ANY);
	return bpf_map_lookup_elem(&ut_threads, &ids.tid);
}

static __always_inline uint32_t state_role_of_name(const struct ut_thread_name *name)
{
	const uint32_t *role = bpf_map_lookup_elem(&ut_names, name);

	return role ? *role : UT_ROLE_PROGRAM;
}

static __always_inline struct ut_thread_name state_name(uint32_t process)
{
	return (struct ut_thread_name){ .bits = 8 * (4 + UT_COMM), .process = process };
}

static __always_inline struct ut_thread_state *state_thread(const void *task, struct ids ids, int32_t comm_offset)
{
	struct ut_thread_state *t = bpf_map_lookup_elem(&ut_threads, &ids.tid);
	struct ut_thread_name name;

	if (t && t->process == ids.process)
		return t;
	name = state_name(ids.process);
	bpf_probe_read_kernel(name.comm, sizeof(name.comm), (const char *)task + comm_offset);
	return state_new_thread(ids, state_role_of_name(&name));
}

/* As what the thread counts now: it may be collecting. */
static __always_inline uint64_t state_role(const struct ut_process_state *p, const struct ut_thread_state *t)
{
	return t->collects && t->collects_in == READ_ONCE(p->epoch) ? UT_ROLE_COLLECTOR : t->role;
}

/* Off the CPU while the program is stopped: the thread waits, unless it does already. */
static __always_inline void state_begin_waiting(struct ut_process_state *p, struct ut_thread_state *t, uint64_t now)
{
	uint64_t epoch;

	if (!READ_ONCE(p->open))
		return;
	epoch = READ_ONCE(p->epoch);
	if (t->waits == epoch)
		return;
	t->waits = epoch;
	packed_enter(&p->waiting, now);
}

/* No signal and no debugger holds the thread any more. */
static __always_inline void state_let_go(struct ut_process_state *p, struct ut_thread_state *t, uint64_t now)
{
	if (!t->held)
		return;
	t->held = 0;
	packed_leave_any(&p->held, now);
}

/* The thread of the entry leaves its CPU in the state @left. */
static __always_inline void state_switch_out(struct ut_process_state *p, const struct ut_current_thread *here,
					     uint64_t left, uint64_t now)
{
	uint64_t role = READ_ONCE(here->role);
	uint32_t tid = here->thread;
	struct ut_thread_state *t;

	state_leave(p, role, now);
	t = bpf_map_lookup_elem(&ut_threads, &tid);
	if (!t)
		return;
	if (left & TASK_STOPPED_OR_TRACED && !t->held) {
		t->held = 1;
		packed_enter_any(&p->held, now);
	}
	if (!(left & TASK_DEAD) && role == UT_ROLE_PROGRAM)
		state_begin_waiting(p, t, now);
}

static __always_inline void state_switch_in(struct ut_process_state *p, struct ut_thread_state *t,
					    struct ut_current_thread *here, struct ids ids, uint64_t now)
{
	uint64_t role = state_role(p, t), waited;

	WRITE_ONCE(here->role, role);
	WRITE_ONCE(here->thread, ids.tid);
	WRITE_ONCE(here->process, ids.process);
	state_enter(p, role, now);
	state_let_go(p, t, now);
	waited = t->waits;
	if (!waited)
		return;
	t->waits = 0;
	if (waited == READ_ONCE(p->epoch)) /* else it waited for a stop that has ended: subtracted then */
		packed_leave_cleared(&p->waiting, now);
}

/* The clock is read for measured processes alone: it costs as much as all the rest. */
static __always_inline void state_switch(const void *next, uint64_t left, const volatile struct ut_kernel_offsets *at,
					 uint64_t base_ns)
{
	struct ut_current_thread *here = state_current();
	struct ut_process_state *p;
	struct ut_thread_state *t;
	struct ids ids;

	if (!here)
		return;
	if (here->thread) {
		p = state_process(here->process);
		if (p)
			state_switch_out(p, here, left, state_now(base_ns));
		WRITE_ONCE(here->role, UT_ROLE_SERVICE);
		WRITE_ONCE(here->thread, 0);
	}
	ids = ids_of(next, at);
	p = state_process(ids.process);
	t = p ? state_thread(next, ids, at->task_comm) : 0;
	if (t)
		state_switch_in(p, t, here, ids, state_now(base_ns));
}

/*
 * Who held the thread has let it go; it would run, but the program is stopped, or has to share the CPUs with the
 * collector.
 */
static __always_inline void state_wakeup(const void *task, const volatile struct ut_kernel_offsets *at,
					 uint64_t base_ns)
{
	struct ids ids = ids_of(task, at);
	struct ut_process_state *p = state_process(ids.process);
	struct ut_thread_state *t;
	uint64_t now;

	if (!p || (!READ_ONCE(p->open) && !PACKED_COUNT(READ_ONCE(p->held))))
		return;
	t = state_thread(task, ids, at->task_comm);
	if (!t)
		return;
	now = state_now(base_ns);
	state_let_go(p, t, now);
	if (state_role(p, t) == UT_ROLE_PROGRAM)
		state_begin_waiting(p, t, now);
}

/* The thread of the entry, which runs here, counts as @role from now on. */
static __always_inline void state_swap_role(struct ut_process_state *p, struct ut_current_thread *here, uint64_t role,
					    uint64_t now)
{
	state_leave(p, __sync_lock_test_and_set(&here->role, role), now);
	state_enter(p, role, now);
}

/* Threads are given their names soon after they begin to run. */
static __always_inline void state_rename(const void *task, const char *comm,
					 const volatile struct ut_kernel_offsets *at, uint64_t base_ns)
{
	struct ids ids = ids_of(task, at);
	struct ut_process_state *p = state_process(ids.process);
	struct ut_thread_state *t = p ? bpf_map_lookup_elem(&ut_threads, &ids.tid) : 0;
	struct ut_thread_name name = state_name(ids.process);
	struct ut_current_thread *here;

	if (!t)
		return; /* it has not run yet: its name is read when it does */
	bpf_probe_read_kernel_str(name.comm, sizeof(name.comm), comm);
	t->role = state_role_of_name(&name);
	here = state_current();
	if (here && here->thread == ids.tid)
		state_swap_role(p, here, state_role(p, t), state_now(base_ns));
}

/*
 * At an exec the only thread that is left has the process's number now, whoever it was before (@old), and ends none of the
 * stops that were open.
 */
static __always_inline void state_exec(const void *task, uint32_t old, const volatile struct ut_kernel_offsets *at,
				       uint64_t base_ns)
{
	struct ids ids = ids_of(task, at);
	struct ut_process_state *p = state_process(ids.process);
	struct ut_current_thread *here;
	struct ut_thread_state *t;
	uint64_t now;

	if (!p)
		return;
	now = state_now(base_ns);
	WRITE_ONCE(p->open, 0);
	state_next_epoch(p, now);
	bpf_map_delete_elem(&ut_threads, &old);
	bpf_map_delete_elem(&ut_threads, &ids.process);
	here = state_current();
	if (!here || here->thread != old)
		return;
	WRITE_ONCE(here->thread, ids.tid);
	t = state_thread(task, ids, at->task_comm);
	if (t)
		state_swap_role(p, here, state_role(p, t), now);
}

/* What stops the thread has begun, it will not end. */
static __always_inline void state_exit(struct ids ids, uint64_t base_ns)
{
	struct ut_process_state *p = state_process(ids.process);
	struct ut_thread_state *t = p ? bpf_map_lookup_elem(&ut_threads, &ids.tid) : 0;
	uint64_t collects;

	if (!t || t->collects_in != READ_ONCE(p->epoch) || !t->collects)
		return;
	collects = t->collects;
	t->collects = 0;
	state_end_stops(p, collects, state_now(base_ns));
}

#endif

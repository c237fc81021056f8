/* SPDX-License-Identifier: MIT */
/* Who runs, who waits, who collects: the programs on the scheduler's events. */
#include "gen/gen_state.h"

#include <errno.h>
#include <string.h>

#include "gen/gen_state_priv.h"

void state_now(struct asm_buf *a, uint64_t base_ns)
{
	asm_call(a, BPF_FUNC_ktime_get_ns);
	asm_imm64(a, R1, base_ns);
	asm_alu(a, BPF_SUB, R0, R1);
	asm_alui(a, BPF_RSH, R0, UT_WORD_UNIT_SHIFT);
	asm_alui(a, BPF_LSH, R0, UT_WORD_COUNT_BITS);
	asm_store(a, 8, FP, ST_NOW, R0);
}

void state_enter(struct asm_buf *a, enum bpf_reg process, int word)
{
	asm_load(a, 8, R1, FP, ST_NOW);
	asm_movi(a, R2, 1);
	asm_alu(a, BPF_SUB, R2, R1);
	asm_xadd(a, process, word, R2);
}

void state_leave(struct asm_buf *a, enum bpf_reg process, int word)
{
	asm_load(a, 8, R1, FP, ST_NOW);
	asm_alui(a, BPF_ADD, R1, -1);
	asm_xadd(a, process, word, R1);
}

/* Two additions: who looks between them sees a sum that cannot be, and knows what is missing (model/stall.h). */
void state_enter_any(struct asm_buf *a, enum bpf_reg process, int word)
{
	unsigned not_first = asm_label(a);

	asm_movi(a, R1, 1);
	asm_fetch_add(a, process, word, R1);
	asm_alui(a, BPF_AND, R1, WORD_COUNT_MASK);
	asm_jcci(a, BPF_JNE, R1, 0, not_first);
	asm_load(a, 8, R1, FP, ST_NOW);
	asm_xadd(a, process, word, R1);
	asm_place(a, not_first);
}

void state_leave_any(struct asm_buf *a, enum bpf_reg process, int word)
{
	unsigned not_last = asm_label(a);

	asm_movi(a, R1, -1);
	asm_fetch_add(a, process, word, R1);
	asm_alui(a, BPF_AND, R1, WORD_COUNT_MASK);
	asm_jcci(a, BPF_JNE, R1, 1, not_last);
	asm_load(a, 8, R2, FP, ST_NOW);
	asm_movi(a, R1, 0);
	asm_alu(a, BPF_SUB, R1, R2);
	asm_xadd(a, process, word, R1);
	asm_place(a, not_last);
}

void state_count_role(struct asm_buf *a, enum bpf_reg process, bool enter)
{
	unsigned not_program = asm_label(a), end = asm_label(a);

	asm_jcci(a, BPF_JNE, R1, GEN_ROLE_PROGRAM, not_program);
	(enter ? state_enter_any : state_leave_any)(a, process, PROCESS(none_runs));
	(enter ? state_enter : state_leave)(a, process, PROCESS(program));
	asm_jump(a, end);
	asm_place(a, not_program);
	asm_jcci(a, BPF_JNE, R1, GEN_ROLE_COLLECTOR, end);
	(enter ? state_enter : state_leave)(a, process, PROCESS(collector));
	asm_place(a, end);
}

/* The word's count at @process becomes R1 fewer, without the time of those. Clobbers R1, R2. */
static void forget_waiting(struct asm_buf *a, enum bpf_reg process)
{
	asm_load(a, 8, R2, FP, ST_NOW);
	asm_alui(a, BPF_ADD, R2, -1);
	asm_alu(a, BPF_MUL, R1, R2);
	asm_fetch_add(a, process, PROCESS(waiting), R1);
}

/*
 * Those who wait need not any more, or not yet: the word's count becomes 0. Who came or went between the look and the
 * addition is added, or taken away, after it.
 */
static void nobody_waits(struct asm_buf *a, enum bpf_reg process)
{
	unsigned end = asm_label(a);

	asm_load(a, 8, R3, process, PROCESS(waiting));
	asm_alui(a, BPF_AND, R3, WORD_COUNT_MASK);
	asm_mov(a, R1, R3);
	forget_waiting(a, process);
	asm_alui(a, BPF_AND, R1, WORD_COUNT_MASK);
	asm_alu(a, BPF_SUB, R1, R3);
	asm_jcci(a, BPF_JEQ, R1, 0, end);
	forget_waiting(a, process);
	asm_place(a, end);
}

/* The round first: who stops waiting from then on, of the old one, takes nothing back. */
void state_next_round(struct asm_buf *a, enum bpf_reg process)
{
	asm_movi(a, R1, 1);
	asm_xadd(a, process, PROCESS(round), R1);
	nobody_waits(a, process);
}

void state_take_stops(struct asm_buf *a, enum bpf_reg process)
{
	unsigned end = asm_label(a), exact = asm_label(a);

	asm_mov(a, R2, R1);
	asm_movi(a, R1, 0);
	asm_alu(a, BPF_SUB, R1, R2);
	asm_fetch_add(a, process, PROCESS(open), R1);
	asm_jcc(a, BPF_JSGT, R1, R2, end);
	asm_jcc(a, BPF_JEQ, R1, R2, exact);
	asm_storei(a, 8, process, PROCESS(open), 0); /* two threads ended the same one */
	asm_place(a, exact);
	state_next_round(a, process);
	asm_place(a, end);
}

void state_find(struct asm_buf *a, enum gen_map map, int key)
{
	asm_map(a, R1, map);
	asm_mov(a, R2, FP);
	asm_alui(a, BPF_ADD, R2, key);
	asm_call(a, BPF_FUNC_map_lookup_elem);
}

void state_slot(struct asm_buf *a)
{
	asm_storei(a, 8, FP, ST_KEY, 0);
	state_find(a, GEN_MAP_SLOTS, ST_KEY);
}

void state_new_thread(struct asm_buf *a)
{
	asm_store(a, 4, FP, ST_VALUE + THREAD(role), R1);
	asm_load(a, 4, R1, FP, ST_TGID);
	asm_store(a, 4, FP, ST_VALUE + THREAD(process), R1);
	for (int at = THREAD(waits); at < (int)sizeof(struct gen_thread); at += 8)
		asm_storei(a, 8, FP, ST_VALUE + at, 0);
	asm_map(a, R1, GEN_MAP_THREADS);
	asm_mov(a, R2, FP);
	asm_alui(a, BPF_ADD, R2, ST_TID);
	asm_mov(a, R3, FP);
	asm_alui(a, BPF_ADD, R3, ST_VALUE);
	asm_movi(a, R4, BPF_ANY);
	asm_call(a, BPF_FUNC_map_update_elem);
	state_find(a, GEN_MAP_THREADS, ST_TID);
}

/*
 * Registers of the programs below: R6 the context, R7 the thread, R8 the process, R9 the slot.
 */
struct state {
	struct asm_buf *a;
	const struct gen_state_options *o;
};

/* *(FP + @to) = 32 bits of the task whose address R3 is; R3 stays. */
static void read_task(struct state *s, int to, int member, int32_t size)
{
	asm_store(s->a, 8, FP, ST_KEY, R3);
	asm_alui(s->a, BPF_ADD, R3, member);
	asm_mov(s->a, R1, FP);
	asm_alui(s->a, BPF_ADD, R1, to);
	asm_movi(s->a, R2, size);
	asm_call(s->a, BPF_FUNC_probe_read_kernel);
	asm_load(s->a, 8, R3, FP, ST_KEY);
}

/* ST_TGID and R8 of the task that is argument @arg; goes to @out unless its process is measured. */
static void find_process(struct state *s, int arg, unsigned out)
{
	asm_storei(s->a, 8, FP, ST_TGID, 0);
	asm_load(s->a, 8, R3, R6, 8 * arg);
	read_task(s, ST_TGID, s->o->task.tgid, 4);
	asm_load(s->a, 4, R1, FP, ST_TGID);
	asm_jcci(s->a, BPF_JEQ, R1, 0, out);
	state_find(s->a, GEN_MAP_PROCESSES, ST_TGID);
	asm_jcci(s->a, BPF_JEQ, R0, 0, out);
	asm_mov(s->a, R8, R0);
}

static void read_tid(struct state *s, int arg)
{
	asm_storei(s->a, 8, FP, ST_TID, 0);
	asm_load(s->a, 8, R3, R6, 8 * arg);
	read_task(s, ST_TID, s->o->task.pid, 4);
}

/* R1 = the role of the name in ST_NAME's comm. */
static void role_of_name(struct state *s)
{
	unsigned known = asm_label(s->a), end = asm_label(s->a);

	asm_storei(s->a, 4, FP, ST_NAME + (int)offsetof(struct gen_name, bits), 8 * (4 + GEN_COMM));
	asm_load(s->a, 4, R1, FP, ST_TGID);
	asm_store(s->a, 4, FP, ST_NAME + (int)offsetof(struct gen_name, process), R1);
	state_find(s->a, GEN_MAP_NAMES, ST_NAME);
	asm_movi(s->a, R1, GEN_ROLE_PROGRAM);
	asm_jcci(s->a, BPF_JNE, R0, 0, known);
	asm_jump(s->a, end);
	asm_place(s->a, known);
	asm_load(s->a, 4, R1, R0, 0);
	asm_place(s->a, end);
}

/* R7 = the thread of the task that is argument @arg; its tgid and pid are read. */
static void find_thread(struct state *s, int arg, unsigned out)
{
	unsigned found = asm_label(s->a), new = asm_label(s->a);

	state_find(s->a, GEN_MAP_THREADS, ST_TID);
	asm_jcci(s->a, BPF_JEQ, R0, 0, new);
	asm_load(s->a, 4, R1, R0, THREAD(process));
	asm_load(s->a, 4, R2, FP, ST_TGID);
	asm_jcc(s->a, BPF_JEQ, R1, R2, found); /* else the number was another's */
	asm_place(s->a, new);
	asm_load(s->a, 8, R3, R6, 8 * arg);
	read_task(s, ST_NAME + (int)offsetof(struct gen_name, comm), s->o->task.comm, GEN_COMM);
	role_of_name(s);
	state_new_thread(s->a);
	asm_jcci(s->a, BPF_JEQ, R0, 0, out);
	asm_place(s->a, found);
	asm_mov(s->a, R7, R0);
}

/* R1 = what the thread at R7 counts as now: it may be collecting. */
static void role_now(struct state *s)
{
	unsigned end = asm_label(s->a);

	asm_load(s->a, 4, R1, R7, THREAD(role));
	asm_load(s->a, 8, R2, R7, THREAD(collects));
	asm_jcci(s->a, BPF_JEQ, R2, 0, end);
	asm_load(s->a, 8, R2, R7, THREAD(collects_in));
	asm_load(s->a, 8, R3, R8, PROCESS(round));
	asm_jcc(s->a, BPF_JNE, R2, R3, end);
	asm_movi(s->a, R1, GEN_ROLE_COLLECTOR);
	asm_place(s->a, end);
}

static void count_role(struct state *s, bool enter) { state_count_role(s->a, R8, enter); }

#define TASK_HELD 12 /* __TASK_STOPPED and __TASK_TRACED of linux/sched.h */
#define TASK_ENDED 128 /* its TASK_DEAD */

/* Off the processor while the program is stopped: it waits. Goes to @out when it does not, or waits already. */
static void begin_to_wait(struct state *s, unsigned out)
{
	asm_load(s->a, 8, R1, R8, PROCESS(open));
	asm_jcci(s->a, BPF_JEQ, R1, 0, out);
	asm_load(s->a, 8, R1, R8, PROCESS(round));
	asm_load(s->a, 8, R2, R7, THREAD(waits));
	asm_jcc(s->a, BPF_JEQ, R1, R2, out);
	asm_store(s->a, 8, R7, THREAD(waits), R1);
	state_enter(s->a, R8, PROCESS(waiting));
}

/* The thread in the slot leaves this processor. R8 and R9 are set. */
static void switch_out(struct state *s)
{
	unsigned end = asm_label(s->a), not_held = asm_label(s->a);

	asm_load(s->a, 8, R1, R9, SLOT(role));
	count_role(s, false);
	asm_load(s->a, 4, R1, R9, SLOT(thread));
	asm_store(s->a, 8, FP, ST_TID, R1);
	state_find(s->a, GEN_MAP_THREADS, ST_TID);
	asm_jcci(s->a, BPF_JEQ, R0, 0, end);
	asm_mov(s->a, R7, R0);
	asm_load(s->a, 8, R1, R6, 8 * 3); /* the state it leaves in: the event has it since Linux 5.18 */
	asm_alui(s->a, BPF_AND, R1, TASK_HELD);
	asm_jcci(s->a, BPF_JEQ, R1, 0, not_held);
	asm_load(s->a, 8, R1, R7, THREAD(held));
	asm_jcci(s->a, BPF_JNE, R1, 0, not_held);
	asm_storei(s->a, 8, R7, THREAD(held), 1);
	state_enter_any(s->a, R8, PROCESS(held));
	asm_place(s->a, not_held);
	asm_load(s->a, 8, R1, R6, 8 * 3);
	asm_alui(s->a, BPF_AND, R1, TASK_ENDED);
	asm_jcci(s->a, BPF_JNE, R1, 0, end); /* it will never run again */
	asm_load(s->a, 8, R1, R9, SLOT(role));
	asm_jcci(s->a, BPF_JNE, R1, GEN_ROLE_PROGRAM, end);
	begin_to_wait(s, end);
	asm_place(s->a, end);
}

/* No signal and no debugger holds the thread at R7 any more. */
static void let_go(struct state *s)
{
	unsigned not_held = asm_label(s->a);

	asm_load(s->a, 8, R1, R7, THREAD(held));
	asm_jcci(s->a, BPF_JEQ, R1, 0, not_held);
	asm_storei(s->a, 8, R7, THREAD(held), 0);
	state_leave_any(s->a, R8, PROCESS(held));
	asm_place(s->a, not_held);
}

/* R7 comes to this processor as R1. */
static void switch_in(struct state *s)
{
	unsigned end = asm_label(s->a);

	asm_store(s->a, 8, R9, SLOT(role), R1);
	asm_load(s->a, 4, R2, FP, ST_TID);
	asm_store(s->a, 4, R9, SLOT(thread), R2);
	asm_load(s->a, 4, R2, FP, ST_TGID);
	asm_store(s->a, 4, R9, SLOT(process), R2);
	count_role(s, true);
	let_go(s);
	asm_load(s->a, 8, R1, R7, THREAD(waits));
	asm_jcci(s->a, BPF_JEQ, R1, 0, end);
	asm_storei(s->a, 8, R7, THREAD(waits), 0);
	asm_load(s->a, 8, R2, R8, PROCESS(round));
	asm_jcc(s->a, BPF_JNE, R1, R2, end); /* it waited for a stop that has ended: taken back then */
	asm_load(s->a, 8, R1, FP, ST_NOW);
	asm_alui(s->a, BPF_ADD, R1, -1);
	asm_fetch_add(s->a, R8, PROCESS(waiting), R1);
	asm_alui(s->a, BPF_AND, R1, WORD_COUNT_MASK);
	asm_jcci(s->a, BPF_JNE, R1, 0, end);
	state_enter(s->a, R8, PROCESS(waiting)); /* the round has changed since, and all were taken back */
	asm_place(s->a, end);
}

static int finish(struct asm_buf *a, unsigned out)
{
	asm_place(a, out);
	asm_movi(a, R0, 0);
	asm_exit(a);
	return asm_finish(a);
}

/* sched_switch(preempt, prev, next, prev_state) */
int gen_state_switch(const struct gen_state_options *o, struct asm_buf *ret)
{
	struct state s = { ret, o };
	unsigned out = asm_label(ret), next = asm_label(ret), clear = asm_label(ret);

	asm_mov(ret, R6, R1);
	state_slot(ret);
	asm_jcci(ret, BPF_JEQ, R0, 0, out);
	asm_mov(ret, R9, R0);
	asm_load(ret, 4, R1, R9, SLOT(thread));
	asm_jcci(ret, BPF_JEQ, R1, 0, next);
	asm_load(ret, 4, R1, R9, SLOT(process));
	asm_store(ret, 8, FP, ST_TGID, R1);
	state_find(ret, GEN_MAP_PROCESSES, ST_TGID);
	asm_jcci(ret, BPF_JEQ, R0, 0, clear);
	asm_mov(ret, R8, R0);
	state_now(ret,
		  o->base_ns); /* the clock is read for those alone whom it is for: it costs as much as all the rest */
	switch_out(&s);
	asm_place(ret, clear);
	asm_storei(ret, 4, R9, SLOT(thread), 0);
	asm_place(ret, next);
	find_process(&s, 2, out);
	read_tid(&s, 2);
	find_thread(&s, 2, out);
	state_now(ret, o->base_ns);
	role_now(&s);
	switch_in(&s);
	return finish(ret, out);
}

/*
 * sched_wakeup(task): who held it has let it go; it would run, but the program is stopped, or has to share the
 * processors with the collector.
 */
int gen_state_wakeup(const struct gen_state_options *o, struct asm_buf *ret)
{
	struct state s = { ret, o };
	unsigned out = asm_label(ret), some = asm_label(ret);

	asm_mov(ret, R6, R1);
	find_process(&s, 0, out);
	asm_load(ret, 8, R1, R8, PROCESS(open));
	asm_jcci(ret, BPF_JNE, R1, 0, some);
	asm_load(ret, 8, R1, R8, PROCESS(held));
	asm_alui(ret, BPF_AND, R1, WORD_COUNT_MASK);
	asm_jcci(ret, BPF_JEQ, R1, 0, out);
	asm_place(ret, some);
	read_tid(&s, 0);
	find_thread(&s, 0, out);
	state_now(ret, o->base_ns);
	let_go(&s);
	role_now(&s);
	asm_jcci(ret, BPF_JNE, R1, GEN_ROLE_PROGRAM, out);
	begin_to_wait(&s, out);
	return finish(ret, out);
}

/* The thread at R9, which runs here, counts as R1 from now on. */
static void swap_role(struct state *s)
{
	asm_store(s->a, 8, FP, ST_KEY, R1);
	asm_xchg(s->a, R9, SLOT(role), R1);
	count_role(s, false);
	asm_load(s->a, 8, R1, FP, ST_KEY);
	count_role(s, true);
}

/* task_rename(task, comm): threads are given their names soon after they begin to run. */
int gen_state_rename(const struct gen_state_options *o, struct asm_buf *ret)
{
	struct state s = { ret, o };
	const int comm = ST_NAME + (int)offsetof(struct gen_name, comm);
	unsigned out = asm_label(ret);

	asm_mov(ret, R6, R1);
	find_process(&s, 0, out);
	read_tid(&s, 0);
	state_find(ret, GEN_MAP_THREADS, ST_TID);
	asm_jcci(ret, BPF_JEQ, R0, 0, out); /* it has not run yet: its name is read when it does */
	asm_mov(ret, R7, R0);
	asm_storei(ret, 8, FP, comm, 0);
	asm_storei(ret, 8, FP, comm + 8, 0);
	asm_mov(ret, R1, FP);
	asm_alui(ret, BPF_ADD, R1, comm);
	asm_movi(ret, R2, GEN_COMM);
	asm_load(ret, 8, R3, R6, 8);
	asm_call(ret, BPF_FUNC_probe_read_kernel_str);
	role_of_name(&s);
	asm_store(ret, 4, R7, THREAD(role), R1);
	state_slot(ret);
	asm_jcci(ret, BPF_JEQ, R0, 0, out);
	asm_mov(ret, R9, R0);
	asm_load(ret, 4, R1, R9, SLOT(thread));
	asm_load(ret, 4, R2, FP, ST_TID);
	asm_jcc(ret, BPF_JNE, R1, R2, out);
	state_now(ret, o->base_ns);
	role_now(&s);
	swap_role(&s);
	return finish(ret, out);
}

static void delete_thread(struct state *s, int key)
{
	asm_map(s->a, R1, GEN_MAP_THREADS);
	asm_mov(s->a, R2, FP);
	asm_alui(s->a, BPF_ADD, R2, key);
	asm_call(s->a, BPF_FUNC_map_delete_elem);
}

/*
 * sched_process_exec(task, old_pid, bprm): the only thread that is left has the process's number now, whoever it was
 * before, and ends none of the stops that were open.
 */
int gen_state_exec(const struct gen_state_options *o, struct asm_buf *ret)
{
	struct state s = { ret, o };
	unsigned out = asm_label(ret);

	asm_mov(ret, R6, R1);
	find_process(&s, 0, out);
	state_now(ret, o->base_ns);
	asm_storei(ret, 8, R8, PROCESS(open), 0);
	state_next_round(ret, R8);
	asm_load(ret, 8, R1, R6, 8);
	asm_store(ret, 8, FP, ST_TID, R1);
	delete_thread(&s, ST_TID);
	delete_thread(&s, ST_TGID);
	state_slot(ret);
	asm_jcci(ret, BPF_JEQ, R0, 0, out);
	asm_mov(ret, R9, R0);
	asm_load(ret, 4, R1, R9, SLOT(thread));
	asm_load(ret, 4, R2, FP, ST_TID);
	asm_jcc(ret, BPF_JNE, R1, R2, out);
	read_tid(&s, 0);
	asm_load(ret, 4, R1, FP, ST_TID);
	asm_store(ret, 4, R9, SLOT(thread), R1);
	find_thread(&s, 0, out);
	role_now(&s);
	swap_role(&s);
	return finish(ret, out);
}

/* sched_process_exit(task): what stops it has begun, it will not end. */
int gen_state_exit(const struct gen_state_options *o, struct asm_buf *ret)
{
	struct state s = { ret, o };
	unsigned out = asm_label(ret);

	asm_mov(ret, R6, R1);
	find_process(&s, 0, out);
	read_tid(&s, 0);
	state_find(ret, GEN_MAP_THREADS, ST_TID);
	asm_jcci(ret, BPF_JEQ, R0, 0, out);
	asm_load(ret, 8, R1, R0, THREAD(collects_in));
	asm_load(ret, 8, R2, R8, PROCESS(round));
	asm_jcc(ret, BPF_JNE, R1, R2, out);
	asm_load(ret, 8, R1, R0, THREAD(collects));
	asm_jcci(ret, BPF_JEQ, R1, 0, out);
	asm_storei(ret, 8, R0, THREAD(collects), 0);
	asm_store(ret, 8, FP, ST_KEY, R1);
	state_now(ret, o->base_ns);
	asm_load(ret, 8, R1, FP, ST_KEY);
	state_take_stops(ret, R8);
	return finish(ret, out);
}

/* sched_process_free(task): the thread is gone for good, and its number may be another's. */
int gen_state_free(const struct gen_state_options *o, struct asm_buf *ret)
{
	struct state s = { ret, o };
	unsigned out = asm_label(ret);

	asm_mov(ret, R6, R1);
	read_tid(&s, 0);
	delete_thread(&s, ST_TID);
	return finish(ret, out);
}

struct gen_process gen_process_new(uint64_t base_ns, uint64_t now_ns, bool fresh)
{
	uint64_t now = (now_ns - base_ns) >> UT_WORD_UNIT_SHIFT;
	uint64_t nobody = -(now << UT_WORD_COUNT_BITS); /* since now */

	return (struct gen_process){ .none_runs = nobody, .held = nobody, .round = 1, .since = fresh ? now : 0 };
}

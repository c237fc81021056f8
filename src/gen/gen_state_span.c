/* SPDX-License-Identifier: MIT */
/* The begin or end of a span: who announces a stop collects from then on, and the process's words go into the record. */
#include <stddef.h>

#include "gen/gen_priv.h"
#include "gen/gen_state_priv.h"
#include "wire/record.h"

#define STATE(member) ((int)offsetof(struct ut_rec_state, member))

/* R7 = the process, and in ST_PROCESS; one that nobody told us of is measured from here on. Goes to @none without one. */
static void find_process(struct gen *g, unsigned none)
{
	struct asm_buf *a = g->a;
	unsigned found = asm_label(a);

	state_find(a, GEN_MAP_PROCESSES, ST_TGID);
	asm_jcci(a, BPF_JNE, R0, 0, found);
	for (int at = 0; at < (int)sizeof(struct gen_process); at += 8)
		asm_storei(a, 8, FP, ST_VALUE + at, 0);
	asm_storei(a, 8, FP, ST_VALUE + PROCESS(round), 1);
	asm_load(a, 8, R1, FP, ST_NOW);
	asm_movi(a, R2, 0);
	asm_alu(a, BPF_SUB, R2, R1);
	asm_store(a, 8, FP, ST_VALUE + PROCESS(none_runs), R2);
	asm_store(a, 8, FP, ST_VALUE + PROCESS(held), R2);
	asm_alui(a, BPF_RSH, R1, UT_WORD_COUNT_BITS);
	asm_store(a, 8, FP, ST_VALUE + PROCESS(since), R1);
	asm_map(a, R1, GEN_MAP_PROCESSES);
	asm_mov(a, R2, FP);
	asm_alui(a, BPF_ADD, R2, ST_TGID);
	asm_mov(a, R3, FP);
	asm_alui(a, BPF_ADD, R3, ST_VALUE);
	asm_movi(a, R4, BPF_NOEXIST);
	asm_call(a, BPF_FUNC_map_update_elem);
	state_find(a, GEN_MAP_PROCESSES, ST_TGID);
	asm_jcci(a, BPF_JEQ, R0, 0, none);
	asm_place(a, found);
	asm_mov(a, R7, R0);
	asm_store(a, 8, FP, ST_PROCESS, R7);
}

/* ST_THREAD and ST_SLOT; goes to @none without them. */
static void find_thread(struct gen *g, unsigned none)
{
	struct asm_buf *a = g->a;
	unsigned found = asm_label(a);

	state_find(a, GEN_MAP_THREADS, ST_TID);
	asm_jcci(a, BPF_JNE, R0, 0, found);
	asm_movi(a, R1, GEN_ROLE_PROGRAM);
	state_new_thread(a);
	asm_jcci(a, BPF_JEQ, R0, 0, none);
	asm_place(a, found);
	asm_store(a, 8, FP, ST_THREAD, R0);
	state_slot(a);
	asm_jcci(a, BPF_JEQ, R0, 0, none);
	asm_store(a, 8, FP, ST_SLOT, R0);
}

/*
 * The slot's role becomes R1, and the words follow. The exchange decides: a switch between it and the words takes back
 * what was not added yet, and the sums are right in the end.
 */
static void change_role(struct gen *g)
{
	struct asm_buf *a = g->a;
	unsigned end = asm_label(a), ours = asm_label(a), enter = asm_label(a);

	asm_store(a, 8, FP, ST_KEY, R1);
	asm_load(a, 8, R3, FP, ST_SLOT);
	asm_load(a, 4, R1, R3, SLOT(thread));
	asm_load(a, 4, R2, FP, ST_TID);
	asm_jcc(a, BPF_JEQ, R1, R2, ours);
	asm_jcci(a, BPF_JNE, R1, 0, end);
	/* nobody saw it begin to run here: it is counted from now on */
	asm_store(a, 4, R3, SLOT(thread), R2);
	asm_load(a, 4, R2, FP, ST_TGID);
	asm_store(a, 4, R3, SLOT(process), R2);
	asm_load(a, 8, R1, FP, ST_KEY);
	asm_store(a, 8, R3, SLOT(role), R1);
	asm_jump(a, enter);
	asm_place(a, ours);
	asm_load(a, 8, R1, FP, ST_KEY);
	asm_xchg(a, R3, SLOT(role), R1);
	asm_load(a, 8, R2, FP, ST_KEY);
	asm_jcc(a, BPF_JEQ, R1, R2, end);
	state_count_role(a, R7, false);
	asm_place(a, enter);
	asm_load(a, 8, R1, FP, ST_KEY);
	state_count_role(a, R7, true);
	asm_place(a, end);
}

/*
 * At a function's entry: if the thread is no deeper in its stack than where it began to collect, that function was left
 * by a jump or an exception, and its return will never be seen.
 */
static void drop_left_stops(struct gen *g)
{
	struct asm_buf *a = g->a;
	unsigned end = asm_label(a);

	if (g->checked->spec->kind != PROBE_ENTRY || g->checked->spec->has_offset)
		return;
	asm_load(a, 8, R3, FP, ST_THREAD);
	asm_load(a, 8, R1, R3, THREAD(collects));
	asm_jcci(a, BPF_JEQ, R1, 0, end);
	asm_load(a, 8, R2, R3, THREAD(collects_in));
	asm_load(a, 8, R4, R7, PROCESS(round));
	asm_jcc(a, BPF_JNE, R2, R4, end);
	asm_load(a, 8, R2, R3, THREAD(stack));
	asm_jcci(a, BPF_JEQ, R2, 0, end);
	asm_load(a, 8, R4, R6, gen_pt_regs(X86_RSP));
	asm_jcc(a, BPF_JLT, R4, R2, end);
	asm_storei(a, 8, R3, THREAD(collects), 0);
	state_take_stops(a, R7);
	asm_place(a, end);
}

/* Where the first of the thread's stops was begun; 0 when that says nothing. R3 is the thread. */
static void note_stack(struct gen *g)
{
	if (g->checked->spec->kind != PROBE_ENTRY || g->checked->spec->has_offset) {
		asm_storei(g->a, 8, R3, THREAD(stack), 0);
		return;
	}
	asm_load(g->a, 8, R2, R6, gen_pt_regs(X86_RSP));
	asm_store(g->a, 8, R3, THREAD(stack), R2);
}

static void begin_stop(struct gen *g)
{
	struct asm_buf *a = g->a;
	unsigned not_first = asm_label(a), same = asm_label(a), deeper = asm_label(a);

	drop_left_stops(g);
	asm_movi(a, R1, 1);
	asm_fetch_add(a, R7, PROCESS(open), R1);
	asm_jcci(a, BPF_JNE, R1, 0, not_first);
	state_next_round(a, R7);
	asm_place(a, not_first);
	asm_load(a, 8, R3, FP, ST_THREAD);
	asm_load(a, 8, R1, R7, PROCESS(round));
	asm_load(a, 8, R2, R3, THREAD(collects_in));
	asm_jcc(a, BPF_JEQ, R1, R2, same);
	asm_store(a, 8, R3, THREAD(collects_in), R1);
	asm_storei(a, 8, R3, THREAD(collects), 0);
	asm_place(a, same);
	asm_load(a, 8, R2, R3, THREAD(collects));
	asm_jcci(a, BPF_JNE, R2, 0, deeper);
	note_stack(g);
	asm_load(a, 8, R2, R3, THREAD(collects));
	asm_place(a, deeper);
	asm_alui(a, BPF_ADD, R2, 1);
	asm_store(a, 8, R3, THREAD(collects), R2);
	asm_movi(a, R1, GEN_ROLE_COLLECTOR);
	change_role(g);
}

/* An end whose begin nobody saw changes nothing. */
static void end_stop(struct gen *g)
{
	struct asm_buf *a = g->a;
	unsigned not_here = asm_label(a), end = asm_label(a);

	asm_load(a, 8, R3, FP, ST_THREAD);
	asm_load(a, 8, R1, R7, PROCESS(round));
	asm_load(a, 8, R2, R3, THREAD(collects_in));
	asm_jcc(a, BPF_JNE, R1, R2, not_here);
	asm_load(a, 8, R2, R3, THREAD(collects));
	asm_jcci(a, BPF_JEQ, R2, 0, not_here);
	asm_alui(a, BPF_ADD, R2, -1);
	asm_store(a, 8, R3, THREAD(collects), R2);
	asm_jcci(a, BPF_JNE, R2, 0, not_here);
	asm_load(a, 4, R1, R3, THREAD(role));
	change_role(g);
	asm_place(a, not_here); /* another thread may have begun it */
	asm_load(a, 8, R1, R7, PROCESS(open));
	asm_jcci(a, BPF_JEQ, R1, 0, end);
	asm_movi(a, R1, 1);
	state_take_stops(a, R7);
	asm_place(a, end);
}

void gen_state(struct gen *g)
{
	struct asm_buf *a = g->a;
	unsigned none = asm_label(a);

	if (g->checked->spec->state == STATE_NONE)
		return;
	asm_storei(a, 8, FP, ST_PROCESS, 0);
	asm_call(a, BPF_FUNC_get_current_pid_tgid);
	asm_mov32(a, R1, R0);
	asm_store(a, 8, FP, ST_TID, R1);
	asm_alui(a, BPF_RSH, R0, 32);
	asm_store(a, 8, FP, ST_TGID, R0);
	state_now(a, g->options->state_base_ns);
	find_process(g, none);
	if (g->checked->spec->state != STATE_SEE) {
		find_thread(g, none);
		(g->checked->spec->state == STATE_STOP ? begin_stop : end_stop)(g);
	}
	asm_place(a, none);
}

/* R2 = whether what the words say of the process at R1 is to be believed. */
static void gen_known(struct asm_buf *a)
{
	unsigned end = asm_label(a);

	asm_movi(a, R2, 1);
	asm_load(a, 8, R3, R1, PROCESS(since));
	asm_jcci(a, BPF_JEQ, R3, 0, end);
	asm_load(a, 8, R4, FP, ST_NOW);
	asm_alui(a, BPF_RSH, R4, UT_WORD_COUNT_BITS);
	asm_alu(a, BPF_SUB, R4, R3);
	asm_jcci(a, BPF_JGE, R4, GEN_STATE_DOUBT_NS >> UT_WORD_UNIT_SHIFT, end);
	asm_movi(a, R2, 2);
	asm_place(a, end);
}

void gen_state_copy(struct gen *g, const struct layout *layout)
{
	static const struct {
		int from, to;
	} words[] = {
		{ PROCESS(none_runs), STATE(none_runs) }, { PROCESS(program), STATE(program) },
		{ PROCESS(collector), STATE(collector) }, { PROCESS(waiting), STATE(waiting) },
		{ PROCESS(held), STATE(held) },
	};
	struct asm_buf *a = g->a;
	unsigned none = asm_label(a);
	int to = (int)layout->state;

	if (!layout->state)
		return;
	asm_storei(a, 4, R7, to + STATE(known), 0);
	asm_storei(a, 4, R7, to + STATE(open), 0);
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		asm_storei(a, 8, R7, to + words[i].to, 0);
	asm_load(a, 8, R1, FP, ST_PROCESS);
	asm_jcci(a, BPF_JEQ, R1, 0, none);
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		asm_load(a, 8, R2, R1, words[i].from);
		asm_store(a, 8, R7, to + words[i].to, R2);
	}
	asm_load(a, 8, R2, R1, PROCESS(open));
	asm_store(a, 4, R7, to + STATE(open), R2);
	gen_known(a);
	asm_store(a, 4, R7, to + STATE(known), R2);
	asm_place(a, none);
}

/* SPDX-License-Identifier: MIT */
/* Calls and their returns: what an entry stores, how a return finds it, and which calls have ended without one. */
#include <stddef.h>

#include "base/auto.h"
#include "gen/gen_priv.h"
#include "wire/call.h"

/* On the stack in the place of the values, which are written later. */
enum call_stack {
	SP_CALL_KEY = SP_VALUES, /* struct ut_call_key */
	SP_THREAD_KEY = SP_CALL_KEY + 24, /* the same */
	SP_CALL = SP_THREAD_KEY + 24, /* struct ut_call */
	SP_THREAD = SP_CALL + 24, /* the same */
	SP_BOUNDS = SP_THREAD + 24, /* lowest and highest address of a goroutine's stack */
	SP_OWN = SP_BOUNDS, /* then: the stack pointer in SP_CALL_KEY, while another is there */
};

#define KEY(member) ((int)offsetof(struct ut_call_key, member))
#define CALL(member) ((int)offsetof(struct ut_call, member))

/* Calls that one event finds ended at most; the rest is found by the next events. */
#define ENDED_MAX 64

static void call_map_helper(struct gen *g, int key, int helper)
{
	asm_map(g->a, R1, GEN_MAP_STARTS);
	asm_mov(g->a, R2, FP);
	asm_alui(g->a, BPF_ADD, R2, key);
	asm_call(g->a, helper);
}

static void store_call(struct gen *g, int key, int value)
{
	asm_mov(g->a, R3, FP);
	asm_alui(g->a, BPF_ADD, R3, value);
	asm_movi(g->a, R4, BPF_ANY);
	call_map_helper(g, key, BPF_FUNC_map_update_elem);
}

static void count(struct gen *g, size_t counter, int32_t by)
{
	asm_map_value(g->a, R1, GEN_MAP_CALLS);
	asm_movi(g->a, R2, by);
	asm_xadd(g->a, R1, (int)counter, R2);
}

static void count_left(struct gen *g, int32_t by) { count(g, offsetof(struct ut_call_counts, left), by); }

/* --- with the kernel's return trampoline -------------------------------------------------------------------------- */

/*
 * The key of a call: the process, the low half of the function's address, and the stack pointer at its entry. No two live
 * calls share it: a function that ends by jumping to another has the other's stack pointer. (Kernels before 6.6 give no
 * address.)
 */
static void trampoline_key(struct gen *g, int sp_minus)
{
	asm_mov(g->a, R1, R6);
	asm_call(g->a, BPF_FUNC_get_func_ip);
	asm_store(g->a, 4, FP, SP_CALL_KEY + KEY(probe), R0);
	asm_call(g->a, BPF_FUNC_get_current_pid_tgid);
	asm_alui(g->a, BPF_RSH, R0, 32);
	asm_store(g->a, 4, FP, SP_CALL_KEY + KEY(tgid), R0);
	asm_storei(g->a, 8, FP, SP_CALL_KEY + KEY(stack), 0);
	asm_load(g->a, 8, R1, R6, gen_pt_regs(X86_RSP));
	if (sp_minus)
		asm_alui(g->a, BPF_SUB, R1, sp_minus);
	asm_store(g->a, 8, FP, SP_CALL_KEY + KEY(sp), R1);
}

static void trampoline_entry(struct gen *g)
{
	trampoline_key(g, 0);
	asm_call(g->a, BPF_FUNC_ktime_get_ns);
	asm_store(g->a, 8, FP, SP_CALL + CALL(begin_ns), R0);
	asm_storei(g->a, 8, FP, SP_CALL + CALL(outer), 0);
	asm_storei(g->a, 8, FP, SP_CALL + CALL(tid), 0);
	store_call(g, SP_CALL_KEY, SP_CALL);
}

/* SP_DURATION from the call's begin in R7. */
static void duration_since(struct gen *g)
{
	asm_call(g->a, BPF_FUNC_ktime_get_ns);
	asm_alu(g->a, BPF_SUB, R0, R7);
	asm_store(g->a, 8, FP, SP_DURATION, R0);
}

/* A call that began before the attachment has no entry. */
static void trampoline_return(struct gen *g, unsigned out)
{
	trampoline_key(g, 8); /* the return address is off the stack by now */
	call_map_helper(g, SP_CALL_KEY, BPF_FUNC_map_lookup_elem);
	asm_jcci(g->a, BPF_JEQ, R0, 0, out);
	asm_load(g->a, 8, R7, R0, CALL(begin_ns));
	duration_since(g);
	call_map_helper(g, SP_CALL_KEY, BPF_FUNC_map_delete_elem);
}

/* --- without it ----------------------------------------------------------------------------------------------------- */

/* R14 is the goroutine wherever Go's compiler calls and returns; its first members are the bounds of its stack. */
static void goroutine_key(struct gen *g, unsigned out)
{
	asm_load(g->a, 8, R3, R6, gen_pt_regs(X86_R14));
	asm_store(g->a, 8, FP, SP_CALL_KEY + KEY(stack), R3);
	asm_store(g->a, 8, FP, SP_THREAD_KEY + KEY(stack), R3);
	g->on_fault = out;
	asm_storei(g->a, 8, FP, SP_BOUNDS + 8, 0);
	gen_read_user(g, SP_BOUNDS, 16);
	asm_load(g->a, 8, R1, R6, gen_pt_regs(X86_RSP));
	asm_load(g->a, 8, R2, FP, SP_BOUNDS);
	asm_jcc(g->a, BPF_JLE, R1, R2, out); /* on another stack: R14 is something else */
	asm_load(g->a, 8, R2, FP, SP_BOUNDS + 8);
	asm_jcc(g->a, BPF_JGE, R1, R2, out);
	asm_alu(g->a, BPF_SUB, R1, R2); /* keeps the order of addresses, and is not 0 */
	asm_store(g->a, 8, FP, SP_CALL_KEY + KEY(sp), R1);
}

/* The keys of the call and of its thread or goroutine, and the thread into SP_CALL. */
static void call_keys(struct gen *g, unsigned out)
{
	asm_call(g->a, BPF_FUNC_get_current_pid_tgid);
	asm_mov32(g->a, R1, R0);
	asm_alui(g->a, BPF_RSH, R0, 32);
	asm_storei(g->a, 8, FP, SP_CALL + CALL(tid), 0);
	asm_store(g->a, 4, FP, SP_CALL + CALL(tid), R1);
	asm_storei(g->a, 4, FP, SP_CALL_KEY + KEY(probe), (int32_t)g->site->request);
	asm_storei(g->a, 4, FP, SP_THREAD_KEY + KEY(probe), (int32_t)g->site->request);
	asm_store(g->a, 4, FP, SP_CALL_KEY + KEY(tgid), R0);
	asm_store(g->a, 4, FP, SP_THREAD_KEY + KEY(tgid), R0);
	asm_storei(g->a, 8, FP, SP_THREAD_KEY + KEY(sp), 0);
	if (g->site->pairing == GEN_PAIR_GOROUTINE) {
		goroutine_key(g, out);
		return;
	}
	asm_storei(g->a, 8, FP, SP_CALL_KEY + KEY(stack), UT_CALL_ANY_STACK);
	asm_store(g->a, 8, FP, SP_THREAD_KEY + KEY(stack), R1);
	asm_load(g->a, 8, R1, R6, gen_pt_regs(X86_RSP));
	asm_store(g->a, 8, FP, SP_CALL_KEY + KEY(sp), R1);
}

/*
 * Counts the calls of this thread that must have ended, and takes them out of its chain: stacks grow downward, so a call
 * below this stack pointer is over (at an entry also one with the same). They stay in the map: where a thread changes
 * between stacks they may be alive, and their return finds them. The innermost call that is left: SP_THREAD.outer.
 */
static void drop_ended(struct gen *g, bool is_entry)
{
	unsigned loop = asm_label(g->a), done = asm_label(g->a), end = asm_label(g->a), found = asm_label(g->a);

	asm_storei(g->a, 8, FP, SP_THREAD + CALL(begin_ns), 0);
	asm_storei(g->a, 8, FP, SP_THREAD + CALL(outer), 0);
	asm_storei(g->a, 8, FP, SP_THREAD + CALL(tid), 0);
	call_map_helper(g, SP_THREAD_KEY, BPF_FUNC_map_lookup_elem);
	asm_jcci(g->a, BPF_JEQ, R0, 0, end);
	asm_load(g->a, 8, R1, R0, CALL(outer));
	asm_store(g->a, 8, FP, SP_THREAD + CALL(outer), R1);
	asm_load(g->a, 8, R1, FP, SP_CALL_KEY + KEY(sp));
	asm_store(g->a, 8, FP, SP_OWN, R1);
	asm_movi(g->a, R7, 0);
	asm_place(g->a, loop);
	asm_load(g->a, 8, R1, FP, SP_THREAD + CALL(outer));
	asm_jcci(g->a, BPF_JEQ, R1, 0, done);
	asm_load(g->a, 8, R2, FP, SP_OWN);
	asm_jcc(g->a, is_entry ? BPF_JGT : BPF_JGE, R1, R2, done);
	asm_store(g->a, 8, FP, SP_CALL_KEY + KEY(sp), R1);
	call_map_helper(g, SP_CALL_KEY, BPF_FUNC_map_lookup_elem);
	asm_jcci(g->a, BPF_JNE, R0, 0, found);
	asm_storei(g->a, 8, FP, SP_THREAD + CALL(outer), 0); /* forgotten, or ended on another thread */
	asm_jump(g->a, done);
	asm_place(g->a, found);
	asm_load(g->a, 8, R1, R0, CALL(outer));
	asm_store(g->a, 8, FP, SP_THREAD + CALL(outer), R1);
	asm_storei(g->a, 4, R0, CALL(left), 1);
	count_left(g, 1);
	asm_alui(g->a, BPF_ADD, R7, 1);
	asm_jcci(g->a, BPF_JLT, R7, ENDED_MAX, loop);
	asm_place(g->a, done);
	asm_load(g->a, 8, R1, FP, SP_OWN);
	asm_store(g->a, 8, FP, SP_CALL_KEY + KEY(sp), R1);
	asm_place(g->a, end);
}

static void paired_entry(struct gen *g, unsigned out)
{
	call_keys(g, out);
	drop_ended(g, true);
	asm_call(g->a, BPF_FUNC_ktime_get_ns);
	asm_store(g->a, 8, FP, SP_CALL + CALL(begin_ns), R0);
	asm_load(g->a, 8, R1, FP, SP_THREAD + CALL(outer));
	asm_store(g->a, 8, FP, SP_CALL + CALL(outer), R1);
	store_call(g, SP_CALL_KEY, SP_CALL);
	asm_load(g->a, 8, R1, FP, SP_CALL_KEY + KEY(sp));
	asm_store(g->a, 8, FP, SP_THREAD + CALL(outer), R1);
	store_call(g, SP_THREAD_KEY, SP_THREAD);
}

static void paired_return(struct gen *g, unsigned out)
{
	unsigned found = asm_label(g->a), in_chain = asm_label(g->a), store = asm_label(g->a),
		 unknown = asm_label(g->a);

	call_keys(g, unknown);
	drop_ended(g, false);
	call_map_helper(g, SP_CALL_KEY, BPF_FUNC_map_lookup_elem);
	asm_jcci(g->a, BPF_JNE, R0, 0, found);
	asm_place(g->a, unknown);
	count(g, offsetof(struct ut_call_counts, unknown), 1);
	asm_jump(g->a, out);
	asm_place(g->a, found);
	asm_load(g->a, 8, R7, R0, CALL(begin_ns));
	asm_load(g->a, 4, R1, R0, CALL(left));
	asm_jcci(g->a, BPF_JEQ, R1, 0, in_chain);
	count_left(g, -1); /* it was counted too early */
	asm_jump(g->a, store);
	asm_place(g->a, in_chain);
	asm_load(g->a, 8, R1, FP, SP_THREAD + CALL(outer));
	asm_load(g->a, 8, R2, FP, SP_CALL_KEY + KEY(sp));
	asm_jcc(g->a, BPF_JNE, R1, R2, store);
	asm_load(g->a, 8, R1, R0, CALL(outer));
	asm_store(g->a, 8, FP, SP_THREAD + CALL(outer), R1);
	asm_place(g->a, store);
	store_call(g, SP_THREAD_KEY, SP_THREAD);
	call_map_helper(g, SP_CALL_KEY, BPF_FUNC_map_delete_elem);
	duration_since(g);
}

/* Goes to @out unless the processor's flags fulfill the condition of a jump. */
static void check_condition(struct gen *g, uint8_t condition, unsigned out)
{
	enum { CF = 1, PF = 1 << 2, ZF = 1 << 6, SF_BIT = 7, OF_BIT = 11 };
	static const int32_t masks[] = { 1 << OF_BIT, CF, ZF, CF | ZF, 1 << SF_BIT, PF };
	unsigned kind = condition >> 1 & 7;

	asm_load(g->a, 8, R1, R6, GEN_PT_REGS_FLAGS);
	if (kind < ARRAY_SIZE(masks)) {
		asm_alui(g->a, BPF_AND, R1, masks[kind]);
	} else { /* less: sign and overflow differ; or equal */
		asm_mov(g->a, R2, R1);
		asm_mov(g->a, R3, R1);
		asm_alui(g->a, BPF_RSH, R2, SF_BIT);
		asm_alui(g->a, BPF_RSH, R3, OF_BIT);
		asm_alu(g->a, BPF_XOR, R2, R3);
		asm_alui(g->a, BPF_AND, R2, 1);
		asm_alui(g->a, BPF_AND, R1, kind == 7 ? ZF : 0);
		asm_alu(g->a, BPF_OR, R1, R2);
	}
	asm_jcci(g->a, condition & 1 ? BPF_JNE : BPF_JEQ, R1, 0, out);
}

void gen_call_end(struct gen *g, unsigned out)
{
	if (g->site->pairing == GEN_PAIR_TRAMPOLINE) {
		if (g->checked->needs_entry)
			trampoline_return(g, out);
		return;
	}
	if (g->site->tail_jump && g->site->condition != GEN_CONDITION_NONE)
		check_condition(g, g->site->condition, out);
	paired_return(g, out);
}

void gen_call_begin(struct gen *g, unsigned out)
{
	if (g->site->pairing == GEN_PAIR_TRAMPOLINE)
		trampoline_entry(g);
	else
		paired_entry(g, out);
}

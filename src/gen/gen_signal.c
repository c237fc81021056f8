/* SPDX-License-Identifier: MIT */
/*
 * Runs of signals' handlers as spans. The kernel tells a signal's number when it starts a handler, and at the handler's
 * end only that some handler returns: which it was is kept for each thread, innermost last.
 */
#include <string.h>

#include "gen/gen_user_priv.h"
#include "usertrace.h"

#define HANDLERS(member) ((int)offsetof(struct gen_handlers, member))

/* R7 = this thread's handlers, made when @make; goes to @out when there are none. */
static void find_handlers(struct asm_buf *a, bool make, unsigned out)
{
	unsigned found = asm_label(a);

	asm_call(a, BPF_FUNC_get_current_pid_tgid);
	asm_store(a, 4, FP, SU_KEY, R0);
	for (int i = 0; i < (make ? 2 : 1); i++) {
		asm_map(a, R1, GEN_MAP_HANDLERS);
		asm_mov(a, R2, FP);
		asm_alui(a, BPF_ADD, R2, SU_KEY);
		asm_call(a, BPF_FUNC_map_lookup_elem);
		asm_jcci(a, BPF_JNE, R0, 0, found);
		if (!make || i)
			break;
		for (int at = 0; at < (int)sizeof(struct gen_handlers); at += 8)
			asm_storei(a, 8, FP, SU_HANDLERS + at, 0);
		asm_map(a, R1, GEN_MAP_HANDLERS);
		asm_mov(a, R2, FP);
		asm_alui(a, BPF_ADD, R2, SU_KEY);
		asm_mov(a, R3, FP);
		asm_alui(a, BPF_ADD, R3, SU_HANDLERS);
		asm_movi(a, R4, BPF_ANY);
		asm_call(a, BPF_FUNC_map_update_elem);
	}
	asm_jump(a, out);
	asm_place(a, found);
	asm_mov(a, R7, R0);
}

/* R2 = R7 + the place of handler R1, which is less than GEN_HANDLERS: the kernel wants that shown. */
static void handler_place(struct asm_buf *a)
{
	asm_alui(a, BPF_AND, R1, GEN_HANDLERS - 1);
	asm_alui(a, BPF_LSH, R1, 3);
	asm_mov(a, R2, R7);
	asm_alu(a, BPF_ADD, R2, R1);
}

static void push_handler(struct asm_buf *a)
{
	unsigned room = asm_label(a);

	asm_load(a, 8, R1, R7, HANDLERS(depth));
	asm_jcci(a, BPF_JLT, R1, GEN_HANDLERS, room);
	/* the oldest was left by a jump, surely, and will never return */
	for (int i = 1; i < GEN_HANDLERS; i++) {
		asm_load(a, 8, R1, R7, HANDLERS(number) + 8 * i);
		asm_store(a, 8, R7, HANDLERS(number) + 8 * (i - 1), R1);
	}
	asm_movi(a, R1, GEN_HANDLERS - 1);
	asm_place(a, room);
	asm_mov(a, R3, R1);
	asm_alui(a, BPF_ADD, R3, 1);
	asm_store(a, 8, R7, HANDLERS(depth), R3);
	handler_place(a);
	asm_load(a, 8, R3, FP, SU_ID);
	asm_store(a, 8, R2, HANDLERS(number), R3);
}

/* SU_ID = the innermost; goes to @out when none is known: it began before anybody looked. */
static void pop_handler(struct asm_buf *a, unsigned out)
{
	asm_load(a, 8, R1, R7, HANDLERS(depth));
	asm_jcci(a, BPF_JEQ, R1, 0, out);
	asm_alui(a, BPF_ADD, R1, -1);
	asm_store(a, 8, R7, HANDLERS(depth), R1);
	handler_place(a);
	asm_load(a, 8, R3, R2, HANDLERS(number));
	asm_store(a, 8, FP, SU_ID, R3);
}

/* What a signal has not: a name in the program's memory, a text. */
static void no_texts(struct asm_buf *a)
{
	asm_storei(a, 8, FP, SU_NAME_ADDR, 0);
	asm_storei(a, 8, FP, SU_TEXT_ADDR, 0);
	asm_storei(a, 8, FP, SU_NAME_LEN, 1);
	for (int at = 0; at < UT_NAME_SHORT; at += 8)
		asm_storei(a, 8, FP, SU_NAME + at, 0);
}

int gen_signal_body(const struct gen_signal *s, const struct gen_options *options, struct gen_body *ret,
		    struct ut_err *err)
{
	struct user u = { .a = &ret->code, .options = options };
	struct asm_buf *a = u.a;

	memset(ret, 0, sizeof(*ret));
	u.out = asm_label(a);
	asm_storei(a, 8, FP, SU_VALUE, 0);
	asm_storei(a, 8, FP, SU_WHAT, s ? UT_BEGIN : UT_END);
	if (s) {
		asm_load(a, 8, R1, R6, (int)s->handler);
		asm_jcci(a, BPF_JLE, R1, 1, u.out); /* SIG_DFL, SIG_IGN */
		asm_load(a, 4, R1, R6, (int)s->number);
		asm_store(a, 8, FP, SU_ID, R1);
		asm_load(a, 4, R1, R6, (int)s->code);
		asm_alui(a, BPF_LSH, R1, 32);
		asm_alui(a, BPF_ARSH, R1, 32);
		asm_store(a, 8, FP, SU_VALUE, R1);
	}
	find_handlers(a, s != NULL, u.out);
	if (s)
		push_handler(a);
	else
		pop_handler(a, u.out);
	no_texts(a);
	user_short(&u);
	ret->record_size = sizeof(struct ut_rec_user);
	return user_finish(a, u.out, err);
}

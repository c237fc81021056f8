/* SPDX-License-Identifier: MIT */
/* Text against a literal: the text is copied to the stack, then compared in words. */
#include <errno.h>
#include <string.h>

#include "gen/gen_priv.h"

/* Bytes of the literal and its terminating NUL that take part. */
static unsigned literal_bytes(const struct expr *literal) { return (unsigned)literal->string_len + 1; }

static void copy_call(struct gen *g, unsigned size, int helper)
{
	asm_mov(g->a, R1, FP);
	asm_alui(g->a, BPF_ADD, R1, g->literal);
	asm_movi(g->a, R2, (int32_t)size);
	asm_call(g->a, helper);
}

/* User text at R0. Faults like any other read of user memory. */
static void copy_user(struct gen *g, unsigned size)
{
	unsigned done = asm_label(g->a);

	asm_store(g->a, 8, FP, SP_FAULT_ADDR, R0);
	asm_mov(g->a, R3, R0);
	copy_call(g, size, BPF_FUNC_probe_read_user_str);
	asm_jcci(g->a, BPF_JSGE, R0, 0, done);
	/* bring in the string's first page, then that of its last byte */
	for (unsigned i = 0; i < 2 && g->options->may_sleep; i++) {
		asm_mov(g->a, R1, FP);
		asm_alui(g->a, BPF_ADD, R1, SP_KEY);
		asm_movi(g->a, R2, 1);
		asm_load(g->a, 8, R3, FP, SP_FAULT_ADDR);
		asm_alui(g->a, BPF_ADD, R3, i ? (int32_t)size - 1 : 0);
		asm_call(g->a, BPF_FUNC_copy_from_user);
		asm_load(g->a, 8, R3, FP, SP_FAULT_ADDR);
		copy_call(g, size, BPF_FUNC_probe_read_user_str);
		asm_jcci(g->a, BPF_JSGE, R0, 0, done);
		g->sleeps = true;
	}
	asm_jump(g->a, g->on_fault);
	asm_place(g->a, done);
}

static void copy_comm(struct gen *g)
{
	asm_mov(g->a, R1, FP);
	asm_alui(g->a, BPF_ADD, R1, g->literal);
	asm_movi(g->a, R2, 16);
	asm_call(g->a, BPF_FUNC_get_current_comm);
}

static void copy_field(struct gen *g, const struct expr *text, unsigned size)
{
	const struct tracepoint_field *f = &g->site->tracepoint->fields.v[text->index];

	size = gen_field_text(g, f, size);
	copy_call(g, size, BPF_FUNC_probe_read_kernel_str);
}

/* R0 = 1 when @size bytes at the literal's address are @bytes, in pieces of 8, 4, 2 and 1. */
static void gen_compare_bytes(struct gen *g, const char *bytes, unsigned size)
{
	asm_movi(g->a, R0, 0);
	for (unsigned at = 0; at < size;) {
		unsigned piece = size - at >= 8 ? 8 : size - at >= 4 ? 4 : size - at >= 2 ? 2 : 1;
		uint64_t want = 0;

		memcpy(&want, bytes + at, piece);
		asm_load(g->a, piece, R1, FP, g->literal + (int)at);
		asm_imm64(g->a, R2, want);
		asm_alu(g->a, BPF_XOR, R1, R2);
		asm_alu(g->a, BPF_OR, R0, R1);
		at += piece;
	}
	gen_truth(g);
	asm_alui(g->a, BPF_XOR, R0, 1);
}

bool gen_is_user_text(const struct expr *text)
{
	return text->type.kind != TYPE_CHARS && !(text->op == EXPR_VAR && text->var == VAR_COMM);
}

void gen_compare_text(struct gen *g, const struct expr *text, const struct expr *literal)
{
	unsigned size = literal_bytes(literal);
	char bytes[GEN_LITERAL_ROOM] = "";

	if (size > sizeof(bytes)) {
		gen_refuse(g, literal, "the string is too long for a comparison: the limit is %d bytes",
			   GEN_LITERAL_ROOM - 1);
		return;
	}
	memcpy(bytes, literal->string, size - 1);
	for (int i = 0; i < GEN_LITERAL_ROOM; i += 8)
		asm_storei(g->a, 8, FP, g->literal + i, 0);
	if (gen_is_user_text(text)) {
		copy_user(g, size + 1);
	} else if (text->op == EXPR_VAR && text->var == VAR_COMM) {
		copy_comm(g);
		size = size > 16 ? 16 : size;
	} else {
		copy_field(g, text, size + 1);
	}
	gen_compare_bytes(g, bytes, size);
}

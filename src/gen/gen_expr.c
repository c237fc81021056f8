/* SPDX-License-Identifier: MIT */
/* Expressions to instructions: every value ends up in R0; the left side of an operator waits in a temporary. */
#include <errno.h>

#include "gen/gen_priv.h"

static int temp_at(struct gen *g, const struct expr *e, unsigned temp)
{
	if (temp >= g->ntemps) {
		gen_refuse(g, e, "this expression is nested too deeply; simplify it");
		temp = 0;
	}
	return g->temps + 8 * (int)temp;
}

/* R0 = 1 when @left is less than @right: the borrow, or the sign, of the difference (Hacker's Delight, 2-12). */
static void gen_less(struct gen *g, enum bpf_reg left, enum bpf_reg right, bool is_unsigned)
{
	asm_mov(g->a, R2, is_unsigned ? left : right);
	asm_alui(g->a, BPF_XOR, R2, -1);
	asm_alu(g->a, BPF_AND, R2, is_unsigned ? right : left);
	asm_mov(g->a, R3, left);
	asm_alu(g->a, BPF_XOR, R3, right);
	asm_alui(g->a, BPF_XOR, R3, -1);
	asm_alu(g->a, BPF_SUB, left, right);
	asm_alu(g->a, BPF_AND, R3, left);
	asm_alu(g->a, BPF_OR, R2, R3);
	asm_alui(g->a, BPF_RSH, R2, 63);
	asm_mov(g->a, R0, R2);
}

static bool is_unsigned64(const struct type *t) { return t->size == 8 && !t->is_signed; }

static void gen_comparison(struct gen *g, const struct expr *e)
{
	bool u = is_unsigned64(&e->a->type) || is_unsigned64(&e->b->type);

	if (e->op == EXPR_EQ || e->op == EXPR_NE) {
		asm_alu(g->a, BPF_XOR, R0, R1);
		gen_truth(g);
	} else if (e->op == EXPR_LT || e->op == EXPR_GE) {
		gen_less(g, R0, R1, u);
	} else {
		gen_less(g, R1, R0, u);
	}
	if (e->op == EXPR_EQ || e->op == EXPR_GE || e->op == EXPR_LE)
		asm_alui(g->a, BPF_XOR, R0, 1);
}

/* Makes @reg non-negative and flips @sign when it was not. */
static void gen_abs(struct gen *g, enum bpf_reg reg, enum bpf_reg sign, int32_t flip)
{
	unsigned plus = asm_label(g->a);

	asm_jcci(g->a, BPF_JSGE, reg, 0, plus);
	asm_alui(g->a, BPF_NEG, reg, 0);
	asm_alui(g->a, BPF_XOR, sign, flip);
	asm_place(g->a, plus);
}

/*
 * Signed division from unsigned, as processors without one do: C's truncation; x / 0 is 0, x % 0 is x (as BPF
 * has it).
 */
static void gen_signed_division(struct gen *g, const struct expr *e)
{
	unsigned plus = asm_label(g->a);
	bool mod = e->op == EXPR_MOD;

	asm_movi(g->a, R3, 0);
	gen_abs(g, R0, R3, 1);
	gen_abs(g, R1, R3, mod ? 0 : 1);
	asm_alu(g->a, mod ? BPF_MOD : BPF_DIV, R0, R1);
	asm_jcci(g->a, BPF_JEQ, R3, 0, plus);
	asm_alui(g->a, BPF_NEG, R0, 0);
	asm_place(g->a, plus);
}

/* R0 op R1 → R0, as types say. */
static void gen_arithmetic(struct gen *g, const struct expr *e)
{
	switch (e->op) {
	case EXPR_MUL: asm_alu(g->a, BPF_MUL, R0, R1); break;
	case EXPR_ADD: asm_alu(g->a, BPF_ADD, R0, R1); break;
	case EXPR_SUB: asm_alu(g->a, BPF_SUB, R0, R1); break;
	case EXPR_AND: asm_alu(g->a, BPF_AND, R0, R1); break;
	case EXPR_OR: asm_alu(g->a, BPF_OR, R0, R1); break;
	case EXPR_XOR: asm_alu(g->a, BPF_XOR, R0, R1); break;
	case EXPR_SHL:
	case EXPR_SHR:
		asm_alui(g->a, BPF_AND, R1, 63);
		asm_alu(g->a, e->op == EXPR_SHL ? BPF_LSH : e->a->type.is_signed ? BPF_ARSH : BPF_RSH, R0, R1);
		break;
	case EXPR_DIV:
	case EXPR_MOD:
		if (is_unsigned64(&e->type))
			asm_alu(g->a, e->op == EXPR_DIV ? BPF_DIV : BPF_MOD, R0, R1);
		else
			gen_signed_division(g, e);
		break;
	default: gen_comparison(g, e); return;
	}
	gen_extend(g, e->type.size, e->type.is_signed);
}

static void gen_binary(struct gen *g, const struct expr *e, unsigned temp)
{
	int left = temp_at(g, e, temp);

	gen_expr(g, e->a, temp);
	if (e->b->op == EXPR_INT && (int64_t)e->b->value == (int32_t)e->b->value) {
		asm_movi(g->a, R1, (int32_t)e->b->value);
	} else {
		asm_store(g->a, 8, FP, left, R0);
		gen_expr(g, e->b, temp + 1);
		asm_mov(g->a, R1, R0);
		asm_load(g->a, 8, R0, FP, left);
	}
	gen_arithmetic(g, e);
}

static void gen_logical(struct gen *g, const struct expr *e, unsigned temp)
{
	unsigned end = asm_label(g->a), yes = asm_label(g->a);

	gen_expr(g, e->a, temp);
	if (e->op == EXPR_LAND)
		asm_jcci(g->a, BPF_JEQ, R0, 0, end);
	else
		asm_jcci(g->a, BPF_JNE, R0, 0, yes);
	gen_expr(g, e->b, temp);
	gen_truth(g);
	if (e->op == EXPR_LOR) {
		asm_jump(g->a, end);
		asm_place(g->a, yes);
		asm_movi(g->a, R0, 1);
	}
	asm_place(g->a, end);
}

static void gen_cond(struct gen *g, const struct expr *e, unsigned temp)
{
	unsigned no = asm_label(g->a), end = asm_label(g->a);

	gen_expr(g, e->a, temp);
	asm_jcci(g->a, BPF_JEQ, R0, 0, no);
	gen_expr(g, e->b, temp);
	asm_jump(g->a, end);
	asm_place(g->a, no);
	gen_expr(g, e->c, temp);
	asm_place(g->a, end);
	gen_extend(g, e->type.size, e->type.is_signed);
}

static void gen_unary(struct gen *g, const struct expr *e, unsigned temp)
{
	gen_expr(g, e->a, temp);
	switch (e->op) {
	case EXPR_NEG:
		asm_alui(g->a, BPF_NEG, R0, 0);
		gen_extend(g, e->type.size, e->type.is_signed);
		break;
	case EXPR_BITNOT:
		asm_alui(g->a, BPF_XOR, R0, -1);
		gen_extend(g, e->type.size, e->type.is_signed);
		break;
	case EXPR_NOT:
		gen_truth(g);
		asm_alui(g->a, BPF_XOR, R0, 1);
		break;
	case EXPR_CAST:
		if (!e->type.pointee_size)
			gen_extend(g, e->type.size, e->type.is_signed);
		break;
	default: /* EXPR_DEREF */
		asm_mov(g->a, R3, R0);
		gen_read_user(g, SP_KEY, e->type.size);
		asm_load(g->a, e->type.size, R0, FP, SP_KEY);
		gen_extend(g, e->type.size, e->type.is_signed);
		break;
	}
}

static bool is_text(const struct expr *e) { return e->type.kind == TYPE_CHARS || e->type.kind == TYPE_LITERAL; }

static void gen_equality(struct gen *g, const struct expr *e, unsigned temp)
{
	bool literal_is_right = e->b->op == EXPR_STRING;
	const struct expr *text = literal_is_right ? e->a : e->b;

	if (gen_is_user_text(text))
		gen_expr(g, text, temp);
	gen_compare_text(g, text, literal_is_right ? e->b : e->a);
	if (e->op == EXPR_NE)
		asm_alui(g->a, BPF_XOR, R0, 1);
}

void gen_expr(struct gen *g, const struct expr *e, unsigned temp)
{
	switch (e->op) {
	case EXPR_INT: asm_imm64(g->a, R0, e->value); break;
	case EXPR_STRING: gen_refuse(g, e, "strings can only be compared with == and !="); break;
	case EXPR_VAR: gen_var(g, e, temp); break;
	case EXPR_NEG:
	case EXPR_NOT:
	case EXPR_BITNOT:
	case EXPR_CAST:
	case EXPR_DEREF: gen_unary(g, e, temp); break;
	case EXPR_LAND:
	case EXPR_LOR: gen_logical(g, e, temp); break;
	case EXPR_COND: gen_cond(g, e, temp); break;
	case EXPR_EQ:
	case EXPR_NE:
		if (is_text(e->a) || is_text(e->b)) {
			gen_equality(g, e, temp);
			break;
		}
		gen_binary(g, e, temp);
		break;
	default: gen_binary(g, e, temp); break;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Texts of a record. Nothing may fault while a record is reserved, and nothing may be missed because a page is not
 * resident, so there are up to three tries: TRY_FIRST copies into little room without faulting; when a text was longer,
 * or its page not resident, the record is given back, the first pages are touched (a sleeping read of one byte) and
 * TRY_RESIDENT copies with room for the limit; what then still fails reaches into a second page, which is touched
 * before TRY_LAST. There a failure is final: the bytes before the unreadable page are sent. Texts of at most
 * GEN_TEXT_LIMIT_MAX = one page's size never need a third page.
 */
#include <linux/bpf.h>
#include <stddef.h>

#include "gen/gen_priv.h"
#include "wire/record.h"

#define PAGE 4096

static int value_at(unsigned i) { return SP_VALUES + 8 * (int)i; }
static int length_at(unsigned i) { return SP_LENGTHS + 8 * (int)i; }

static bool has_kernel_pointer(const struct gen *g, const struct expr *e)
{
	if (!e)
		return false;
	if (e->op == EXPR_VAR)
		return e->var == VAR_FIELD && g->site->tracepoint->fields.v[e->index].kernel_string;
	return has_kernel_pointer(g, e->a) || has_kernel_pointer(g, e->b) || has_kernel_pointer(g, e->c);
}

static bool is_user_text(const struct gen *g, unsigned i)
{
	const struct output *o = &g->checked->outputs[i];

	return (o->kind == OUTPUT_STRING || o->kind == OUTPUT_BYTES) && !has_kernel_pointer(g, o->expr);
}

bool gen_has_user_text(const struct gen *g)
{
	for (unsigned i = 0; i < g->checked->noutputs; i++)
		if (is_user_text(g, i))
			return true;
	return false;
}

/* Where the head of a text lies; far into a record that is beyond what an instruction's offset can say. Clobbers R5. */
static enum bpf_reg head_base(struct gen *g, const struct layout_slot *slot, int *ret_off)
{
	*ret_off = (int)slot->text;
	if (slot->text + sizeof(struct ut_rec_text) <= INT16_MAX)
		return R7;
	asm_mov(g->a, R5, R7);
	asm_alui(g->a, BPF_ADD, R5, (int32_t)slot->text);
	*ret_off = 0;
	return R5;
}

static void store_head(struct gen *g, const struct layout_slot *slot, int32_t len, enum ut_text_state state)
{
	int off;
	enum bpf_reg base = head_base(g, slot, &off);

	asm_storei(g->a, 4, base, off + (int)offsetof(struct ut_rec_text, len), len);
	asm_storei(g->a, 4, base, off + (int)offsetof(struct ut_rec_text, state), (int32_t)state);
}

static void store_len(struct gen *g, const struct layout_slot *slot, enum bpf_reg len, enum ut_text_state state)
{
	int off;
	enum bpf_reg base = head_base(g, slot, &off);

	asm_store(g->a, 4, base, off + (int)offsetof(struct ut_rec_text, len), len);
	asm_storei(g->a, 4, base, off + (int)offsetof(struct ut_rec_text, state), (int32_t)state);
}

/* R1 = where the bytes go. */
static void load_room(struct gen *g, const struct layout_slot *slot)
{
	asm_mov(g->a, R1, R7);
	asm_alui(g->a, BPF_ADD, R1, (int32_t)(slot->text + sizeof(struct ut_rec_text)));
}

/*
 * @reg = what the stack holds at @off, for a branch. The verifier would take what it learns from the branch for true of
 * the stack as well and walk the rest of the program once for each combination of such truths; an operation without
 * effect hides where the number came from.
 */
static void load_for_branch(struct gen *g, enum bpf_reg reg, int off)
{
	asm_load(g->a, 8, reg, FP, off);
	asm_alui(g->a, BPF_OR, reg, 0);
}

/* Text @i needs another try when @reg is negative. Clobbers @reg and R1. */
static void want_retry_if_negative(struct gen *g, unsigned i, enum bpf_reg reg)
{
	asm_alui(g->a, BPF_RSH, reg, 63);
	asm_alui(g->a, BPF_LSH, reg, (int32_t)i);
	asm_load(g->a, 8, R1, FP, SP_RETRY);
	asm_alu(g->a, BPF_OR, R1, reg);
	asm_store(g->a, 8, FP, SP_RETRY, R1);
}

/* The bytes in front of the first page boundary are all there is. */
static void gen_piece(struct gen *g, unsigned i, const struct layout_slot *slot)
{
	unsigned fault = asm_label(g->a), end = asm_label(g->a), small = asm_label(g->a);
	int32_t limit = (int32_t)g->options->text_limit;

	asm_load(g->a, 8, R3, FP, value_at(i));
	asm_mov(g->a, R1, R3);
	asm_alui(g->a, BPF_AND, R1, PAGE - 1);
	asm_movi(g->a, R2, PAGE);
	asm_alu(g->a, BPF_SUB, R2, R1);
	asm_jcci(g->a, BPF_JLE, R2, limit, small);
	asm_movi(g->a, R2, limit);
	asm_place(g->a, small);
	store_len(g, slot, R2, UT_TEXT_CUT_FAULT);
	load_room(g, slot);
	asm_call(g->a, BPF_FUNC_probe_read_user);
	asm_jcci(g->a, BPF_JNE, R0, 0, fault);
	asm_jump(g->a, end);
	asm_place(g->a, fault);
	store_head(g, slot, 0, UT_TEXT_FAULT);
	asm_place(g->a, end);
}

/* The last word on a string that could not be read: its NUL, if it has one, lies behind what can be read. */
static void gen_broken_string(struct gen *g, unsigned i, const struct layout_slot *slot)
{
	unsigned less = asm_label(g->a), end = asm_label(g->a);
	int32_t limit = (int32_t)g->options->text_limit;

	if (!is_user_text(g, i)) {
		store_head(g, slot, 0, UT_TEXT_FAULT);
		return;
	}
	asm_load(g->a, 8, R3, FP, value_at(i));
	asm_movi(g->a, R2, limit + 1);
	load_room(g, slot);
	asm_call(g->a, BPF_FUNC_probe_read_user);
	asm_jcci(g->a, BPF_JNE, R0, 0, less);
	store_head(g, slot, limit, UT_TEXT_CUT_LIMIT);
	asm_jump(g->a, end);
	asm_place(g->a, less);
	gen_piece(g, i, slot);
	asm_place(g->a, end);
}

/* R0 is what a …_read_str returned: bytes with the NUL, but 0 for an empty one on older kernels. Stores length and
 * state; too long is recorded or asks for a retry. */
static void gen_string_result(struct gen *g, unsigned i, const struct layout_slot *slot, uint32_t room,
			      enum gen_try try_no)
{
	int32_t limit = (int32_t)g->options->text_limit;
	unsigned end = asm_label(g->a), fits = asm_label(g->a), good = asm_label(g->a);

	if (try_no == TRY_LAST) {
		asm_jcci(g->a, BPF_JSGE, R0, 0, good);
		gen_broken_string(g, i, slot);
		asm_jump(g->a, end);
		asm_place(g->a, good);
	} else {
		asm_mov(g->a, R2, R0);
		want_retry_if_negative(g, i, R2);
	}
	if (try_no == TRY_FIRST && room < (uint32_t)limit + 2) {
		asm_movi(g->a, R2, (int32_t)room - 1);
		asm_alu(g->a, BPF_SUB, R2, R0);
		want_retry_if_negative(g, i, R2);
	}
	asm_jcci(g->a, BPF_JEQ, R0, 0, fits);
	asm_alui(g->a, BPF_SUB, R0, 1);
	asm_jcci(g->a, BPF_JSLE, R0, limit, fits);
	store_head(g, slot, limit, UT_TEXT_CUT_LIMIT);
	asm_jump(g->a, end);
	asm_place(g->a, fits);
	store_len(g, slot, R0, UT_TEXT_WHOLE);
	asm_place(g->a, end);
}

static void gen_string(struct gen *g, unsigned i, const struct layout_slot *slot, uint32_t room, enum gen_try try_no)
{
	unsigned null = asm_label(g->a), end = asm_label(g->a);
	uint32_t size = room < g->options->text_limit + 2 ? room : g->options->text_limit + 2;

	load_for_branch(g, R3, value_at(i));
	asm_jcci(g->a, BPF_JEQ, R3, 0, null);
	load_room(g, slot);
	asm_movi(g->a, R2, (int32_t)size);
	asm_call(g->a, is_user_text(g, i) ? BPF_FUNC_probe_read_user_str : BPF_FUNC_probe_read_kernel_str);
	gen_string_result(g, i, slot, room, try_no);
	asm_jump(g->a, end);
	asm_place(g->a, null);
	store_head(g, slot, 0, UT_TEXT_NULL);
	asm_place(g->a, end);
}

/* R2 = the length of a %.*s, at most the limit; a negative length means no limit, as in C. */
static void load_length(struct gen *g, unsigned i, const struct layout_slot *slot)
{
	unsigned cut = asm_label(g->a), done = asm_label(g->a);
	int32_t limit = (int32_t)g->options->text_limit;

	load_for_branch(g, R2, length_at(i));
	asm_jcci(g->a, BPF_JGT, R2, limit, cut);
	store_len(g, slot, R2, UT_TEXT_WHOLE);
	asm_jump(g->a, done);
	asm_place(g->a, cut);
	asm_movi(g->a, R2, limit);
	store_len(g, slot, R2, UT_TEXT_CUT_LIMIT);
	asm_place(g->a, done);
}

static void gen_bytes(struct gen *g, unsigned i, const struct layout_slot *slot, uint32_t room, enum gen_try try_no)
{
	unsigned null = asm_label(g->a), end = asm_label(g->a), more = asm_label(g->a);

	load_for_branch(g, R3, value_at(i));
	asm_jcci(g->a, BPF_JEQ, R3, 0, null);
	load_length(g, i, slot);
	if (try_no == TRY_FIRST && room < g->options->text_limit)
		asm_jcci(g->a, BPF_JGT, R2, (int32_t)room, more);
	load_room(g, slot);
	asm_call(g->a, has_kernel_pointer(g, g->checked->outputs[i].expr) ? BPF_FUNC_probe_read_kernel
									  : BPF_FUNC_probe_read_user);
	if (try_no == TRY_LAST) {
		asm_jcci(g->a, BPF_JEQ, R0, 0, end);
		gen_piece(g, i, slot);
	} else {
		want_retry_if_negative(g, i, R0);
	}
	asm_jump(g->a, end);
	if (asm_used(g->a, more)) {
		asm_place(g->a, more);
		asm_movi(g->a, R0, -1);
		want_retry_if_negative(g, i, R0);
		asm_jump(g->a, end);
	}
	asm_place(g->a, null);
	store_head(g, slot, 0, UT_TEXT_NULL);
	asm_place(g->a, end);
}

/* Text inside a tracepoint's record: kernel memory, always there. */
static void gen_chars(struct gen *g, unsigned i, const struct layout_slot *slot, uint32_t room, enum gen_try try_no)
{
	const struct tracepoint_field *f = &g->site->tracepoint->fields.v[g->checked->outputs[i].expr->index];
	uint32_t size = room < g->options->text_limit + 2 ? room : g->options->text_limit + 2;

	size = gen_field_text(g, f, size);
	load_room(g, slot);
	asm_movi(g->a, R2, (int32_t)size);
	asm_call(g->a, BPF_FUNC_probe_read_kernel_str);
	gen_string_result(g, i, slot, size < room ? g->options->text_limit + 2 : room, try_no);
}

static void gen_stack(struct gen *g, const struct layout_slot *slot, int32_t flags)
{
	unsigned fault = asm_label(g->a), end = asm_label(g->a);

	asm_mov(g->a, R1, R6);
	asm_mov(g->a, R2, R7);
	asm_alui(g->a, BPF_ADD, R2, (int32_t)(slot->text + sizeof(struct ut_rec_text)));
	asm_movi(g->a, R3, (int32_t)slot->room);
	asm_movi(g->a, R4, flags);
	asm_call(g->a, BPF_FUNC_get_stack);
	asm_jcci(g->a, BPF_JSLT, R0, 0, fault);
	store_len(g, slot, R0, UT_TEXT_WHOLE);
	asm_jump(g->a, end);
	asm_place(g->a, fault);
	store_head(g, slot, 0, UT_TEXT_FAULT);
	asm_place(g->a, end);
}

void gen_text(struct gen *g, unsigned i, const struct layout *layout, uint32_t room, enum gen_try try_no)
{
	const struct layout_slot *slot = &layout->slot[i];

	switch (g->checked->outputs[i].kind) {
	case OUTPUT_STRING: gen_string(g, i, slot, room, try_no); break;
	case OUTPUT_BYTES: gen_bytes(g, i, slot, room, try_no); break;
	case OUTPUT_CHARS: gen_chars(g, i, slot, room, try_no); break;
	case OUTPUT_USTACK: gen_stack(g, slot, BPF_F_USER_STACK); break;
	case OUTPUT_KSTACK: gen_stack(g, slot, 0); break;
	default: break;
	}
}

/* Sleeps until the byte at R3 is in memory; when it cannot be, the next try finds out. */
static void touch(struct gen *g)
{
	asm_mov(g->a, R1, FP);
	asm_alui(g->a, BPF_ADD, R1, SP_KEY);
	asm_movi(g->a, R2, 1);
	asm_call(g->a, BPF_FUNC_copy_from_user);
	g->sleeps = true;
}

/* The first page of text @i, or the one behind it, if the text was among those that asked for another try. */
static void touch_text(struct gen *g, unsigned i, bool second)
{
	unsigned not_needed = asm_label(g->a);

	asm_load(g->a, 8, R1, FP, SP_RETRY);
	asm_alui(g->a, BPF_AND, R1, 1 << i);
	asm_jcci(g->a, BPF_JEQ, R1, 0, not_needed);
	asm_load(g->a, 8, R3, FP, value_at(i));
	if (second) {
		asm_alui(g->a, BPF_OR, R3, PAGE - 1);
		asm_alui(g->a, BPF_ADD, R3, 1);
	}
	touch(g);
	asm_place(g->a, not_needed);
}

void gen_touch(struct gen *g, bool second)
{
	for (unsigned i = 0; i < g->checked->noutputs; i++)
		if (is_user_text(g, i))
			touch_text(g, i, second);
}

/* SPDX-License-Identifier: MIT */
/* The instructions of unwind entries (DWARF 5, 6.4.2, and GNU's) followed from the start of a function to its end. Only
 * the rules for the CFA, the return address, rbp and rbx are recorded. */
#include <dwarf.h>
#include <limits.h>

#include "elf/unwind_priv.h"

#define REMEMBERED_MAX 32 /* states that are remembered at a time; compilers need 2 */

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16 };

struct program {
	struct unwind_build *b; /* NULL: a CIE, without addresses */
	struct unwind_layer *layer;
	const struct cie *cie;
	struct cursor c;
	const uint8_t *begin;
	uint64_t here; /* address of begin */
	uint64_t loc, end;
	size_t first_row;
	struct frame_state now;
	bool changed; /* since the last row */
	int error;
	unsigned depth;
	struct frame_state remembered[REMEMBERED_MAX];
};

static bool fits_16(int64_t v) { return v >= INT16_MIN && v <= INT16_MAX; }

/*
 * A register's location as a distance from the CFA (UT_SAVED_CFA) or from rbp. An unsupported definition
 * is as good as undefined: unwinding continues until a frame needs the register.
 */
static uint8_t place_of(const struct frame_state *f, const struct saved_rule *s, int16_t *ret)
{
	int64_t off = s->off;

	*ret = 0;
	if (s->how == SAVED_SAME)
		return UT_SAVED_SAME;
	if (s->how == SAVED_AT_REGISTER && f->cfa.how == CFA_REGISTER && s->reg == f->cfa.reg)
		off = (int64_t)((uint64_t)off - (uint64_t)f->cfa.off);
	else if (s->how != SAVED_AT_CFA && !(s->how == SAVED_AT_REGISTER && s->reg == RBP))
		return UT_SAVED_UNDEFINED;
	if (!fits_16(off))
		return UT_SAVED_UNDEFINED;
	*ret = (int16_t)off;
	return s->how == SAVED_AT_REGISTER && !(f->cfa.how == CFA_REGISTER && s->reg == f->cfa.reg) ? UT_SAVED_RBP
												    : UT_SAVED_CFA;
}

static bool lies_at(const struct saved_rule *s, int64_t off)
{
	return s->how == SAVED_AT_REGISTER && s->reg == RSP && s->off == off;
}

/* The FDE of glibc's __restore_rt says where the kernel saved each register. */
static bool is_signal_frame(const struct frame_state *f)
{
	enum { UC_RBP = 120, UC_RBX = 128, UC_RSP = 160, UC_RIP = 168 }; /* in a ucontext */

	return f->cfa.how == CFA_READ && f->cfa.reg == RSP && f->cfa.off == UC_RSP && !f->cfa.add &&
	       lies_at(&f->saved[KEPT_RA], UC_RIP) && lies_at(&f->saved[KEPT_RBP], UC_RBP) &&
	       lies_at(&f->saved[KEPT_RBX], UC_RBX);
}

static bool set_cfa(const struct cfa_rule *cfa, struct ut_unwind_rule *ret)
{
	if (cfa->how != CFA_REGISTER && cfa->how != CFA_READ && cfa->how != CFA_STUB)
		return false;
	if (cfa->reg > 15 || cfa->off < INT32_MIN || cfa->off > INT32_MAX || !fits_16(cfa->add))
		return false;
	ret->cfa = cfa->how == CFA_REGISTER ? UT_CFA_REG : cfa->how == CFA_READ ? UT_CFA_DEREF : UT_CFA_PLT;
	ret->cfa_reg = cfa->reg;
	ret->cfa_off = (int32_t)cfa->off;
	ret->cfa_add = (int16_t)cfa->add;
	return true;
}

static struct ut_unwind_rule rule_of(const struct frame_state *f)
{
	static const struct ut_unwind_rule unsupported = { .cfa = UT_CFA_UNSUPPORTED };
	struct ut_unwind_rule ret = { 0 };

	if (f->saved[KEPT_RA].how == SAVED_UNDEFINED)
		return (struct ut_unwind_rule){ .cfa = UT_CFA_OUTERMOST };
	if (is_signal_frame(f))
		return (struct ut_unwind_rule){ .cfa = UT_CFA_SIGNAL };
	if (!set_cfa(&f->cfa, &ret) || place_of(f, &f->saved[KEPT_RA], &ret.ra_off) != UT_SAVED_CFA)
		return unsupported;
	ret.rbp = place_of(f, &f->saved[KEPT_RBP], &ret.rbp_off);
	ret.rbx = place_of(f, &f->saved[KEPT_RBX], &ret.rbx_off);
	return ret;
}

/* The row for what holds from here on. */
static void add_row(struct program *p)
{
	struct ut_unwind_rule rule;
	struct unwind_rows *rows = &p->layer->rows;
	uint32_t number;

	p->changed = false;
	rule = rule_of(&p->now);
	p->error = unwind_rule_number(p->b, &rule, &number);
	if (p->error || (rows->n > p->first_row && rows->v[rows->n - 1].rule == number))
		return;
	p->b->table->unsupported += rule.cfa == UT_CFA_UNSUPPORTED;
	p->error = vec_push(rows, ((struct unwind_row){ (uint32_t)(p->loc - p->b->base), number }));
}

static void go_to(struct program *p, uint64_t loc)
{
	if (!p->b || loc < p->loc) {
		p->c.bad = true;
		return;
	}
	if (loc == p->loc)
		return;
	if (p->changed)
		add_row(p);
	p->loc = loc;
}

static void advance(struct program *p, uint64_t units)
{
	uint64_t distance;

	if (__builtin_mul_overflow(units, p->cie->code_align, &distance) ||
	    __builtin_add_overflow(distance, p->loc, &distance))
		distance = p->end; /* out of the function: nothing that follows matters */
	go_to(p, distance);
}

static struct saved_rule *kept(struct program *p, uint64_t reg)
{
	switch (reg) {
	case RBX: return &p->now.saved[KEPT_RBX];
	case RBP: return &p->now.saved[KEPT_RBP];
	case RIP: return &p->now.saved[KEPT_RA];
	default: return NULL;
	}
}

static void save(struct program *p, uint64_t reg, struct saved_rule rule)
{
	struct saved_rule *s = kept(p, reg);

	if (!s)
		return;
	*s = rule;
	p->changed = true;
}

static int64_t factored(const struct program *p, uint64_t v) { return (int64_t)(v * (uint64_t)p->cie->data_align); }

static void save_at(struct program *p, uint64_t reg, int64_t off)
{
	save(p, reg, (struct saved_rule){ .how = SAVED_AT_CFA, .off = off });
}

static void save_how(struct program *p, uint64_t reg, enum saved_how how)
{
	save(p, reg, (struct saved_rule){ .how = how });
}

/* Restores what the CIE defines. In the CIE itself, where old assemblers move instructions, restores nothing. */
static void restore(struct program *p, uint64_t reg)
{
	struct saved_rule *s = kept(p, reg);

	if (s)
		save(p, reg, p->b ? p->cie->initial.saved[s - p->now.saved] : (struct saved_rule){ .how = SAVED_SAME });
}

static void define_cfa(struct program *p, uint64_t reg, int64_t off)
{
	p->now.plain = (struct cfa_rule){ .how = CFA_REGISTER, .reg = (uint8_t)reg, .off = off };
	if (reg > 15)
		p->now.plain.how = CFA_OTHER;
	p->now.cfa = p->now.plain;
	p->changed = true;
}

/* Half of a definition: the other half must be there. libgcrypt has an expression in between, as libgcc takes it. */
static void redefine_cfa(struct program *p, uint64_t reg, int64_t off)
{
	if (p->now.plain.how == CFA_NONE)
		p->c.bad = true;
	else
		define_cfa(p, reg, off);
}

static void remember(struct program *p)
{
	if (p->depth == REMEMBERED_MAX)
		p->c.bad = true;
	else
		p->remembered[p->depth++] = p->now;
}

static void recall(struct program *p)
{
	if (!p->depth) {
		p->c.bad = true;
		return;
	}
	p->now = p->remembered[--p->depth];
	p->changed = true;
}

static void set_location(struct program *p)
{
	uint64_t here = p->here + (uint64_t)(p->c.at - p->begin);

	go_to(p, take_pointer(&p->c, p->cie->encoding, true, here));
}

/* Instructions that move on. False: @op is none. */
static bool run_move(struct program *p, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop: return true;
	case DW_CFA_set_loc: set_location(p); return true;
	case DW_CFA_advance_loc1: advance(p, take_byte(&p->c)); return true;
	case DW_CFA_advance_loc2: advance(p, take_bytes(&p->c, 2)); return true;
	case DW_CFA_advance_loc4: advance(p, take_bytes(&p->c, 4)); return true;
	case DW_CFA_MIPS_advance_loc8: advance(p, take_bytes(&p->c, 8)); return true;
	case DW_CFA_remember_state: remember(p); return true;
	case DW_CFA_restore_state: recall(p); return true;
	case DW_CFA_GNU_args_size: take_leb(&p->c); return true; /* for exceptions alone */
	default: return false;
	}
}

static bool run_cfa(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = take_leb(c);
		define_cfa(p, reg, (int64_t)take_leb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = take_leb(c);
		define_cfa(p, reg, factored(p, (uint64_t)take_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register: redefine_cfa(p, take_leb(c), p->now.plain.off); return true;
	case DW_CFA_def_cfa_offset: redefine_cfa(p, p->now.plain.reg, (int64_t)take_leb(c)); return true;
	case DW_CFA_def_cfa_offset_sf:
		redefine_cfa(p, p->now.plain.reg, factored(p, (uint64_t)take_sleb(c)));
		return true;
	case DW_CFA_def_cfa_expression:
		p->now.cfa = cfa_from_expression(take_block(c));
		p->changed = true;
		return true;
	default: return false;
	}
}

static bool run_register(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;
	uint64_t reg;

	if (op < DW_CFA_offset_extended || (op > DW_CFA_register && op < DW_CFA_expression) ||
	    (op > DW_CFA_val_expression && op != DW_CFA_GNU_negative_offset_extended))
		return false;
	reg = take_leb(c);
	switch (op) {
	case DW_CFA_offset_extended: save_at(p, reg, factored(p, take_leb(c))); return true;
	case DW_CFA_offset_extended_sf: save_at(p, reg, factored(p, (uint64_t)take_sleb(c))); return true;
	case DW_CFA_GNU_negative_offset_extended: save_at(p, reg, factored(p, 0 - take_leb(c))); return true;
	case DW_CFA_restore_extended: restore(p, reg); return true;
	case DW_CFA_undefined: save_how(p, reg, SAVED_UNDEFINED); return true;
	case DW_CFA_same_value: save_how(p, reg, SAVED_SAME); return true;
	case DW_CFA_register:
		take_leb(c);
		save_how(p, reg, SAVED_OTHER);
		return true;
	case DW_CFA_expression: save(p, reg, saved_from_expression(take_block(c))); return true;
	case DW_CFA_val_offset:
		take_leb(c);
		save_how(p, reg, SAVED_OTHER);
		return true;
	case DW_CFA_val_offset_sf:
		take_sleb(c);
		save_how(p, reg, SAVED_OTHER);
		return true;
	case DW_CFA_val_expression:
		take_block(c);
		save_how(p, reg, SAVED_OTHER);
		return true;
	default: return false;
	}
}

static void run_one(struct program *p)
{
	uint8_t op = take_byte(&p->c), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc: advance(p, low); return;
	case DW_CFA_offset: save_at(p, low, factored(p, take_leb(&p->c))); return;
	case DW_CFA_restore: restore(p, low); return;
	}
	if (!run_move(p, op) && !run_cfa(p, op) && !run_register(p, op))
		p->c.bad = true;
}

/* To the end of the instructions or, for entries, of the code they are for. */
static void run(struct program *p)
{
	while (p->c.at < p->c.end && !p->c.bad && !p->error && (!p->b || p->loc < p->end))
		run_one(p);
}

void cie_run(struct cie *cie, struct cursor program)
{
	struct program p;

	p.b = NULL;
	p.layer = NULL;
	p.cie = cie;
	p.c = program;
	p.begin = program.at;
	p.here = p.loc = p.end = 0;
	p.now = (struct frame_state){ 0 };
	p.changed = false;
	p.error = 0;
	p.depth = 0;
	run(&p);
	cie->bad = p.c.bad;
	cie->initial = p.now;
}

int fde_run(struct unwind_build *b, struct unwind_layer *layer, const struct cie *cie, uint64_t start, uint64_t end,
	    struct cursor program, uint64_t here)
{
	struct program p; /* large, and written before it is read */

	p.b = b;
	p.layer = layer;
	p.cie = cie;
	p.c = program;
	p.begin = program.at;
	p.here = here;
	p.loc = start;
	p.end = end;
	p.first_row = layer->rows.n;
	p.now = cie->initial;
	p.changed = true;
	p.error = 0;
	p.depth = 0;
	run(&p);
	if (!p.error && p.changed && !p.c.bad && p.loc < p.end)
		add_row(&p);
	if (p.error)
		return p.error;
	if (p.c.bad) {
		layer->rows.n = p.first_row;
		return -EBADMSG;
	}
	return unwind_close_span(b, layer, p.first_row, start, end);
}

/* SPDX-License-Identifier: MIT */
/*
 * How a function ends. Its parts are decoded from their first to their last instruction: compilers put no data between.
 * Every direct jump must arrive at a decoded instruction, otherwise the decoder was out of step and nothing is believed.
 */
#include "elf/returns.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "elf/image.h"

#define PART_BYTES_MAX (4u << 20)
#define PARTS_MAX 64
#define WINDOW 8 /* instructions before an indirect jump, among which the read of its table is looked for */

struct part {
	uint64_t start, size;
	uint8_t *is_instruction; /* by byte */
};

struct jump {
	uint64_t at, target;
	uint8_t condition;
};

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t at;
};

struct walk {
	struct elf_image *img;
	struct elf_returns *ret;
	bool is_go;
	ZydisDecoder decoder;
	VEC(struct part) parts;
	VEC(struct jump) jumps;
	struct decoded window[WINDOW]; /* a ring: the last instructions */
	size_t n; /* of instructions in this part */
};

bool elf_name_is_part(const char *name) { return strstr(name, ".cold") != NULL; }

static void set_problem(struct walk *w, uint64_t vaddr, const char *problem)
{
	if (w->ret->problem)
		return;
	w->ret->problem = problem;
	w->ret->problem_vaddr = vaddr;
}

static void out_of_memory(struct walk *w) { set_problem(w, 0, "could not be decoded for lack of memory"); }

static void add_end(struct walk *w, uint64_t at, enum elf_end_kind kind, uint8_t condition)
{
	if (vec_push(&w->ret->ends, ((struct elf_end){ .vaddr = at, .kind = kind, .condition = condition })))
		out_of_memory(w);
}

static const struct part *part_at(const struct walk *w, uint64_t vaddr)
{
	for (size_t i = 0; i < w->parts.n; i++)
		if (vaddr - w->parts.v[i].start < w->parts.v[i].size)
			return &w->parts.v[i];
	return NULL;
}

/* --- indirect jumps ------------------------------------------------------------------------------------------- */

static uint64_t rip_target(const struct decoded *d, const ZydisDecodedOperand *op)
{
	return d->at + d->insn.length + (uint64_t)op->mem.disp.value;
}

static bool is_rip(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.base == ZYDIS_REGISTER_RIP;
}

/* The @back-th instruction before the one that is decoded, 1 the last; NULL: there is none. */
static const struct decoded *before(const struct walk *w, size_t back)
{
	return back < WINDOW && back <= w->n ? &w->window[(w->n - back) % WINDOW] : NULL;
}

/* Does the first entry of the table of addresses at @table lie in the function, behind its start? */
static bool is_table_of_labels(const struct walk *w, uint64_t table)
{
	uint64_t label;

	return elf_read_at(w->img, table, &label, sizeof(label)) && label != w->parts.v[0].start && part_at(w, label);
}

/* A read of table[index], where 8 bytes are an address: its table must be known to hold labels. */
static bool reads_labels(const struct walk *w, const ZydisDecodedOperand *op)
{
	const struct decoded *d;

	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.index == ZYDIS_REGISTER_NONE || op->mem.scale != 8)
		return false;
	if (w->is_go)
		return true;
	if (op->mem.base == ZYDIS_REGISTER_NONE)
		return is_table_of_labels(w, (uint64_t)op->mem.disp.value);
	for (size_t back = 1; (d = before(w, back)); back++)
		if (d->insn.mnemonic == ZYDIS_MNEMONIC_LEA && d->operands[0].reg.value == op->mem.base &&
		    is_rip(&d->operands[1]))
			return is_table_of_labels(w, rip_target(d, &d->operands[1]));
	return false;
}

/*
 * Is the jump through this register a switch's? Compilers add a table's address to one of its entries of 4 bytes, or load
 * an entry of 8.
 */
static bool is_switch_register(const struct walk *w, ZydisRegister reg)
{
	bool added = false;
	const struct decoded *d;

	for (size_t back = 1; (d = before(w, back)); back++) {
		const ZydisDecodedOperand *to = &d->operands[0], *from = &d->operands[1];

		if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOVSXD && added && from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    from->mem.index != ZYDIS_REGISTER_NONE && from->mem.scale == 4)
			return true;
		if (d->insn.operand_count_visible < 2 || to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    to->reg.value != reg)
			continue;
		if (d->insn.mnemonic == ZYDIS_MNEMONIC_ADD)
			added = true;
		else if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOV)
			return reads_labels(w, from);
		else if (!added)
			return false;
	}
	return false;
}

static void note_indirect_jump(struct walk *w, const struct decoded *d)
{
	const ZydisDecodedOperand *op = &d->operands[0];

	if (d->insn.attributes & ZYDIS_ATTRIB_HAS_NOTRACK)
		return; /* with -fcf-protection only a switch jumps like this */
	if (is_rip(op)) /* through a variable or the table of imports */
		add_end(w, d->at, ELF_END_TAIL_JUMP, ELF_END_ALWAYS);
	else if (!(op->type == ZYDIS_OPERAND_TYPE_MEMORY && reads_labels(w, op)) &&
		 !(op->type == ZYDIS_OPERAND_TYPE_REGISTER && is_switch_register(w, op->reg.value)))
		set_problem(w, d->at, "has an indirect jump that may be a call in tail position");
}

/* --- one part ---------------------------------------------------------------------------------------------------- */

static void note_call(struct walk *w, const struct decoded *d)
{
	uint64_t got, got_size;
	bool is_import = is_rip(&d->operands[0]) && elf_image_section(w->img, ".got", &got, &got_size) &&
			 rip_target(d, &d->operands[0]) - got < got_size;

	w->ret->calls = true;
	if (d->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    d->at + d->insn.length + (uint64_t)d->operands[0].imm.value.s == w->parts.v[0].start)
		w->ret->calls_itself = true;
	if (d->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE && !is_import)
		w->ret->calls_pointer = true;
}

static void note_jump(struct walk *w, const struct decoded *d, bool is_conditional)
{
	uint8_t condition = is_conditional ? d->insn.opcode & 0x0f : ELF_END_ALWAYS;
	uint64_t target;

	if (d->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		note_indirect_jump(w, d);
		return;
	}
	target = d->at + d->insn.length + (uint64_t)d->operands[0].imm.value.s;
	/* LOOP and JRCXZ test a register; compilers do not use them, and never to leave a function */
	if (is_conditional && (d->insn.opcode & 0xf0) == 0xe0 && !part_at(w, target))
		set_problem(w, d->at, "leaves by LOOP or JRCXZ");
	if (vec_push(&w->jumps, ((struct jump){ d->at, target, condition })))
		out_of_memory(w);
}

static void note_instruction(struct walk *w, const struct decoded *d)
{
	switch (d->insn.meta.category) {
	case ZYDIS_CATEGORY_CALL: note_call(w, d); break;
	case ZYDIS_CATEGORY_UNCOND_BR: note_jump(w, d, false); break;
	case ZYDIS_CATEGORY_COND_BR: note_jump(w, d, true); break;
	case ZYDIS_CATEGORY_RET:
		if (d->insn.mnemonic == ZYDIS_MNEMONIC_RET && d->insn.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR)
			add_end(w, d->at, ELF_END_RETURN, ELF_END_ALWAYS);
		else
			set_problem(w, d->at, "returns to another privilege or code segment");
		break;
	default: break;
	}
}

static void decode_part(struct walk *w, const struct part *part)
{
	AUTO_FREE uint8_t *bytes = malloc(part->size);

	w->n = 0;
	if (!bytes) {
		out_of_memory(w);
		return;
	}
	if (!elf_read_at(w->img, part->start, bytes, part->size)) {
		set_problem(w, part->start, "is not completely in the file");
		return;
	}
	for (uint64_t at = 0; at < part->size && !w->ret->problem;) {
		struct decoded *d = &w->window[w->n % WINDOW];

		if (!ZYAN_SUCCESS(
			    ZydisDecoderDecodeFull(&w->decoder, bytes + at, part->size - at, &d->insn, d->operands))) {
			set_problem(w, part->start + at, "has an instruction that cannot be decoded");
			return;
		}
		d->at = part->start + at;
		part->is_instruction[at] = 1;
		note_instruction(w, d);
		at += d->insn.length;
		w->n++;
	}
}

static void add_part(struct walk *w, uint64_t start, uint64_t size)
{
	struct part part = { .start = start, .size = size };

	if (!size || size > PART_BYTES_MAX || w->parts.n == PARTS_MAX) {
		set_problem(w, start, !size ? "has a part whose size is unknown" : "is too large to decode");
		return;
	}
	part.is_instruction = calloc(size, 1);
	if (!part.is_instruction || vec_push(&w->parts, part)) {
		free(part.is_instruction);
		out_of_memory(w);
		return;
	}
	decode_part(w, &part);
}

/* --- jumps ------------------------------------------------------------------------------------------------------- */

static void leave_by(struct walk *w, const struct jump *j) { add_end(w, j->at, ELF_END_TAIL_JUMP, j->condition); }

/* A jump out of all parts that are known: to another part, or to another function. */
static void note_exit(struct walk *w, const struct jump *j)
{
	const struct elf_symbol *f = elf_function_at(w->img, j->target);
	uint64_t start, end;

	if (f && elf_name_is_part(f->name))
		add_part(w, f->vaddr, f->size);
	else if ((f && f->vaddr == j->target) || elf_stub_at(w->img, j->target))
		leave_by(w, j);
	else if (elf_unwind_entry_at(w->img, j->target, &start, &end) && (!f || start != f->vaddr)) {
		/* without a symbol: a static function, or a part of this one */
		if (start == j->target && elf_is_function_start(w->img, start))
			leave_by(w, j);
		else
			add_part(w, start, end - start);
	} else {
		set_problem(w, j->at, "jumps into the middle of another function");
	}
}

static void follow_jumps(struct walk *w)
{
	for (size_t i = 0; i < w->jumps.n && !w->ret->problem; i++) {
		const struct jump j = w->jumps.v[i]; /* a new part adds jumps */
		const struct part *part = part_at(w, j.target);

		if (!part) {
			note_exit(w, &j);
			part = part_at(w, j.target);
		}
		if (part && !w->ret->problem && !part->is_instruction[j.target - part->start])
			set_problem(w, j.at, "jumps into the middle of an instruction");
		/* Back to its first instruction: as a call of itself in tail position. */
		if (j.target == w->parts.v[0].start && !w->is_go)
			leave_by(w, &j);
	}
}

/*
 * Go's functions begin with a check of their stack. Where it is too small, a copy is made and the function starts again,
 * with its first instruction. The stack pointer is still the entry's behind the check's jump.
 */
static void skip_stack_check(struct walk *w)
{
	enum { CHECK_MAX = 5 }; /* instructions */
	const struct part *part = &w->parts.v[0];
	bool restarts = false;
	uint64_t at = part->start;

	for (size_t i = 0; i < w->jumps.n; i++)
		restarts |= w->jumps.v[i].target == part->start;
	for (int i = 0; restarts && i < CHECK_MAX; i++) {
		uint64_t next = at + 1;

		while (next - part->start < part->size && !part->is_instruction[next - part->start])
			next++;
		for (size_t k = 0; k < w->jumps.n; k++) {
			if (w->jumps.v[k].at != at || w->jumps.v[k].condition == ELF_END_ALWAYS)
				continue;
			if (next - part->start < part->size)
				w->ret->entry = next;
			return;
		}
		at = next;
	}
}

void elf_function_returns(struct elf_image *img, uint64_t start, uint64_t size, bool is_go, struct elf_returns *ret)
{
	struct walk *w = calloc(1, sizeof(*w));

	*ret = (struct elf_returns){ .entry = start };
	if (!w) {
		ret->problem = "could not be decoded for lack of memory";
		return;
	}
	w->img = img;
	w->ret = ret;
	w->is_go = is_go;
	ZydisDecoderInit(&w->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	add_part(w, start, size);
	if (!ret->problem)
		follow_jumps(w);
	if (!ret->problem && is_go)
		skip_stack_check(w);
	/* two probes at one address run in an order that nobody promises */
	for (size_t i = 0; i < ret->ends.n; i++)
		if (ret->ends.v[i].kind == ELF_END_TAIL_JUMP && ret->ends.v[i].vaddr == ret->entry)
			set_problem(w, ret->entry, "begins with a jump to another function");
	ret->parts = (unsigned)w->parts.n;
	for (size_t i = 0; i < w->parts.n; i++)
		free(w->parts.v[i].is_instruction);
	vec_done(&w->parts);
	vec_done(&w->jumps);
	free(w);
}

void elf_returns_done(struct elf_returns *r) { vec_done(&r->ends); }

/* --- files ------------------------------------------------------------------------------------------------------- */

static bool has_string(struct elf_image *img, const char *section, const char *wanted)
{
	const void *data;
	size_t size, len = strlen(wanted) + 1;

	return elf_image_section_data(img, section, &data, &size) && memmem(data, size, wanted, len);
}

bool elf_image_unwinds(struct elf_image *img)
{
	/* with their NUL: the ends of names of symbols and libraries */
	static const char *const names[] = { "__gxx_personality_v0", "__cxa_throw",	    "_Unwind_RaiseException",
					     "_Unwind_Resume",	     "rust_eh_personality", "libstdc++.so.6",
					     "libc++.so.1",	     "libc++abi.so.1" };
	struct elf_symbol ignored;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (has_string(img, ".dynstr", names[i]))
			return true;
	/* a static program; one in C has the unwinder as well, which cancels threads */
	for (size_t i = 0; i < 2; i++)
		if (elf_symbol_find(img, names[i], &ignored))
			return true;
	return elf_symbol_find(img, "rust_eh_personality", &ignored) != 0;
}

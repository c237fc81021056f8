/* SPDX-License-Identifier: MIT */
/* The DWARF expressions that compilers, linkers and libc write into unwind tables, recognized by their form. */
#include <dwarf.h>

#include "elf/unwind_priv.h"

enum { RSP = 7, RIP = 16 };

static bool is_literal(uint8_t op) { return op >= DW_OP_lit0 && op <= DW_OP_lit31; }

/* The base register of an expression; 0xff when it does not begin with one. */
static uint8_t parse_register_operand(struct cursor *c, int64_t *ret_off)
{
	uint8_t op = take_byte(c);

	if (op < DW_OP_breg0 || op > DW_OP_breg0 + RIP)
		return 0xff;
	*ret_off = take_sleb(c);
	return c->bad ? 0xff : op - DW_OP_breg0;
}

/* What the linker writes for .plt: rsp + 8 + ((rip & 15) >= N) * 8; the cursor is behind «breg7 8». */
static bool is_stub(struct cursor c, int64_t *ret_byte)
{
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	int64_t off = 0;
	uint8_t byte;

	if (parse_register_operand(&c, &off) != RIP || off || take_byte(&c) != DW_OP_lit15 ||
	    take_byte(&c) != DW_OP_and)
		return false;
	byte = take_byte(&c);
	*ret_byte = byte - DW_OP_lit0;
	return is_literal(byte) && byte <= DW_OP_lit15 && (size_t)(c.end - c.at) == sizeof(tail) &&
	       memcmp(c.at, tail, sizeof(tail)) == 0;
}

/* What is added to a value that was read, to the end of the expression. */
static bool parse_sum(struct cursor *c, int64_t *ret)
{
	uint8_t op;

	*ret = 0;
	if (c->at == c->end)
		return true;
	op = take_byte(c);
	if (op == DW_OP_plus_uconst) {
		*ret = (int64_t)take_leb(c);
		return !c->bad && c->at == c->end;
	}
	if (is_literal(op))
		*ret = op - DW_OP_lit0;
	else if (op == DW_OP_const1u)
		*ret = take_byte(c);
	else if (op == DW_OP_const1s)
		*ret = (int8_t)take_byte(c);
	else if (op == DW_OP_consts)
		*ret = take_sleb(c);
	else
		return false;
	op = take_byte(c);
	if (op == DW_OP_minus)
		*ret = (int64_t)(0 - (uint64_t)*ret);
	return (op == DW_OP_plus || op == DW_OP_minus) && !c->bad && c->at == c->end;
}

struct cfa_rule cfa_from_expression(struct cursor c)
{
	struct cfa_rule other = { .how = CFA_OTHER }, ret = { .how = CFA_READ };

	ret.reg = parse_register_operand(&c, &ret.off);
	if (ret.reg == 0xff)
		return other;
	if (c.at == c.end)
		return (struct cfa_rule){ .how = CFA_REGISTER, .reg = ret.reg, .off = ret.off };
	if (ret.reg == RSP && ret.off == 8 && is_stub(c, &ret.add))
		return (struct cfa_rule){ .how = CFA_STUB, .reg = RSP, .off = 8, .add = ret.add };
	if (take_byte(&c) != DW_OP_deref || !parse_sum(&c, &ret.add))
		return other;
	return ret;
}

struct saved_rule saved_from_expression(struct cursor c)
{
	struct saved_rule ret = { .how = SAVED_AT_REGISTER };

	ret.reg = parse_register_operand(&c, &ret.off);
	if (ret.reg == 0xff || c.at != c.end)
		return (struct saved_rule){ .how = SAVED_OTHER };
	return ret;
}

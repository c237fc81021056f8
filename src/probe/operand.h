/* SPDX-License-Identifier: MIT */
/* The operands of a USDT note (x86-64, AT&T syntax as the compiler wrote it), parsed. Pure. */
#ifndef UT_PROBE_OPERAND_H
#define UT_PROBE_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct elf_image;

/* General registers in the order of their x86 encoding; X86_NONE where an address has no base or no index. */
enum reg {
	X86_RAX,
	X86_RCX,
	X86_RDX,
	X86_RBX,
	X86_RSP,
	X86_RBP,
	X86_RSI,
	X86_RDI,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	X86_RIP,
	X86_NONE = 0xff
};

enum operand_kind {
	OPERAND_UNREADABLE, /* reason is set; otherwise only size, is_signed and is_float are valid, where known */
	OPERAND_CONST, /* value */
	OPERAND_REG, /* base; bits shift…shift+8*size */
	OPERAND_MEM, /* *(size bytes at base + index * scale + disp [+ symbol]) */
	OPERAND_ADDR, /* the address symbol + disp itself ($symbol) */
};

struct operand {
	enum operand_kind kind;
	uint8_t size; /* 1, 2, 4, 8 bytes */
	bool is_signed;
	bool is_float; /* 'f' mark: the bits are an IEEE float (4) or double (8) */
	enum reg base, index;
	uint8_t scale; /* 1, 2, 4, 8 */
	uint8_t shift; /* 8 for %ah and its kin, else 0 */
	int64_t disp; /* constant part of the address */
	uint64_t value; /* OPERAND_CONST: truncated to size, extended by its sign to 64 bits */
	/*
	 * The address has a symbol. After operand_resolve, sym_vaddr is its address in the file's numbering, and the
	 * running address is sym_vaddr + (running ip - site vaddr): right for PIE, prelinked and fixed programs alike.
	 * base is X86_NONE then for `sym(%rip)`; it may be a register for `sym(%rax)`.
	 */
	bool has_symbol;
	uint64_t sym_vaddr;
	char symbol[128];
	char text[96]; /* the operand as in the note (truncated if longer), for messages */
	char reason[160]; /* OPERAND_UNREADABLE: a clause such as "is in %xmm0, which the kernel does not hand out" */
};

#define OPERANDS_MAX 12

struct operands {
	unsigned n;
	struct operand v[OPERANDS_MAX];
};

/*
 * Parses an argument string ("8@%rax -4@$-5 …"; "" is legal: no arguments). Never fails as a whole because of one bad
 * operand: that one becomes OPERAND_UNREADABLE with a reason, and its neighbours are unharmed. Operands may contain spaces
 * inside parentheses. More than OPERANDS_MAX: the rest is dropped and -E2BIG is returned; otherwise 0.
 */
int operands_parse(const char *args, struct operands *ret);
/* One operand, @len bytes at @text, with its size mark ("-4@…"). Always fills @ret. */
void operand_parse(const char *text, size_t len, struct operand *ret);
/* Looks up the symbols; what is not found, ambiguous, thread-local or in the GOT becomes OPERAND_UNREADABLE. */
void operand_resolve(struct operand *op, struct elf_image *img);

/* "int32", "uint8", "double"…: the name of an operand's type in listings and messages. */
const char *operand_type_name(const struct operand *op);

#endif

/* SPDX-License-Identifier: MIT */
/* How a function ends (x86-64): its RET instructions, and its jumps to other functions, which return in its place. */
#ifndef UT_ELF_RETURNS_H
#define UT_ELF_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct elf_image;

enum elf_end_kind {
	ELF_END_RETURN, /* a RET instruction: the stack pointer is that of the entry */
	ELF_END_TAIL_JUMP, /* the function that is jumped to returns in place of this one */
};

/* A condition of x86: the low 4 bits of the opcode of a conditional jump (0: overflow, 1: no overflow, …). */
#define ELF_END_ALWAYS 0xff

struct elf_end {
	uint64_t vaddr; /* of the instruction */
	enum elf_end_kind kind;
	uint8_t condition; /* of a tail jump; ELF_END_ALWAYS: none */
};

struct elf_returns {
	VEC(struct elf_end) ends;
	uint64_t
		entry; /* where a call can be counted once: behind Go's check of the stack, which runs the start again */
	unsigned parts; /* 1, and those that the compiler split off */
	bool calls; /* calls another function */
	bool calls_itself;
	bool calls_pointer; /* calls a function through a pointer */
	const char *problem; /* why @ends cannot be trusted, a clause about the function; NULL: they can */
	uint64_t problem_vaddr; /* of the instruction */
};

/*
 * Decodes the function at [start, start + size) and the parts that it jumps to. @is_go: an indirect jump through a table
 * is a switch, because Go's compiler has no indirect tail calls. Never fails: a function that cannot be decoded has a
 * problem. @ret: to be released with elf_returns_done.
 */
void elf_function_returns(struct elf_image *img, uint64_t start, uint64_t size, bool is_go, struct elf_returns *ret);
void elf_returns_done(struct elf_returns *r);
/* Was this function's name given by a compiler to a part that it split off (".cold")? Such a part is jumped to. */
bool elf_name_is_part(const char *name);
/*
 * Does this file throw or catch exceptions, or is it linked with an unwinder (C++, Rust, C with cleanups)? From the names in
 * its dynamic strings and symbols.
 */
bool elf_image_unwinds(struct elf_image *img);

#endif

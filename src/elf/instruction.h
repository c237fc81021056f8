/* SPDX-License-Identifier: MIT */
/* Where the instructions of a function begin (x86-64). */
#ifndef UT_ELF_INSTRUCTION_H
#define UT_ELF_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

struct elf_image;

/*
 * Is @vaddr the beginning of an instruction of the function at @start? A breakpoint anywhere else would break the
 * program. false also where the code cannot be read or decoded.
 */
bool elf_is_instruction(struct elf_image *img, uint64_t start, uint64_t vaddr);

#endif

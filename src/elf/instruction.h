/* SPDX-License-Identifier: MIT */
/* Where the instructions of a function begin, and which of them can be probed (x86-64). */
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
/*
 * Does the kernel accept a probe on the instruction at @vaddr? It refuses some (a lock prefix, hlt, in and out), for a
 * process that maps the file later in silence. true where the code cannot be decoded.
 */
bool elf_is_probeable(struct elf_image *img, uint64_t vaddr);

#endif

/* SPDX-License-Identifier: MIT */
/* Source lines and inlined calls at an address, from DWARF 2 to 5, of the file itself or of the separate one with its
 * debugging symbols. Units are read when first asked for and kept. Foreign bytes: elfutils checks them, depth, numbers
 * and sizes are bounded here. Not thread-safe. */
#ifndef UT_ELF_LINES_H
#define UT_ELF_LINES_H

#include "elf/image.h"

struct elf_lines;

/* One of the calls that are at an address. Strings live as long as the object. */
struct elf_place {
	const char *name; /* of the function, mangled where the compiler says so; NULL: unknown */
	const char *file; /* as the compiler has it; NULL: not known */
	uint32_t line; /* 0: not known */
};

#define ELF_PLACES_MAX 64

/* NULL: @img, which must live on, has no debugging information, or it is too large to be read (more than 2 GiB). */
struct elf_lines *elf_lines_open(struct elf_image *img);
struct elf_lines *elf_lines_free(struct elf_lines *l); /* returns NULL, takes NULL */
/*
 * What is at @vaddr, innermost first: the calls that were inlined, and last the function whose code it is. Returns how
 * many, at most ELF_PLACES_MAX (the outermost are kept); 0 when nothing is known.
 */
size_t elf_lines_at(struct elf_lines *l, uint64_t vaddr, struct elf_place ret[ELF_PLACES_MAX]);

#endif

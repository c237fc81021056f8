/* SPDX-License-Identifier: MIT */
/* Recognizes 5-byte nops and their location in a function. */
#include "plan/nop5.h"

#include <string.h>

#define NOP5 "\x0f\x1f\x44\x00\x00"
#define ENDBR64 "\xf3\x0f\x1e\xfa"

static bool is_nop5(struct elf_image *img, uint64_t vaddr)
{
	char bytes[5];

	return elf_read_at(img, vaddr, bytes, sizeof(bytes)) && !memcmp(bytes, NOP5, 5);
}

enum nop5_location nop5_location(struct elf_image *img, uint64_t vaddr)
{
	char before[4];

	if (!is_nop5(img, vaddr))
		return NOP5_NONE;
	if (elf_is_function_start(img, vaddr))
		return NOP5_FIRST;
	return vaddr >= 4 && elf_read_at(img, vaddr - 4, before, 4) && !memcmp(before, ENDBR64, 4) &&
			       elf_is_function_start(img, vaddr - 4)
		       ? NOP5_FIRST
		       : NOP5_INSIDE;
}

bool nop5_begins_before(struct elf_image *img, uint64_t vaddr)
{
	return vaddr >= 5 && is_nop5(img, vaddr - 5) && elf_is_function_start(img, vaddr - 5);
}

/* SPDX-License-Identifier: MIT */
/* Probe sites on 5-byte nops, which some kernels cannot probe safely: record/nop5_harm.h has the reasons. */
#ifndef UT_PLAN_NOP5_H
#define UT_PLAN_NOP5_H

#include "elf/image.h"

enum nop5_location {
	NOP5_NONE, /* another instruction */
	NOP5_FIRST, /* the first instruction of a function, after endbr64, if any */
	NOP5_INSIDE,
};
enum nop5_location nop5_location(struct elf_image *img, uint64_t vaddr);
/* Is the instruction before @vaddr a 5-byte nop at the start of a function? */
bool nop5_begins_before(struct elf_image *img, uint64_t vaddr);

#endif

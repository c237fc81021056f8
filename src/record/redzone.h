/* SPDX-License-Identifier: MIT */
/*
 * A traced program must never be changed by being traced. Since Linux 6.18 a probe on a 5-byte nop is turned into a
 * CALL, which writes 8 and more bytes below the stack pointer: harmless where a function begins, fatal in a leaf
 * function that keeps data in the red zone there (System V ABI for x86-64, 3.2.2).
 */
#ifndef UT_RECORD_REDZONE_H
#define UT_RECORD_REDZONE_H

#include "base/err.h"
#include "elf/image.h"

/* True when the instruction at @vaddr is a 5-byte nop that is not the first of a function (after endbr64, if any). */
bool redzone_at_risk(struct elf_image *img, uint64_t vaddr);

enum redzone_state {
	REDZONE_SAFE,		/* tried: this kernel leaves the red zone alone */
	REDZONE_DESTROYED,	/* tried: it writes into it */
	REDZONE_UNKNOWN,	/* could not be tried (no rights) */
};
/* Tries it on a function of our own, once; needs the right to attach. */
enum redzone_state redzone_of_kernel(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For programs: the context of a uprobe. */
#ifndef UT_BPF_REGISTERS_H
#define UT_BPF_REGISTERS_H

#include <stdint.h>

/* The registers of x86-64, as ptrace and the kernel have them. */
struct registers {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#endif

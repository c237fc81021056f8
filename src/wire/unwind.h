/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables as the walker reads them (src/bpf/walk.h), in the kernel from BPF maps and in tests from memory.
 *
 * A file's executable addresses, in its own numbering (vaddr), are divided into pages of 64 KiB. A *row* is 4 bytes:
 * the low 16 bits of the first address it holds for, and the number of a *rule*, which says how to get from a frame
 * to its caller. Rows of a page are sorted; the first row of a page is for its address 0, so no search leaves its
 * page. A *directory* has one entry for each page: the number of its first row; one entry more ends the last page.
 * Only x86-64.
 */
#ifndef UT_WIRE_UNWIND_H
#define UT_WIRE_UNWIND_H

#include "wire/record.h"

#define UT_UNWIND_PAGE_SHIFT 16
#define UT_UNWIND_ROW(low, rule) ((uint32_t)(low) | (uint32_t)(rule) << 16)
#define UT_UNWIND_ROW_LOW(row) ((row)&0xffffu)
#define UT_UNWIND_ROW_RULE(row) ((row) >> 16)
#define UT_UNWIND_RULES_MAX 65536

/* How the canonical frame address is found: the stack pointer before the call, by DWARF's definition. */
enum ut_unwind_cfa {
	UT_CFA_UNKNOWN = 0, /* nothing is known of this code: frame pointers are tried */
	UT_CFA_REG = 1, /* value of cfa_reg + cfa_off */
	UT_CFA_DEREF = 2, /* what lies at cfa_reg + cfa_off, + cfa_add: realigned stacks */
	UT_CFA_PLT = 3, /* rsp + 8, and 8 more from byte cfa_add of each 16 bytes of code on: stubs of the PLT */
	UT_CFA_SIGNAL = 4, /* the frame the kernel makes for a handler: all registers lie in its ucontext, at rsp */
	UT_CFA_OUTERMOST = 5, /* the return address is undefined: here the thread began */
	UT_CFA_UNSUPPORTED = 6, /* the file defines it in an unsupported way */
};

/* Where the caller's value of a register is. */
enum ut_unwind_saved {
	UT_SAVED_SAME = 0, /* unchanged */
	UT_SAVED_CFA = 1, /* at CFA + off */
	UT_SAVED_RBP = 2, /* at rbp + off, with this frame's rbp */
	UT_SAVED_UNDEFINED = 3,
};

/* Rule 0 of every set of rules is UT_CFA_UNKNOWN, all else 0. */
struct ut_unwind_rule {
	uint8_t cfa; /* enum ut_unwind_cfa */
	uint8_t cfa_reg; /* DWARF's number: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8…15 r8…r15 */
	uint8_t rbp, rbx; /* enum ut_unwind_saved */
	int32_t cfa_off;
	int16_t cfa_add;
	int16_t ra_off; /* the return address lies at CFA + ra_off: -8 nearly always */
	int16_t rbp_off, rbx_off;
};
UT_ASSERT(sizeof(struct ut_unwind_rule) == 16, "table layout");

/* What kind of code lies in an executable mapping. */
enum ut_unwind_code {
	UT_CODE_TABLE = 1, /* a file with a directory; where that knows nothing, frame pointers are tried */
	UT_CODE_FILE = 2, /* a file without any: frame pointers */
	UT_CODE_RUNTIME = 3, /* compiled at run time: frame pointers */
	UT_CODE_BARE = 4, /* compiled at run time, and known to use rbp for other things: the walk ends there */
	UT_CODE_RETURNS = 5, /* the kernel's: functions whose return is probed return there first */
};

/* One executable mapping of a process. A process's mappings are neighbours in their map, by address. */
struct ut_unwind_mapping {
	uint64_t start, end; /* addresses */
	uint64_t bias; /* address - vaddr */
	uint32_t process; /* its tgid: a slot that is another's by now is not believed */
	uint32_t code; /* enum ut_unwind_code */
	uint32_t directory; /* number of the directory's entry for first_page */
	uint32_t first_page, pages;
	uint32_t reserved;
};
UT_ASSERT(sizeof(struct ut_unwind_mapping) == 48, "table layout");

/* The value of a process in the map of processes. */
struct ut_unwind_process {
	uint32_t first, n; /* its mappings */
	uint32_t stamp; /* differs when anything did: cached copies with another stamp are invalid */
	uint32_t flags; /* UT_PROCESS_* */
	uint32_t owner; /* whose mappings these are: its own, or still its parent's */
	uint32_t reserved;
};
UT_ASSERT(sizeof(struct ut_unwind_process) == 24, "table layout");
#define UT_PROCESS_WANTED 1u /* it is sampled */
#define UT_PROCESS_KNOWN 2u /* its mappings are there */

/* Why a walk ended. */
enum ut_walk_end {
	UT_END_START = 0, /* where the thread began: the stack is complete */
	UT_END_NONE = 1, /* there is no user part: a thread of the kernel, or none was asked for */
	UT_END_DEPTH = 2, /* more frames than the limit */
	UT_END_NO_INFO = 3, /* end_addr: code of a file, without unwind information, that keeps no frame pointer */
	UT_END_STACK = 4, /* end_addr: memory of the stack that could not be read without waiting */
	UT_END_NO_MAPPING = 5, /* end_addr: an address in no mapping that is known */
	UT_END_NO_PROCESS = 6, /* the process's mappings were not known yet */
	UT_END_RUNTIME = 7, /* end_addr: code compiled at run time, whose frame pointer led nowhere */
	UT_END_BARE = 8, /* end_addr: the same, known to keep none */
	UT_END_LOOP = 9, /* the next frame was not further up */
	UT_END_REGISTER = 10, /* end_addr: its caller needs a register that was not saved */
	UT_END_UNSUPPORTED = 11, /* end_addr: UT_CFA_UNSUPPORTED */
	UT_END_BUSY = 12, /* another walk was under way on this processor */
};

/* The limit of frames of a user stack, and of addresses before them: those of a kernel stack. */
#define UT_WALK_FRAMES 1024
#define UT_WALK_KERNEL_ROOM 127
/*
 * Set in an address of a stack that is the current instruction, and not a return address: the innermost
 * one, and those that a signal interrupted. User addresses are below it.
 */
#define UT_IP_EXACT (1ull << 63)

#endif

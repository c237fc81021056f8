/* SPDX-License-Identifier: MIT */
/* Two functions that are nothing but a USDT probe of two 64-bit arguments, made by hand: no header is needed to build
 * them, and no compiler moves anything. */
#ifndef UT_TESTS_BENCH_SITES_H
#define UT_TESTS_BENCH_SITES_H

#include <stdint.h>

/* A function of one probe and a return. The note is what sys/sdt.h would write. */
#define SITE(function, name, instruction) \
	__asm__(".text\n.p2align 6\n.globl " function "\n.type " function ", @function\n" function ":\n" \
		"990: " instruction "\n ret\n.size " function ", . - " function "\n" \
		".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n" \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n" \
		".asciz \"bench\"\n.asciz \"" name "\"\n.asciz \"8@%rdi 8@%rsi\"\n994: .balign 4\n.popsection\n" \
		".ifndef _.stapsdt.base\n" \
		".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
		".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n" \
		".popsection\n.endif\n")

void fire_nop1(uint64_t a, uint64_t b); /* bench:nop1, as sys/sdt.h makes a probe */
void fire_nop5(uint64_t a, uint64_t b); /* bench:nop5, a 5-byte nop where a function begins */

#endif

/* SPDX-License-Identifier: MIT */
/* The probes of probe_fire.h, once for each runner. */

#define FIRE_GET(n, reg) "	movq fire_before+8*" #n "(%rip), %" #reg "\n"
#define FIRE_PUT(n, reg) "	movq %" #reg ", fire_after+8*" #n "(%rip)\n"
/* clang-format off */
#define FIRE_ALL(M) \
	M(0, rax) M(1, rcx) M(2, rdx) M(3, rbx) M(5, rbp) M(6, rsi) M(7, rdi) M(8, r8) M(9, r9) M(10, r10) M(11, r11) \
	M(12, r12) M(13, r13) M(14, r14) M(15, r15)
/* clang-format on */
#define FIRE_FUNCTION(name, nop) \
	".globl " name "\n.hidden " name "\n.globl " name "_site\n.hidden " name "_site\n" \
	".type " name ", @function\n.p2align 4\n" name ":\n" \
	"	pushq %rbx\n	pushq %rbp\n	pushq %r12\n	pushq %r13\n	pushq %r14\n	pushq %r15\n" \
	"	movq %rsp, fire_own_stack(%rip)\n" FIRE_ALL(FIRE_GET) FIRE_GET(4, rsp) name "_site:\n" nop \
	FIRE_ALL(FIRE_PUT) FIRE_PUT(4, rsp) "	movq fire_own_stack(%rip), %rsp\n" \
					    "	popq %r15\n	popq %r14\n	popq %r13\n	popq %r12\n	popq " \
					    "%rbp\n	popq %rbx\n	ret\n" \
					    ".size " name ", . - " name "\n"
#define FIRE_NOP5 "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"

__asm__(".text\n" FIRE_FUNCTION("fire_nop1", "	nop\n") FIRE_FUNCTION(
	"fire_nop5",
	FIRE_NOP5) ".data\n.globl fire_before\n.hidden fire_before\n.globl fire_after\n.hidden fire_after\n"
		   ".globl fire_own_stack\n.hidden fire_own_stack\n.p2align 6\n"
		   "fire_before: .skip 128\nfire_after: .skip 128\nfire_own_stack: .skip 8\n.text\n");

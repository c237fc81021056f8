/* SPDX-License-Identifier: MIT */
/* A leaf function that keeps its argument below the stack pointer, with two probes: one on a 5-byte nop, one on a nop. */
#include <stdio.h>
#include <unistd.h>
long leaf(long);
__asm__(".text\n.globl leaf\n.type leaf,@function\nleaf: movq %rdi,-8(%rsp)\n990: .byte 0x0f,0x1f,0x44,0,0\n"
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz "
	"\"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte 0\n.8byte 0\n.asciz \"n5\"\n.asciz \"mid\"\n.asciz "
	"\"-8@%rdi\"\n994: .balign 4\n.popsection\n"
	" movq -8(%rsp),%rax\n995: nop\n"
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz "
	"\"stapsdt\"\n992: .balign 4\n993: .8byte 995b\n.8byte 0\n.8byte 0\n.asciz \"n5\"\n.asciz \"good\"\n.asciz "
	"\"-8@%rdi\"\n994: .balign 4\n.popsection\n"
	" ret\n.size leaf,.-leaf\n");
int main(void)
{
	long bad = 0;

	for (long i = 0; i < 100; i++)
		bad += leaf(i) != i;
	printf("event bad %ld\n", bad);
	return 0;
}

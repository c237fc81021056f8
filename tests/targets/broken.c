/* SPDX-License-Identifier: MIT */
/* A probe that works among others whose notes are wrong. */
#include <stdio.h>
#include <sys/sdt.h>

#define NOTE(place, name, operands) \
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte " place "\n.8byte _.stapsdt.base\n.8byte 0\n" \
	".asciz \"broken\"\n.asciz \"" name "\"\n.asciz \"" operands "\"\n994: .balign 4\n.popsection\n"

int main(void)
{
	__asm__ volatile("990: nop\n" NOTE("990b", "operand", "8@%zzz 4@$5"));
	__asm__ volatile(NOTE("0x10", "nowhere", "4@$1"));
	__asm__ volatile("990: .byte 0x0f, 0x1f, 0x00\n" NOTE("990b+1", "middle", "4@$1"));
	DTRACE_PROBE1(broken, fine, 42);
	printf("event fine 42\n");
	return 0;
}

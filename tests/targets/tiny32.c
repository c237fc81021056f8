/* SPDX-License-Identifier: MIT */
/* A 32-bit program without a library: a probe, then it waits for a signal. */
void _start(void)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n993: .4byte 990b\n.4byte 0\n.4byte 0\n"
			 ".asciz \"tiny\"\n.asciz \"one\"\n.asciz \"4@$5\"\n994: .balign 4\n.popsection\n");
	for (;;)
		__asm__ volatile("int $0x80" ::"a"(29)); /* pause */
}

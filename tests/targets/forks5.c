/* SPDX-License-Identifier: MIT */
/* A function that begins with a 5-byte nop, which bears a probe; it is called before a fork, and after it in the child. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

long start5(long);
__asm__(".text\n.globl start5\n.type start5,@function\nstart5:\n990: .byte 0x0f,0x1f,0x44,0,0\n"
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n"
	"992: .balign 4\n993: .8byte 990b\n.8byte 0\n.8byte 0\n.asciz \"f5\"\n.asciz \"start\"\n.asciz \"-8@%rdi\"\n"
	"994: .balign 4\n.popsection\n"
	" movq %rdi,%rax\n ret\n.size start5,.-start5\n");

int main(void)
{
	int status = -1;
	pid_t child;

	for (long i = 0; i < 10; i++)
		start5(i);
	child = fork();
	if (child == 0)
		_exit(start5(7) != 7);
	waitpid(child, &status, 0);
	printf("event child %d\n", status);
	return 0;
}

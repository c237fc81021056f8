/* SPDX-License-Identifier: MIT */
/* Four children, each of which fires twice; the parent fires once: nine events. With an argument it begins at a line of input. */
#include <stdio.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (argc > 1 && getchar() == EOF)
		return 1;
	for (int i = 0; i < 4; i++) {
		if (!fork()) {
			DTRACE_PROBE1(fk, child, i);
			usleep(20000);
			DTRACE_PROBE1(fk, child, i + 100);
			_exit(0);
		}
	}
	DTRACE_PROBE1(fk, parent, 1);
	while (wait(0) > 0)
		;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * reuse PROGRAM OTHER: runs PROGRAM, and when that has ended OTHER as a process of the same number. Prints the number, or
 * "taken" if another process had it meanwhile. As root.
 */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t run(const char *program, pid_t number)
{
	struct clone_args args;
	pid_t pid;

	memset(&args, 0, sizeof(args));
	args.exit_signal = SIGCHLD;
	args.set_tid = number ? (uint64_t)(uintptr_t)&number : 0;
	args.set_tid_size = number ? 1 : 0;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid)
		return pid;
	execl(program, program, (char *)NULL);
	_exit(127);
}

int main(int argc, char **argv)
{
	pid_t first, second;

	if (argc != 3)
		return 2;
	first = run(argv[1], 0);
	if (first < 0 || waitpid(first, NULL, 0) != first)
		return 1;
	second = run(argv[2], first);
	if (second < 0) {
		puts("taken");
		return 0;
	}
	waitpid(second, NULL, 0);
	printf("%d\n", (int)second);
	return 0;
}

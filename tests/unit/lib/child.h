/* SPDX-License-Identifier: MIT */
/* Child processes that stay until they are ended, at the latest with the test. */
#ifndef UT_TESTS_CHILD_H
#define UT_TESTS_CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

enum child_there {
	CHILD_RUNS, /* when it has been executed */
	CHILD_WRITES, /* when it has written a byte to its standard output */
};

/* Starts @program with the argument "1000" and returns when it is there; without one, a copy of this program. */
static inline pid_t child_program(const char *program, enum child_there there)
{
	int p[2];
	char c;
	pid_t pid;

	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (there == CHILD_WRITES)
			dup2(p[1], 1);
		if (program)
			execl(program, program, "1000", NULL);
		else if (write(p[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), !program || there == CHILD_WRITES);
	close(p[0]);
	return pid;
}

static inline void child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#endif

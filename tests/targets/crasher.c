/* SPDX-License-Identifier: MIT */
/*
 * Programs that announce a few events and are gone at once. Starts COUNT programs, one after another, which take turns
 * at the lanes (usertrace.h, prctl) and at the ways to end (abort, an access to nowhere, a kill).
 *
 *     crasher COUNT           "ready PID"; when a line comes on standard input, for each program "gone PID LANE END"
 *     crasher LANE END        one of them: "step" 1, 2, … STEPS, and the end
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usertrace.h"

#define STEPS 5

extern char **environ;

static const char *const lanes[] = { "header", "prctl" };
static const char *const ends[] = { "abort", "segv", "kill" };
static const int signals[] = { SIGABRT, SIGSEGV, SIGKILL };

static void end_by(const char *way)
{
	volatile int *volatile nowhere = NULL;

	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "segv"))
		*nowhere = 1;
	kill(getpid(), SIGKILL);
}

static int crash(const char *lane, const char *end)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0); /* nor a core that a handler of the system would be given */
	for (long step = 1; step <= STEPS; step++) {
		if (!strcmp(lane, "header"))
			ut_count("step", step);
		else
			prctl(PR_USER_TRACE, (unsigned long)UT_COUNT, "step", (unsigned long)step, 0ul);
	}
	end_by(end);
	return 1;
}

static int run_one(const char *self, int number)
{
	const char *lane = lanes[number % 2], *end = ends[number / 2 % 3];
	char *argv[] = { (char *)self, (char *)lane, (char *)end, NULL };
	int status;
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, argv, environ) || waitpid(pid, &status, 0) != pid)
		return 1;
	printf("gone %d %s %s\n", pid, lane, end);
	return !WIFSIGNALED(status) || WTERMSIG(status) != signals[number / 2 % 3];
}

int main(int argc, char **argv)
{
	int count;

	if (argc == 3)
		return crash(argv[1], argv[2]);
	if (argc != 2 || (count = atoi(argv[1])) < 1)
		return 2;
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int i = 0; i < count; i++) {
		if (run_one("/proc/self/exe", i))
			return 1;
	}
	puts("all gone");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A runtime that collects when it is told: each line of standard input is a command, in the table at the end, and each
 * answers "done COMMAND". Its collections are calls of gc_begin and gc_end, which a description of the tests names.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/clock.h"

#define SEPARATE __attribute__((noipa))

/* What the description finds its version by. */
const char version[] __attribute__((used)) = "collector version 2.5.1";

SEPARATE void gc_begin(int full, const char *cause) { __asm__ volatile("" ::"r"(full), "r"(cause)); }
SEPARATE void gc_end(long freed) { __asm__ volatile("" ::"r"(freed)); }
SEPARATE void compile_begin(const char *name) { __asm__ volatile("" ::"r"(name)); }
SEPARATE void compile_end(void) { __asm__ volatile(""); }

static void spin(uint64_t us)
{
	uint64_t end = monotonic_ns() + us * 1000;

	while (monotonic_ns() < end)
		;
}

static void begin(const char *arg) { gc_begin(atoi(arg), "told to"); }
static void end(const char *arg) { gc_end(atol(arg)); }
static void spins(const char *arg) { spin(strtoull(arg, NULL, 10)); }

/* A collection of so many microseconds, told as it was. */
static void collect(const char *arg)
{
	uint64_t start = monotonic_ns();

	gc_begin(1, "told to");
	spin(strtoull(arg, NULL, 10));
	gc_end(4096);
	printf("collected %" PRIu64 " %" PRIu64 "\n", start, monotonic_ns() - start);
}

static void compile(const char *arg)
{
	compile_begin(arg);
	spin(100);
	compile_end();
}

/* --- threads and processes --- */

static void *begin_and_leave(void *arg)
{
	gc_begin(0, NULL);
	return NULL;
}

static void thread_that_ends_inside(const char *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, begin_and_leave, NULL);
	pthread_join(t, NULL);
}

static void fork_inside(const char *arg)
{
	pid_t pid;

	gc_begin(0, NULL);
	pid = fork();
	if (!pid) {
		gc_end(1);
		gc_begin(1, "of the child");
		gc_end(2);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf("child %d\n", pid);
	gc_end(3);
}

static void become(const char *arg)
{
	fflush(stdout);
	execl(arg, arg, NULL);
	perror(arg);
}

static void die(const char *arg)
{
	fflush(stdout);
	kill(getpid(), atoi(arg));
}

/* --- signals --- */

static sigjmp_buf out;

static void handler(int number) { spin(200); }
static void jumping_handler(int number) { siglongjmp(out, 1); }

static void catch (int number, void (*fn)(int))
{
	struct sigaction action = { .sa_handler = fn };

	sigaction(number, &action, NULL);
}

static void signals(const char *arg)
{
	catch (SIGUSR1, handler);
	for (int n = atoi(arg); n > 0; n--)
		raise(SIGUSR1);
}

static void ignored(const char *arg)
{
	catch (SIGUSR2, SIG_IGN);
	raise(SIGUSR2);
}

static void jumps(const char *arg)
{
	catch (SIGUSR2, jumping_handler);
	for (volatile int n = atoi(arg); n > 0; n--)
		if (!sigsetjmp(out, 1))
			raise(SIGUSR2);
}

static const struct command {
	const char *name;
	void (*run)(const char *arg);
} commands[] = {
	{ "begin", begin },	 { "end", end },	 { "spin", spins },
	{ "collect", collect },	 { "compile", compile }, { "thread", thread_that_ends_inside },
	{ "fork", fork_inside }, { "exec", become },	 { "die", die },
	{ "signals", signals },	 { "ignored", ignored }, { "jumps", jumps },
};

static void obey(char *line)
{
	char *arg = strchr(line, ' ');

	if (arg)
		*arg++ = '\0';
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, line))
			commands[i].run(arg ? arg : "");
	printf("done %s\n", line);
}

int main(int argc, char **argv)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	for (int i = 1; i < argc; i++) {
		char *copy = strdup(argv[i]);

		obey(copy);
		free(copy);
	}
	while (argc == 1 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		obey(line);
	}
	return argc > 1 ? 7 : 0; /* a status to be known by */
}

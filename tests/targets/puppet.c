/* SPDX-License-Identifier: MIT */
/*
 * Does what it is told, a command an argument or a line of standard input, and prints the events that a tracer sees of
 * it: "event NAME VALUE". Each command ends with "done COMMAND". The commands are in the table at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/clock.h"

#define SEPARATE __attribute__((noipa))

/* One probe, two sites, each with a semaphore of its own; sys/sdt.h has one for all sites of a file. */
unsigned short semaphore_a __attribute__((section(".probes")));
unsigned short semaphore_b __attribute__((section(".probes")));

#define GUARDED(semaphore, value) \
	__asm__ volatile( \
		"990: nop\n" \
		".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " #semaphore \
		"\n" \
		".asciz \"puppet\"\n.asciz \"guarded\"\n.asciz \"-4@%0\"\n994: .balign 4\n.popsection\n" ::"r"( \
			(int)(value)))

SEPARATE void fire_tick(long n) { DTRACE_PROBE1(puppet, tick, n); }
SEPARATE void fire_thread(long thread, long n) { DTRACE_PROBE2(puppet, thread, thread, n); }
SEPARATE void fire_child(long n) { DTRACE_PROBE1(puppet, child, n); }
SEPARATE void fire_guarded_a(int n) { GUARDED(semaphore_a, n); }
SEPARATE void fire_guarded_b(int n) { GUARDED(semaphore_b, n); }
SEPARATE void fire_text(const char *s, long n) { DTRACE_PROBE2(puppet, text, s, n); }

static void tick(const char *arg)
{
	static long next;

	for (long n = atol(arg); n > 0; n--) {
		fire_tick(next);
		printf("event tick %ld\n", next++);
	}
}

static void burst(const char *arg)
{
	for (long n = atol(arg), i = 0; i < n; i++)
		fire_tick(i);
}

/* Nanoseconds of one firing. */
static void pace(const char *arg)
{
	long n = atol(arg);
	uint64_t start = monotonic_ns();

	burst(arg);
	printf("pace %" PRIu64 "\n", (monotonic_ns() - start) / (uint64_t)n);
}

static void guarded(const char *arg)
{
	int n = atoi(arg);

	if (*(volatile unsigned short *)&semaphore_a) {
		fire_guarded_a(n);
		printf("event guarded %d\n", n);
	}
	if (*(volatile unsigned short *)&semaphore_b) {
		fire_guarded_b(n + 1);
		printf("event guarded %d\n", n + 1);
	}
}

static void semaphores(const char *arg)
{
	printf("semaphores %d %d\n", *(volatile unsigned short *)&semaphore_a,
	       *(volatile unsigned short *)&semaphore_b);
}

/* The instructions that a breakpoint would change. */
static void code(const char *arg)
{
	const void *functions[] = { fire_tick, fire_thread, fire_child, fire_guarded_a, fire_guarded_b };

	printf("code ");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		for (size_t k = 0; k < 16; k++)
			printf("%02x", ((const volatile unsigned char *)functions[i])[k]);
	printf("\n");
}

/* --- calls --- */

/* Keeps the compiler from making a loop of a recursion. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

SEPARATE long deep(long n)
{
	long below = n > 1 ? deep(n - 1) : 0;

	KEEP(below);
	return below + 1;
}

static void call_deep(const char *arg)
{
	long n = deep(atol(arg));

	for (long i = 1; i <= n; i++)
		printf("event deep %ld\n", i);
}

SEPARATE long spin(long ns)
{
	uint64_t end = monotonic_ns() + (uint64_t)ns;

	while (monotonic_ns() < end)
		;
	return ns;
}

/* Spends its own time before and after the inner call. */
SEPARATE long outer(long ns) { return spin(ns) + spin(ns) + 1; }

/* "least": what the function itself takes at least; "most": measured around the call. */
static void spins(const char *arg)
{
	long ns = atol(arg);
	uint64_t start = monotonic_ns();
	long ret = outer(ns);

	printf("event outer %ld least %ld most %" PRIu64 "\n", ret, 2 * ns, monotonic_ns() - start);
}

static jmp_buf back;

SEPARATE long leap(long depth)
{
	long below;

	if (!depth)
		longjmp(back, 1);
	below = leap(depth - 1);
	KEEP(below);
	return below + 1;
}

SEPARATE long stay(long n) { return spin(n) + 1; }

/* Leaves three calls without a return, then makes calls that return, from the same depth of the stack. */
static void jumps(const char *arg)
{
	for (volatile long n = atol(arg); n > 0; n--) {
		uint64_t start;
		long ret;

		if (!setjmp(back))
			leap(2);
		start = monotonic_ns();
		ret = stay(1000 * n);
		printf("event stay %ld least %ld most %" PRIu64 "\n", ret, 1000 * n, monotonic_ns() - start);
	}
}

/* --- threads --- */

struct work {
	long number, rounds;
};

static void *thread_work(void *arg)
{
	const struct work *w = arg;

	for (long i = 0; i < w->rounds; i++) {
		fire_thread(w->number, i);
		deep(3);
	}
	return NULL;
}

/* "THREADS ROUNDS" */
static void threads(const char *arg)
{
	static pthread_t ids[1024];
	static struct work works[1024];
	char *end;
	long n = strtol(arg, &end, 10), rounds = strtol(end, NULL, 10), made = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (; made < n && made < 1024; made++) {
		works[made] = (struct work){ made, rounds };
		if (pthread_create(&ids[made], &attr, thread_work, &works[made]))
			break;
	}
	for (long i = 0; i < made; i++)
		pthread_join(ids[i], NULL);
	printf("threads %ld\n", made);
}

static void *sleep_long(void *arg)
{
	pause();
	return NULL;
}

/* A thread that waits. */
static void idle_thread(const char *arg)
{
	pthread_t id;

	pthread_create(&id, NULL, sleep_long, NULL);
	printf("idle\n");
}

/* --- libraries --- */

static pthread_t first_thread;

static void load(const char *arg)
{
	if (!dlopen(arg, RTLD_NOW | RTLD_GLOBAL))
		printf("error %s\n", dlerror());
}

static void *load_alone(void *path)
{
	while (pthread_tryjoin_np(first_thread, NULL) == EBUSY)
		;
	load(path);
	printf("done alone %s\n", (char *)path);
	exit(0);
}

/* The first thread ends; another loads a library and ends the program. */
static void alone(const char *arg)
{
	pthread_t id;

	first_thread = pthread_self();
	pthread_create(&id, NULL, load_alone, strdup(arg));
	pthread_exit(NULL);
}

/* Calls the function plug_work of a library that was loaded. */
static void work(const char *arg)
{
	void (*fn)(long) = (void (*)(long))dlsym(RTLD_DEFAULT, "plug_work");

	if (fn)
		fn(atol(arg));
}

/* --- processes --- */

static void forks(const char *arg)
{
	long n = atol(arg);

	fflush(stdout);
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			fire_child(i);
			_exit(0);
		}
		printf("event child %ld\n", i);
	}
	while (wait(NULL) > 0)
		;
}

/* A chain of generations, each fires once and waits for its child. */
static void generations(const char *arg)
{
	long n = atol(arg);

	for (long i = 0; i < n; i++) {
		printf("event child %ld\n", i);
		fflush(stdout);
		if (fork()) {
			wait(NULL);
			if (i)
				_exit(0);
			return;
		}
		fire_child(i);
	}
	_exit(0);
}

static void fork_exec(const char *arg)
{
	fflush(stdout);
	if (!fork()) {
		execl("/bin/sh", "sh", "-c", arg, NULL);
		_exit(127);
	}
	wait(NULL);
}

/* Becomes this program again, without commands. */
static void again(const char *arg)
{
	fflush(stdout);
	execl("/proc/self/exe", "puppet", NULL);
}

static void quit(const char *arg) { exit(atoi(arg)); }
static void die(const char *arg)
{
	fflush(stdout);
	raise(atoi(arg));
}
static void name(const char *arg) { prctl(PR_SET_NAME, arg); }

/* A child that is dead and not waited for. */
static void zombie(const char *arg)
{
	siginfo_t info;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	printf("zombie %d\n", (int)pid);
}

/* Fires until it is killed. */
static void forever(const char *arg)
{
	for (long i = 0;; i++)
		fire_tick(i);
}

static void text(const char *arg)
{
	fire_text(arg, (long)strlen(arg));
	printf("event text %s\n", arg);
}

/* Hands out a text in a page that nobody has touched. */
static void page(const char *arg)
{
	int fd = open(arg, O_RDONLY);
	char *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	fire_text(at, -1);
	printf("event text %s\n", at);
}

static const struct command {
	const char *name;
	void (*run)(const char *arg);
} commands[] = {
	{ "tick", tick },
	{ "burst", burst },
	{ "pace", pace },
	{ "guarded", guarded },
	{ "semaphores", semaphores },
	{ "code", code },
	{ "deep", call_deep },
	{ "spins", spins },
	{ "jumps", jumps },
	{ "threads", threads },
	{ "idle", idle_thread },
	{ "load", load },
	{ "alone", alone },
	{ "work", work },
	{ "forks", forks },
	{ "generations", generations },
	{ "sh", fork_exec },
	{ "again", again },
	{ "quit", quit },
	{ "die", die },
	{ "name", name },
	{ "zombie", zombie },
	{ "forever", forever },
	{ "text", text },
	{ "page", page },
};

static void obey(char *line)
{
	char *arg = strchr(line, ' ');
	size_t len = arg ? (size_t)(arg - line) : strlen(line);

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strlen(commands[i].name) == len && !strncmp(commands[i].name, line, len))
			commands[i].run(arg ? arg + 1 : "");
	printf("done %s\n", line);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static char line[8192];

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (int i = 1; i < argc; i++)
		obey(argv[i]);
	while (argc < 2 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		obey(line);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Announces what it is told to, a command an argument or a line of standard input; each ends with "done COMMAND".
 *
 *	LANE KIND NAME [value=N] [id=N] [text=TEXT]
 *
 * LANE is h (the header) or p (prctl); KIND is begin, end, mark, count or a number. NAME and TEXT are themselves, or a
 * place in memory: see text_of. The other commands are in the table at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usertrace.h"

#define PAGE 4096
#define FAR 65536 /* the kernel maps at most so much around a page that is touched */

/* Texts that nobody has touched: the kernel cannot read them before it has mapped their pages. */
__asm__(".section .rodata\n.balign 65536\n"
	"far_texts: .irp k,0,1,2,3,4,5,6,7\n.asciz \"far-\\k\"\n.balign 65536\n.endr\n"
	"far_spans: .irp k,0,1,2,3\n.skip 65532\n.asciz \"span-\\k-of-two-pages\"\n.balign 65536\n.endr\n.text\n");
extern const char far_texts[], far_spans[];

/* A page that ends where no memory follows, full of x; behind it is another when @two. */
static char *edge(bool two)
{
	char *map = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t pages = two ? 2 : 1;

	munmap(map + pages * PAGE, (3 - pages) * PAGE);
	memset(map, 'x', pages * PAGE);
	return map + PAGE;
}

/* @len bytes with their NUL behind; @before of them in the first page. */
static char *over_the_edge(size_t before, size_t len)
{
	char *ret = edge(true) - before;

	ret[len] = '\0';
	return ret;
}

static char *letters(size_t n)
{
	char *ret = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		ret[i] = (char)('a' + i % 26);
	ret[n] = '\0';
	return ret;
}

static char *from_hex(const char *s)
{
	char *ret = calloc(1, strlen(s) / 2 + 1);
	unsigned byte;

	for (size_t i = 0; sscanf(s + 2 * i, "%2x", &byte) == 1; i++)
		ret[i] = (char)byte;
	return ret;
}

static const char *text_of(const char *spec)
{
	size_t a = 0, b = 0;

	if (spec[0] != '%')
		return spec;
	if (!strcmp(spec, "%null"))
		return NULL;
	if (!strcmp(spec, "%bad"))
		return (const char *)0x10000;
	if (!strcmp(spec, "%kernel"))
		return (const char *)0xffffffff81000000;
	if (!strcmp(spec, "%empty"))
		return "";
	if (sscanf(spec, "%%len:%zu", &a) == 1)
		return letters(a);
	if (!strncmp(spec, "%hex:", 5))
		return from_hex(spec + 5);
	if (sscanf(spec, "%%span:%zu:%zu", &a, &b) == 2) /* A of B bytes in the first page */
		return over_the_edge(a, b);
	if (sscanf(spec, "%%edge:%zu", &a) == 1) /* A bytes, no NUL, then nothing */
		return edge(false) - a;
	if (sscanf(spec, "%%far:%zu", &a) == 1)
		return far_texts + a * FAR;
	if (sscanf(spec, "%%farspan:%zu", &a) == 1)
		return far_spans + a * 2 * FAR + FAR - 4;
	abort();
}

static unsigned long what_of(const char *kind)
{
	static const char *const kinds[] = {
		[UT_BEGIN] = "begin", [UT_END] = "end", [UT_MARK] = "mark", [UT_COUNT] = "count"
	};

	for (unsigned i = 1; i < 5; i++)
		if (!strcmp(kind, kinds[i]))
			return i;
	return strtoul(kind, NULL, 0);
}

static void emit(char lane, unsigned long what, const char *name, int64_t value, uint64_t id, const char *text)
{
	if (lane == 'h')
		ut_emit((uint32_t)what, name, value, id, text);
	else
		prctl(PR_USER_TRACE, what, name, value, what & UT_TEXT ? (uintptr_t)text : id);
}

static void announce(char lane, char *arg)
{
	char *save, *kind = strtok_r(arg, " ", &save), *name = strtok_r(NULL, " ", &save), *more;
	unsigned long what = what_of(kind);
	const char *text = NULL;
	int64_t value = 0;
	uint64_t id = 0;

	while ((more = strtok_r(NULL, " ", &save))) {
		if (sscanf(more, "value=%" SCNi64, &value) == 1)
			continue;
		if (sscanf(more, "id=%" SCNu64, &id) == 1) {
			what |= UT_ID;
		} else if (!strncmp(more, "text=", 5)) {
			text = text_of(more + 5);
			what |= UT_TEXT;
		}
	}
	emit(lane, what, text_of(name), value, id, text);
}

static void header(char *arg) { announce('h', arg); }
static void by_prctl(char *arg) { announce('p', arg); }
static void string(char *arg) { prctl(PR_USER_TRACE, text_of(arg), 0, 0, 0); }

/* LANE WHAT NAME N: so many events, numbered from 0. */
static void many(char *arg)
{
	char lane, name[32];
	long what, n;

	if (sscanf(arg, "%c %ld %31s %ld", &lane, &what, name, &n) == 4)
		for (long i = 0; i < n; i++)
			emit(lane, (unsigned long)what, text_of(name), i, 0, NULL);
}

static void do_command(char *line);

static void *in_thread(void *arg)
{
	do_command(arg);
	return NULL;
}

static void thread(char *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, arg);
	pthread_join(t, NULL);
}

/* LANE N: so many threads at once, each with the spans "outer" and in it, at the same time as the others, "inner". */
static pthread_barrier_t all_there;

static void *nested(void *arg)
{
	char lane = *(char *)arg;

	emit(lane, UT_BEGIN, "outer", 0, 0, NULL);
	pthread_barrier_wait(&all_there);
	emit(lane, UT_BEGIN, "inner", 0, 0, NULL);
	pthread_barrier_wait(&all_there);
	emit(lane, UT_END, "inner", 0, 0, NULL);
	emit(lane, UT_END, "outer", 0, 0, NULL);
	return NULL;
}

static void threads(char *arg)
{
	unsigned n = (unsigned)atoi(arg + 2);
	pthread_t t[64];

	pthread_barrier_init(&all_there, NULL, n);
	for (unsigned i = 0; i < n; i++)
		pthread_create(&t[i], NULL, nested, arg);
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&all_there);
}

static void *in_last_thread(void *arg)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	while (state != 'Z') {
		FILE *f = fopen(path, "r");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			abort();
		fclose(f);
	}
	do_command(arg);
	return NULL;
}

/* The first thread ends; another does the command then, and ends as the last. */
static void last_thread(char *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, in_last_thread, arg);
	syscall(SYS_exit, 0); /* pthread_exit needs a library that is not everywhere */
}

/* Commands with ';' between them, in a child that is waited for. */
static void in_child(char *arg)
{
	char *save;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		for (char *c = strtok_r(arg, ";", &save); c; c = strtok_r(NULL, ";", &save))
			do_command(c);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Goes on as a new program with these commands. */
static void replace(char *arg)
{
	char *argv[16] = { "user" }, *save;
	int n = 1;

	for (char *c = strtok_r(arg, ";", &save); c && n < 15; c = strtok_r(NULL, ";", &save))
		argv[n++] = c;
	fflush(stdout);
	execv("/proc/self/exe", argv);
	abort();
}

static void leave(char *arg) { _exit(atoi(arg)); }

static void die(char *arg)
{
	signal(atoi(arg), SIG_DFL);
	kill(getpid(), atoi(arg));
}

/* PATH SYMBOL NAME: the library's function, called with a name. */
static void library(char *arg)
{
#ifndef NO_DLOPEN
	char *save, *path = strtok_r(arg, " ", &save), *symbol = strtok_r(NULL, " ", &save);
	void *lib = dlopen(path, RTLD_NOW);
	void (*function)(const char *) = lib ? (void (*)(const char *))dlsym(lib, symbol) : NULL;

	if (!function)
		abort();
	function(strtok_r(NULL, " ", &save));
#endif
}

static void probe(char *arg) { UT_PROBE(user, tick, atoi(arg)); }
static void rename_self(char *arg) { prctl(PR_SET_NAME, arg); }

static const struct {
	const char *name;
	void (*run)(char *arg);
} commands[] = {
	{ "h", header },
	{ "p", by_prctl },
	{ "string", string },
	{ "many", many },
	{ "thread", thread },
	{ "threads", threads },
	{ "last_thread", last_thread },
	{ "fork", in_child },
	{ "exec", replace },
	{ "exit", leave },
	{ "die", die },
	{ "library", library },
	{ "probe", probe },
	{ "rename", rename_self },
};

static void do_command(char *line)
{
	char *arg = strchr(line, ' ');

	if (arg)
		*arg++ = '\0';
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(line, commands[i].name))
			continue;
		commands[i].run(arg ? arg : line + strlen(line));
		return;
	}
	fprintf(stderr, "no command '%s'\n", line);
	abort();
}

static void obey(const char *line)
{
	char *copy = strdup(line);

	do_command(copy); /* the events may point into it: it is not freed */
	printf("done %s\n", line);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[16384];

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (int i = 1; i < argc; i++)
		obey(argv[i]);
	while (argc == 1 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		obey(line);
	}
	return 0;
}

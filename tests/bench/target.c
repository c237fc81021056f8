/* SPDX-License-Identifier: MIT */
/*
 * The program that is traced in benchmarks. It fires probes as its standard input says and answers each line with one:
 *
 *     poke SITE COUNT         a few events, sequence number 0: is anybody attached?    poked COUNT CPU_NS
 *     fire SITE RATE MS       numbered 1, 2, 3…; RATE a second, 0: as fast as can be   fired COUNT CPU_NS WALL_NS
 *     ticks SITE MICROSECONDS one event at a time, carrying the clock, until the next line comes      ticked COUNT
 *     turns SITE COUNT        two processes hand a turn to and fro, one event a turn   turned COUNT WALL_NS
 *
 * Arguments of each event: the number (or the clock), then the process. First line: "ready PID PARTNER".
 * «target launch FILE COMMAND…» writes the clock to FILE and becomes the command.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/clock.h"
#include "sites.h"

SITE("fire_nop1", "nop1", "nop");
SITE("fire_nop5", "nop5", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");

#define BATCH 64
#define BURST_MAX 2000 /* between two looks at the clock; who is late stays late */
#define SLICE_NS 1000000u

typedef void (*site_fn)(uint64_t, uint64_t);

/* Shared by the two processes that take turns. */
struct turns {
	_Atomic uint32_t turn;
	_Atomic uint32_t count, generation; /* a new generation: take so many turns */
	_Atomic int is_nop5;
};

static site_fn site_called(const char *name) { return strcmp(name, "nop5") ? fire_nop1 : fire_nop5; }

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void poke(site_fn site, uint64_t count)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (uint64_t i = 0; i < count; i++)
		site(0, 0);
	printf("poked %" PRIu64 " %" PRIu64 "\n", count, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

/* As many events as are due by now at @rate a second, or a batch. */
static uint64_t due(uint64_t rate, uint64_t fired, uint64_t elapsed_ns)
{
	uint64_t want = (uint64_t)((double)elapsed_ns * (double)rate / 1e9);

	if (!rate)
		return BATCH;
	want = want > fired ? want - fired : 0;
	return want < BURST_MAX ? want : BURST_MAX;
}

static void fire(site_fn site, uint64_t rate, uint64_t ms)
{
	uint64_t pid = (uint64_t)getpid(), fired = 0, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID),
		 start = clock_ns(CLOCK_MONOTONIC);
	uint64_t now = start, slice = start;

	while (now - start < ms * 1000000u) {
		for (uint64_t n = due(rate, fired, now - start); n; n--)
			site(++fired, pid);
		if (rate) {
			slice += SLICE_NS;
			sleep_until(slice);
		}
		now = clock_ns(CLOCK_MONOTONIC);
	}
	printf("fired %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", fired, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu,
	       clock_ns(CLOCK_MONOTONIC) - start);
}

static void ticks(site_fn site, uint64_t period_us)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t pid = (uint64_t)getpid(), next = clock_ns(CLOCK_MONOTONIC), fired = 0;

	while (poll(&input, 1, 0) == 0) {
		site(clock_ns(CLOCK_MONOTONIC), pid);
		fired++;
		next += period_us * 1000;
		sleep_until(next);
	}
	printf("ticked %" PRIu64 "\n", fired);
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void wait_until_not(_Atomic uint32_t *word, uint32_t value)
{
	while (atomic_load(word) == value)
		futex(word, FUTEX_WAIT, value);
}

/* The turns @mine, @mine + 2, …; each fires while it is the only one that may. */
static void take_turns(struct turns *t, uint32_t mine)
{
	uint64_t pid = (uint64_t)getpid();
	uint32_t count = atomic_load(&t->count);
	site_fn site = atomic_load(&t->is_nop5) ? fire_nop5 : fire_nop1;

	for (; mine < count; mine += 2) {
		for (uint32_t now; (now = atomic_load(&t->turn)) != mine;)
			wait_until_not(&t->turn, now);
		site((uint64_t)mine + 1, pid);
		atomic_store(&t->turn, mine + 1);
		futex(&t->turn, FUTEX_WAKE, 1);
	}
}

static void play(struct turns *t, site_fn site, uint32_t count)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);

	atomic_store(&t->turn, 0);
	atomic_store(&t->count, count);
	atomic_store(&t->is_nop5, site == fire_nop5);
	atomic_fetch_add(&t->generation, 1);
	futex(&t->generation, FUTEX_WAKE, 1);
	take_turns(t, 0);
	for (uint32_t now; (now = atomic_load(&t->turn)) != count;)
		wait_until_not(&t->turn, now);
	printf("turned %" PRIu32 " %" PRIu64 "\n", count, clock_ns(CLOCK_MONOTONIC) - start);
}

static void partner(struct turns *t)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t seen = 0;; seen++) {
		wait_until_not(&t->generation, seen);
		take_turns(t, 1);
	}
}

static void serve_line(struct turns *t, const char *line)
{
	char site[8] = "";
	uint64_t a = 0, b = 0;

	if (sscanf(line, "poke %7s %" SCNu64, site, &a) == 2)
		poke(site_called(site), a);
	else if (sscanf(line, "fire %7s %" SCNu64 " %" SCNu64, site, &a, &b) == 3)
		fire(site_called(site), a, b);
	else if (sscanf(line, "ticks %7s %" SCNu64, site, &a) == 2)
		ticks(site_called(site), a);
	else if (sscanf(line, "turns %7s %" SCNu64, site, &a) == 2)
		play(t, site_called(site), (uint32_t)a);
	else
		printf("unknown %s", line);
	fflush(stdout);
}

static int launch(char **argv)
{
	FILE *f = fopen(argv[0], "we");

	if (!f)
		return 1;
	fprintf(f, "%" PRIu64 "\n", clock_ns(CLOCK_MONOTONIC));
	fclose(f);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}

int main(int argc, char **argv)
{
	struct turns *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char line[128];
	pid_t child;

	if (argc > 3 && !strcmp(argv[1], "launch"))
		return launch(argv + 2);
	if (t == MAP_FAILED || (child = fork()) < 0)
		return 1;
	if (!child)
		partner(t);
	prctl(PR_SET_TIMERSLACK, 1000);
	setvbuf(stdin, NULL, _IONBF, 0); /* ticks looks at the descriptor for the next line */
	printf("ready %d %d\n", getpid(), child);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		serve_line(t, line);
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) != child;
}

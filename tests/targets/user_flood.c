/* SPDX-License-Identifier: MIT */
/*
 * user_flood POLITE STEP FIRST: two processes that announce as fast as they can, one in each lane, beside a polite one.
 * At a line of input the two announce FIRST events each; then "first" is printed. At the next one they go on, and the
 * polite one announces POLITE numbered events, one each time that the others have announced STEP more. At the end come
 * "flood PID COUNT" and "polite PID COUNT".
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usertrace.h"

static struct shared {
	volatile uint64_t done[2]; /* events of the two */
	volatile int phase, ended;
} * s;

static uint64_t both(void) { return s->done[0] + s->done[1]; }

static void wait_for_phase(int phase)
{
	while (s->phase < phase)
		sched_yield();
}

static void announce(int lane, const char *name, uint64_t value)
{
	if (lane)
		prctl(PR_USER_TRACE, UT_COUNT, name, value, 0);
	else
		ut_count(name, (int64_t)value);
}

static void flood(int lane, uint64_t first)
{
	wait_for_phase(1);
	for (; s->done[lane] < first; s->done[lane]++)
		announce(lane, "flood", s->done[lane]);
	wait_for_phase(2);
	for (; !s->ended; s->done[lane]++)
		announce(lane, "flood", s->done[lane]);
	printf("flood %d %llu\n", (int)getpid(), (unsigned long long)s->done[lane]);
}

static void be_polite(uint64_t n, uint64_t step)
{
	wait_for_phase(2);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t until = both() + step;

		while (both() < until)
			sched_yield();
		announce((int)(i % 2), "polite", i);
	}
	s->ended = 1;
	printf("polite %d %llu\n", (int)getpid(), (unsigned long long)n);
}

static void say(const char *word)
{
	printf("%s\n", word);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t n = strtoull(argv[1], NULL, 10), step = strtoull(argv[2], NULL, 10);
	uint64_t first = strtoull(argv[3], NULL, 10);

	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 3; i++) {
		if (fork())
			continue;
		if (i < 2)
			flood(i, first);
		else
			be_polite(n, step);
		fflush(stdout);
		_exit(0);
	}
	say("ready");
	if (getchar() == EOF)
		return 1;
	s->phase = 1;
	while (both() < 2 * first)
		sched_yield();
	say("first");
	if (getchar() == EOF)
		return 1;
	s->phase = 2;
	while (wait(NULL) > 0)
		;
	return 0;
}

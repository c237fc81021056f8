/* SPDX-License-Identifier: MIT */
/*
 * Two processes that announce as fast as they can, one in each lane, beside a polite one whose events are numbered: it
 * goes on each time that the others have announced some more. Prints "flood PID COUNT" and "polite PID COUNT".
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usertrace.h"

struct shared {
	volatile uint64_t done[2];	/* events of the two */
	volatile int go, polite_ended;
};

static uint64_t both(const struct shared *s) { return s->done[0] + s->done[1]; }

static int flood(struct shared *s, int i)
{
	while (!s->go)
		sched_yield();
	while (!s->polite_ended) {
		if (i)
			prctl(PR_USER_TRACE, UT_COUNT, "flood", s->done[i], 0);
		else
			ut_count("flood", (int64_t)s->done[i]);
		s->done[i]++;
	}
	printf("flood %d %llu\n", (int)getpid(), (unsigned long long)s->done[i]);
	return 0;
}

static int be_polite(struct shared *s, long n, uint64_t step)
{
	s->go = 1;
	for (long i = 0; i < n; i++) {
		uint64_t until = both(s) + step;

		while (both(s) < until)
			sched_yield();
		if (i % 2)
			ut_count("polite", i);
		else
			prctl(PR_USER_TRACE, UT_COUNT, "polite", i, 0);
	}
	s->polite_ended = 1;
	printf("polite %d %ld\n", (int)getpid(), n);
	return 0;
}

int main(int argc, char **argv)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long n = argc > 1 ? atol(argv[1]) : 500;
	uint64_t step = argc > 2 ? (uint64_t)atol(argv[2]) : 2000;

	for (int i = 0; i < 3; i++) {
		if (fork())
			continue;
		int status = i < 2 ? flood(s, i) : be_polite(s, n, step);

		fflush(stdout);
		_exit(status);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

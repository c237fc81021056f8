/* SPDX-License-Identifier: MIT */
/* Burns processor time so many calls deep, and prints how many rounds it made in each interval that it is asked for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../src/base/clock.h"

static volatile uint64_t nothing;

__attribute__((noinline, noipa)) static uint64_t burn(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		nothing = i;
	return nothing;
}

__attribute__((noinline, noipa)) static uint64_t down(int depth)
{
	uint64_t below = depth ? down(depth - 1) : burn(100000);

	nothing = below; /* behind the call: not one from the end */
	return below + 1;
}

/* deep DEPTH: until it is ended. deep DEPTH -: for each number of milliseconds on a line, the rounds made in it. */
int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 300;
	unsigned ms;

	for (; argc < 3;)
		down(depth);
	while (scanf("%u", &ms) == 1) {
		uint64_t end = monotonic_ns() + ms * 1000000ull, rounds = 0;

		for (; monotonic_ns() < end; rounds++)
			down(depth);
		printf("%llu\n", (unsigned long long)rounds);
		fflush(stdout);
	}
	return 0;
}

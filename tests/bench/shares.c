/* SPDX-License-Identifier: MIT */
/* Functions that measure how much processor time each of them takes: what a profile has to find. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../src/base/clock.h"

#define FUNCTIONS 5

static volatile uint64_t nothing;
static uint64_t spent[FUNCTIONS];

static inline void spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		nothing = i;
}

/* Not one like the other: a compiler joins equal functions. */
__attribute__((noinline)) static void half(void)
{
	spin(1000000);
	nothing = 0;
}
__attribute__((noinline)) static void quarter(void)
{
	spin(500000);
	nothing = 1;
}
__attribute__((noinline)) static void eighth(void)
{
	spin(250000);
	nothing = 2;
}
__attribute__((noinline)) static void rest(void)
{
	spin(200000);
	nothing = 3;
}
static inline __attribute__((always_inline)) void inlined(void)
{
	spin(50000);
	nothing = 4;
}

static void measured(int i)
{
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	switch (i) {
	case 0: half(); break;
	case 1: quarter(); break;
	case 2: eighth(); break;
	case 3: rest(); break;
	default: inlined(); break;
	}
	spent[i] += clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
}

/* shares SECONDS: burns so much processor time, prints each function's share of it. */
int main(int argc, char **argv)
{
	static const char *const names[FUNCTIONS] = { "half", "quarter", "eighth", "rest", "inlined" };
	uint64_t until = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9), sum = 0;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		for (int i = 0; i < FUNCTIONS; i++)
			measured(i);
	for (int i = 0; i < FUNCTIONS; i++)
		sum += spent[i];
	for (int i = 0; i < FUNCTIONS; i++)
		printf("%s %.6f\n", names[i], (double)spent[i] / (double)sum);
	return 0;
}

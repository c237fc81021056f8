/* SPDX-License-Identifier: MIT */
/* 16 places of code made at run time, whose owners change several times a second. Announces each by <usertrace-jit.h>
 * and measures how much processor time each owner takes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../../src/base/clock.h"
#include "usertrace-jit.h"

#define SLOTS 16
#define OWNERS 40

/* push %rbp; mov %rsp,%rbp; 1: dec %rdi; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3 };

static uint64_t spent[OWNERS];

static void run(unsigned char *at, int owner, uint64_t ns)
{
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID), now;

	do {
		((void (*)(long))at)(100000);
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	} while (now - from < ns);
	spent[owner] += now - from;
}

/* slots SECONDS: burns so much processor time, prints each owner's share of it. */
int main(int argc, char **argv)
{
	uint64_t until = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9), sum = 0;
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[32];

	if (at == MAP_FAILED || !(ut_jit_open(UT_JIT_MAP) & UT_JIT_MAP))
		return 1;
	for (int i = 0; i < SLOTS; i++)
		memcpy(at + 64 * i, code, sizeof(code));
	for (int round = 0; clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until; round++) {
		for (int i = 0; i < SLOTS; i++) {
			int owner = (i * 7 + round * 13) % OWNERS;

			snprintf(name, sizeof(name), "owner_%d", owner);
			ut_jit_code(at + 64 * i, sizeof(code), name);
			run(at + 64 * i, owner, 2000000 + 200000 * (uint64_t)owner);
		}
	}
	ut_jit_close();
	for (int i = 0; i < OWNERS; i++)
		sum += spent[i];
	for (int i = 0; i < OWNERS; i++)
		printf("owner_%d %.6f\n", i, (double)spent[i] / (double)sum);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * user_hostile SEED MILLISECONDS: announces nonsense from many threads and short-lived children, in both lanes:
 * operations that do not exist, wild pointers, names and texts of random bytes and lengths, memory that goes away
 * meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/clock.h"
#include "usertrace.h"

#define ROOM (64 * 4096)
#define THREADS 6

static uint64_t end_ns;
static char *room; /* random bytes; its last half comes and goes */

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static const char *pointer(uint64_t *state)
{
	static const char *const names[] = { "gc",	 "entry: gc", "exit: gc",	  "",	 "entry:", "\x1b[2J",
					     "\xff\xfe", "%s%n",      "\n{\"time\":1}\n", "PID", "(null)" };
	uint64_t r = next(state);

	switch (r % 8) {
	case 0: return NULL;
	case 1: return (const char *)next(state);
	case 2: return (const char *)(0xffff800000000000 | next(state) >> 17);
	case 3: return (const char *)(r >> 40);
	case 4: return room + ROOM / 2 - (r >> 32) % 300;
	case 5: return room + (r >> 32) % ROOM;
	default: return names[(r >> 32) % (sizeof(names) / sizeof(names[0]))];
	}
}

static void one(uint64_t *state)
{
	uint64_t r = next(state);
	unsigned long what = r % 16 == 0 ? next(state) : (r >> 8) % 5 | (r >> 16 & 0x70 & (r >> 24));
	const char *name = pointer(state), *text = pointer(state);

	if (r >> 32 & 1)
		ut_emit((uint32_t)what, name, (int64_t)next(state), r >> 40, text);
	else
		prctl(PR_USER_TRACE, r >> 33 & 1 ? what & 0xfff : (unsigned long)name, name, next(state),
		      what & UT_TEXT ? (uintptr_t)text : r >> 40);
	if (r % 1024 == 1)
		madvise(room + ROOM / 2, ROOM / 2, MADV_DONTNEED);
	if (r % 1024 == 2)
		mprotect(room + ROOM / 2, ROOM / 2, r >> 50 & 1 ? PROT_NONE : PROT_READ);
}

static void *misbehave(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg | 1;

	while (monotonic_ns() < end_ns)
		for (int i = 0; i < 20; i++)
			one(&state);
	return NULL;
}

/* Children that die in the middle of a few events, some by a signal. */
static void breed(uint64_t state)
{
	while (monotonic_ns() < end_ns) {
		pid_t pid = fork();

		if (!pid) {
			for (int i = 0; i < 30; i++)
				one(&state);
			if (state & 256)
				abort();
			_exit((int)(state & 127));
		}
		next(&state);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, fill = seed | 1;
	pthread_t threads[THREADS];

	end_ns = monotonic_ns() + (argc > 2 ? strtoull(argv[2], NULL, 10) : 2000) * 1000000u;
	room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < ROOM; i += 8) {
		uint64_t word = next(&fill);

		memcpy(room + i, &word, sizeof(word));
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, misbehave, (void *)(uintptr_t)((seed + i) * 0x9e3779b97f4a7c15));
	breed(seed * 0x9e3779b97f4a7c15 | 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

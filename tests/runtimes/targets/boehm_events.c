/* SPDX-License-Identifier: MIT */
/*
 * Loaded into a program with the Boehm collector (LD_PRELOAD), it has the collector tell when each collection begins and
 * ends, and writes "gc BEGIN-NS LENGTH-NS" for each to the file $BOEHM_EVENTS when the program ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../../src/base/clock.h"

enum { EVENT_START = 0, EVENT_END = 5, MAX = 100000 };

void GC_set_on_collection_event(void (*fn)(int event));

static struct {
	uint64_t begin, length;
} collections[MAX];
static size_t n;

/* The collector's lock is held. */
static void told(int event)
{
	if (n == MAX)
		return;
	if (event == EVENT_START)
		collections[n].begin = monotonic_ns();
	else if (event == EVENT_END && collections[n].begin)
		collections[n].length = monotonic_ns() - collections[n].begin, n++;
}

__attribute__((constructor)) static void begin(void) { GC_set_on_collection_event(told); }

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("BOEHM_EVENTS");
	FILE *file = path ? fopen(path, "w") : NULL;

	for (size_t i = 0; file && i < n; i++)
		fprintf(file, "gc %llu %llu\n", (unsigned long long)collections[i].begin,
			(unsigned long long)collections[i].length);
	if (file)
		fclose(file);
}

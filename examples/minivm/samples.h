/* SPDX-License-Identifier: MIT */
/* The built-in programs, with their expected results. */
#ifndef MINIVM_SAMPLES_H
#define MINIVM_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample {
	const char *name, *what;
	const char *source;
	int64_t argument, most;
	int64_t small; /* argument for the self-check */
	size_t small_heap; /* bytes per thread that barely suffice for that */
	int64_t (*expected)(int64_t n); /* computed in C in a different way */
	bool collects;
};

extern const struct sample samples[];
extern const size_t sample_count;

/* Returns NULL if there is none with that name. */
const struct sample *sample_find(const char *name);

#endif

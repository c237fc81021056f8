/* SPDX-License-Identifier: MIT */
/* The programs that minivm has in it, with what they must compute. */
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
	size_t small_heap; /* bytes for each thread: enough for that, but not much more */
	int64_t (*expected)(int64_t n); /* computed in C, another way */
	bool collects;
};

extern const struct sample samples[];
extern const size_t sample_count;

/* NULL: there is none of that name. */
const struct sample *sample_find(const char *name);

#endif

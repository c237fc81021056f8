/* SPDX-License-Identifier: MIT */
/* Numbers for things, from 0 in the order they come, the same for equal ones: texts, and pairs of numbers. */
#ifndef UT_BASE_INTERN_H
#define UT_BASE_INTERN_H

#include <stdint.h>

#include "base/vec.h"

/* Zero-initialise all of these to use. */
struct intern {
	uint32_t *slots; /* number + 1; 0: free */
	size_t nslots; /* a power of two */
	VEC(uint64_t) hashes; /* of each thing */
};

struct strings {
	struct intern in;
	VEC(const char *) v; /* not copies */
};

struct pair {
	uint32_t a, b;
};

struct pairs {
	struct intern in;
	VEC(struct pair) v;
};

/* @text must live as long as the table. UINT32_MAX: out of memory. */
uint32_t strings_number(struct strings *s, const char *text);
uint32_t pairs_number(struct pairs *p, uint32_t a, uint32_t b);
void strings_done(struct strings *s);
void pairs_done(struct pairs *p);

#endif

/* SPDX-License-Identifier: MIT */
/* Numbers for things, from 0 in the order they come, the same for equal ones: texts, and pairs of numbers. */
#ifndef UT_BASE_INTERN_H
#define UT_BASE_INTERN_H

#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"

/* Zero-initialize all of these to use. */
struct strings {
	struct index index;
	VEC(const char *) v; /* not copies */
};

struct pair {
	uint32_t a, b;
};

struct pairs {
	struct index index;
	VEC(struct pair) v;
};

/* @text must live as long as the table. UINT32_MAX: out of memory. */
uint32_t strings_number(struct strings *s, const char *text);
uint32_t pairs_number(struct pairs *p, uint32_t a, uint32_t b);
void strings_done(struct strings *s);
void pairs_done(struct pairs *p);

#endif

/* SPDX-License-Identifier: MIT */
/* The public header as text, compiled in for the headers that are written; the build makes its definition. */
#ifndef UT_DTRACE_EMBEDDED_H
#define UT_DTRACE_EMBEDDED_H

#include <stddef.h>

struct dtrace_embedded {
	const char *name, *text;
	size_t len;
};

extern const struct dtrace_embedded dtrace_embedded[];
extern const size_t dtrace_embedded_n;

#endif

/* SPDX-License-Identifier: MIT */
/* The names of x86-64's registers, in AT&T form without '%'. */
#ifndef UT_PROBE_REGISTER_H
#define UT_PROBE_REGISTER_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/operand.h"

struct register_name {
	enum reg reg;
	uint8_t bytes; /* 8 for rax, 4 for eax, … */
	uint8_t shift; /* 8 for ah, bh, ch, dh */
};

/* False when the @len bytes at @name are no general register (or rip). */
bool register_find(const char *name, size_t len, struct register_name *ret);
/* Registers of the vector and floating-point units: they exist, but are not saved where a probe could see them. */
bool register_is_vector(const char *name, size_t len);

#endif

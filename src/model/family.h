/* SPDX-License-Identifier: MIT */
/*
 * Who started whom, as the stream told it: for events that speak for the parent of the process that sends them. Bounded:
 * the oldest are forgotten.
 */
#ifndef UT_MODEL_FAMILY_H
#define UT_MODEL_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#define FAMILY_MAX 32768 /* processes; a power of two */

struct family;

struct family_parent {
	uint32_t pid;
	uint32_t uid; /* whose user it was then, */
	char comm[16]; /* and what its thread that forked was called */
};

struct family *family_new(void); /* NULL: out of memory */
struct family *family_free(struct family *f);
void family_fork(struct family *f, uint32_t child, const struct family_parent *parent);
/* False: not known. */
bool family_parent(const struct family *f, uint32_t child, struct family_parent *ret);

#endif

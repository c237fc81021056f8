/* SPDX-License-Identifier: MIT */
/*
 * The parents of processes, from their forks: for events that a process emits on behalf of its parent. Bounded: the oldest
 * entries are overwritten.
 */
#ifndef UT_MODEL_FAMILY_H
#define UT_MODEL_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#define FAMILY_MAX 32768 /* processes; a power of two */

struct family;

struct family_parent {
	uint32_t pid;
	uint32_t uid; /* at the fork */
	char comm[16]; /* of the thread that forked */
};

struct family *family_new(void); /* NULL: out of memory */
struct family *family_free(struct family *f);
void family_fork(struct family *f, uint32_t child, const struct family_parent *parent);
/* False: not known. */
bool family_parent(const struct family *f, uint32_t child, struct family_parent *ret);

#endif

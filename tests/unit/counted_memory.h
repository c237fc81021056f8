/* SPDX-License-Identifier: MIT */
/*
 * An allocator that counts what is held and fails when told, to see what code does where memory runs out: sources that
 * are included behind this file use it, and the test itself does not once it has taken back the five names.
 */
#ifndef UT_TESTS_COUNTED_MEMORY_H
#define UT_TESTS_COUNTED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* held: pieces that are not freed yet. There is no memory from the fail_from-th piece on until the fail_until-th. */
static size_t held, asked, fail_from, fail_until;

static inline void *counted(void *p)
{
	held += p != NULL;
	return p;
}

static inline bool memory_fails(void)
{
	asked++;
	return asked >= fail_from && asked < fail_until;
}

static inline void *counted_malloc(size_t size) { return memory_fails() ? NULL : counted(malloc(size)); }
static inline void *counted_calloc(size_t n, size_t size) { return memory_fails() ? NULL : counted(calloc(n, size)); }
static inline char *counted_strdup(const char *s) { return memory_fails() ? NULL : counted(strdup(s)); }

static inline void *counted_realloc(void *p, size_t size)
{
	if (memory_fails())
		return NULL;
	held += !p;
	return realloc(p, size);
}

static inline void counted_free(void *p)
{
	held -= p != NULL;
	free(p);
}

#undef strdup /* a macro of some C libraries */
#define malloc counted_malloc
#define calloc counted_calloc
#define realloc counted_realloc
#define strdup counted_strdup
#define free counted_free

#endif

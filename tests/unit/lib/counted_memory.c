/* SPDX-License-Identifier: MIT */
/* The functions that the linker puts in the place of the C library's; see counted_memory.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "counted_memory.h"

size_t held, asked, fail_from, fail_until;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
void __real_free(void *p);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

static void *counted(void *p)
{
	held += p != NULL;
	return p;
}

static bool memory_fails(void)
{
	asked++;
	return asked >= fail_from && asked < fail_until;
}

void *__wrap_malloc(size_t size) { return memory_fails() ? NULL : counted(__real_malloc(size)); }
void *__wrap_calloc(size_t n, size_t size) { return memory_fails() ? NULL : counted(__real_calloc(n, size)); }
char *__wrap_strdup(const char *s) { return memory_fails() ? NULL : counted(__real_strdup(s)); }

void *__wrap_realloc(void *p, size_t size)
{
	if (memory_fails())
		return NULL;
	held += !p;
	return __real_realloc(p, size);
}

void __wrap_free(void *p)
{
	held -= p != NULL;
	__real_free(p);
}

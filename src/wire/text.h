/* SPDX-License-Identifier: MIT */
/* A string of a traced program, and how much of it was read. */
#ifndef UT_WIRE_TEXT_H
#define UT_WIRE_TEXT_H

enum ut_text_state {
	UT_TEXT_WHOLE = 0, /* all of it */
	UT_TEXT_NULL = 1, /* the pointer was NULL */
	UT_TEXT_FAULT = 2, /* nothing could be read at the address */
	UT_TEXT_CUT_LIMIT = 3, /* longer than the limit */
	UT_TEXT_CUT_FAULT = 4, /* what follows lies in memory that cannot be read */
};

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>

/* Borrows its bytes. */
struct ut_text {
	const char *bytes; /* len of them, any, not terminated; not NULL unless the string is not there */
	size_t len; /* a string truncated at the limit has as many bytes as the limit; 0 for UT_TEXT_NULL and UT_TEXT_FAULT */
	enum ut_text_state state;
	uint64_t address; /* in the program; 0: not known */
};

static inline _Bool ut_text_is_there(const struct ut_text *t)
{
	return t->state != UT_TEXT_NULL && t->state != UT_TEXT_FAULT;
}
#endif

#endif

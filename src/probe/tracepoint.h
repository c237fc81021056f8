/* SPDX-License-Identifier: MIT */
/* The kernel's description of a tracepoint (events/CATEGORY/EVENT/format), parsed. Pure. */
#ifndef UT_PROBE_TRACEPOINT_H
#define UT_PROBE_TRACEPOINT_H

#include "base/err.h"
#include "base/vec.h"
#include "probe/expr.h"

struct tracepoint_field {
	char *name; /* owned */
	char *decl; /* owned: the C declaration as the kernel prints it, "const char * filename" */
	struct type type;
	uint32_t offset, size; /* bytes in the record; for __data_loc the 32-bit locator */
	bool data_loc,
		rel_loc; /* a string elsewhere in the record: the locator is len << 16 | offset (rel: after the locator) */
	bool user_string; /* a char pointer of a syscalls: event: points into user memory */
	bool kernel_string; /* any other char pointer */
	const char *unreadable; /* NULL, or the reason why it is unreadable (arrays of structures …) */
};

struct tracepoint {
	unsigned id;
	VEC(struct tracepoint_field) fields; /* without the common_ ones */
};

/* -EBADMSG for an invalid description. @category "syscalls": strings are in user memory. */
int tracepoint_parse(const char *category, const char *text, size_t len, struct tracepoint *ret, struct ut_err *err);
void tracepoint_done(struct tracepoint *tp);

#endif

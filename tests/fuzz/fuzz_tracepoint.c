/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of the kernel's tracepoint descriptions: fields lie in the record and have names and types. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/tracepoint.h"
#include "fuzz.h"

static void check_field(const struct tracepoint_field *f)
{
	if (!f->name || !f->name[0] || !f->decl || f->offset > 65536 || f->size > 65536 - f->offset)
		abort();
	if (f->unreadable)
		return;
	if (f->type.kind != TYPE_INT && f->type.kind != TYPE_CHARS)
		abort();
	if (!f->data_loc && !f->rel_loc && (f->type.size == 0 || f->type.size > f->size))
		abort();
}

/* The first byte decides whether it is a system call's. */
FUZZ_TARGET(tracepoint)
{
	struct tracepoint tp = { 0 };
	struct ut_err err = { 0 };

	if (size == 0)
		return 0;
	if (tracepoint_parse(data[0] & 1 ? "syscalls" : "sched", (const char *)data + 1, size - 1, &tp, &err)) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < tp.fields.n; i++)
		check_field(&tp.fields.v[i]);
	tracepoint_done(&tp);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Fixed scopes for tests of the probe language: what made-up probes offer, by their display name. */
#ifndef UT_TESTS_PROBE_SCOPES_H
#define UT_TESTS_PROBE_SCOPES_H

#include <stdio.h>
#include <string.h>

#include "probe/eval.h"
#include "probe/spec.h"

#define T_INT(bytes, sign) \
	{ \
		.kind = TYPE_INT, .size = (bytes), .is_signed = (sign) \
	}
#define F_INT(bytes, sign) \
	{ \
		.type = T_INT(bytes, sign) \
	}
#define NFIELDS(a) .args = (a), .nargs = sizeof(a) / sizeof((a)[0])

static const struct probe_field scope_i32[] = { F_INT(4, true), F_INT(4, false) };
static const struct probe_field scope_one[] = { F_INT(4, true) };
static const struct probe_field scope_bytes[] = { F_INT(1, true), F_INT(1, false) };
static const struct probe_field scope_u64[] = { F_INT(8, false), F_INT(8, false), F_INT(8, true) };
static const struct probe_field scope_u32[] = { F_INT(4, false) };
static const struct probe_field scope_dbl[] = { { .type = { .kind = TYPE_FLOAT, .size = 8 } },
						{ .type = { .kind = TYPE_FLOAT, .size = 4 } } };
static const struct probe_field scope_dblold[] = {
	{ .type = T_INT(8, false), .unreadable = "is in %xmm0, which the kernel does not provide" },
	F_INT(4, true),
};
static const struct probe_field scope_malloc[] = {
	F_INT(8, false), F_INT(8, false), F_INT(8, false), F_INT(8, false), F_INT(8, false), F_INT(8, false),
};
static const struct probe_field scope_switch[] = {
	{ .name = "prev_comm", .type = { .kind = TYPE_CHARS, .size = 16 } },
	{ .name = "prev_pid", .type = T_INT(4, true) },
	{ .name = "prev_state", .type = T_INT(8, true) },
	{ .name = "comm", .type = { .kind = TYPE_CHARS, .size = 16 } },
};
static const struct probe_field scope_openat[] = {
	{ .name = "dfd", .type = T_INT(8, true) },
	{ .name = "filename", .type = { .kind = TYPE_INT, .size = 8, .is_pointer = true } },
	{ .name = "sets", .type = { .kind = TYPE_INT }, .unreadable = "is an array of structures" },
};

static const struct probe_scope scopes[] = {
	{ .kind = PROBE_USDT, .display = "zoo:none" },
	{ .kind = PROBE_USDT, .display = "zoo:one", NFIELDS(scope_one) },
	{ .kind = PROBE_USDT, .display = "zoo:i32", NFIELDS(scope_i32) },
	{ .kind = PROBE_USDT, .display = "zoo:u32", NFIELDS(scope_u32) },
	{ .kind = PROBE_USDT, .display = "zoo:bytes", NFIELDS(scope_bytes) },
	{ .kind = PROBE_USDT, .display = "zoo:u64", NFIELDS(scope_u64) },
	{ .kind = PROBE_USDT, .display = "zoo:dbl", NFIELDS(scope_dbl) },
	{ .kind = PROBE_USDT, .display = "zoo:dblold", NFIELDS(scope_dblold) },
	{ .kind = PROBE_ENTRY, .display = "c:malloc", NFIELDS(scope_malloc) },
	{ .kind = PROBE_RETURN, .display = "c:read" },
	{ .kind = PROBE_TRACEPOINT, .display = "sched:sched_switch", .fields = scope_switch, .nfields = 4 },
	{ .kind = PROBE_TRACEPOINT, .display = "syscalls:sys_enter_openat", .fields = scope_openat, .nfields = 3 },
};

/* The scope whose name and kind are those of @spec; NULL for none. */
static inline const struct probe_scope *scope_of(const struct probe_spec *spec)
{
	char display[128];

	if (spec->kind == PROBE_USER)
		return eval_user_scope();
	snprintf(display, sizeof(display), "%s:%s", spec->where, spec->name);
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (scopes[i].kind == spec->kind && !strcmp(scopes[i].display, display))
			return &scopes[i];
	return NULL;
}

/* Parses and checks @text against its scope; the error is in @err. NULL when it is refused. */
static inline struct probe_checked *check_text(const char *text, struct ut_err *err)
{
	struct probe_checked *ret = NULL;
	struct probe_spec *spec = NULL;
	const struct probe_scope *scope;

	memset(err, 0, sizeof(*err));
	if (probe_parse(text, &spec, err))
		return NULL;
	scope = scope_of(spec);
	if (!scope) {
		ut_err_set(err, -2, "the test has no scope %s:%s", spec->where, spec->name);
		probe_spec_free(spec);
		return NULL;
	}
	if (probe_check(spec, scope, &ret, err)) {
		probe_spec_free(spec);
		return NULL;
	}
	return ret;
}

#endif

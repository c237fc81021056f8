/* SPDX-License-Identifier: MIT */
/* The checker: types, outputs, notes, layouts, and every error text (tests/golden/errors.txt; UT_GOLDEN_UPDATE=1
 * rewrites it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "golden.h"
#include "probe/layout.h"
#include "probe_scopes.h"
#include "wire/record.h"
#include "unit.h"

static struct probe_checked *check(const char *text)
{
	struct ut_err err;
	struct probe_checked *ret = check_text(text, &err);

	if (!ret)
		fail_msg("%s", err.msg);
	return ret;
}

/* Kinds of the outputs, a letter each, then the number of notes. */
static const char *shape(const struct probe_checked *c)
{
	static char ret[OUTPUTS_MAX + 8];
	unsigned n = c->noutputs;

	for (unsigned i = 0; i < n; i++)
		ret[i] = "VSBCHUK"[c->outputs[i].kind];
	snprintf(ret + n, 8, " %zu", c->notes.n);
	return ret;
}

static void test_outputs(void **state)
{
	static const struct {
		const char *text, *shape;
	} rows[] = {
		{ "u:zoo:none", " 0" },
		{ "u:zoo:i32", "VV 0" },
		{ "u:zoo:i32 \"\"", " 0" },
		{ "u:zoo:i32 \"%%\"", " 0" },
		{ "u:zoo:i32 \"%d %u\"", "VV 0" },
		{ "u:zoo:i32 \"%d\"", "V 0" },
		{ "u:zoo:i32 \"%d %d\"", "VV 1" },
		{ "u:zoo:i32 \"%d %d\", arg2, arg2", "VV 1" },
		{ "u:zoo:i32 \"%d\", (int)arg2", "V 0" },
		{ "u:zoo:bytes \"%d %d\"", "VV 0" },
		{ "u:zoo:u64 \"%s %.3s %.*s\", arg1, arg2, arg3, arg1", "SSB 0" },
		{ "u:zoo:u64 \"%p %x\"", "VV 0" },
		{ "u:zoo:u64 (char *)arg1, (u32 *)arg2", "SV 0" },
		{ "u:zoo:u64 \"%s %p\", *(char **)arg1, (char *)arg1", "SV 0" },
		{ "u:zoo:dbl", "VV 0" },
		{ "u:zoo:dbl \"%f %G\"", "VV 0" },
		{ "u:zoo:dblold", "VV 1" },
		{ "u:zoo:dblold \"%s %d\"", "VV 1" },
		{ "u:zoo:dblold \"%d\", arg1 + 1", "V 1" },
		{ "u:zoo:none \"%s %d %d %u %d\", comm, pid, tid, cpu, time", "HHHHH 0" },
		{ "u:zoo:none \"%d\", pid + 1", "V 0" },
		{ "u:zoo:none \"%K%U\"", "KU 0" },
		{ "p:c:malloc", "VVVVVV 0" },
		{ "r:c:read", "V 0" },
		{ "r:c:read \"%d\"", "V 1" },
		{ "r:c:read \"%d %u\", (int)retval, duration", "VV 0" },
		{ "t:sched:sched_switch", "CVVC 0" },
		{ "t:sched:sched_switch \"%s -> %d\"", "CV 0" },
		{ "t:sched:sched_switch comm, args->comm", "HC 1" },
		{ "t:syscalls:sys_enter_openat", "VSV 1" },
		{ "t:syscalls:sys_enter_openat \"%s\", filename", "S 0" },
		{ "e:gc", "CCVVCV 0" },
		{ "e:* (kind == \"end\" && duration > 5ms) \"%s %d %u %x\", name, id, duration, value", "CVVV 0" },
		{ "e:* \"%s %s %d %d %-9s %d\"", "CCVVCV 0" },
		{ "e:* (kind == \"open\" || kind == \"process-exited\") duration", "V 0" },
		{ "e:* comm, pid, (int)value, args->text, time", "HHVCH 0" },
		{ "e:* (NULL != text && \"x\" == name && name == NULL) value", "V 0" },
		{ "t:syscalls:sys_enter_openat (filename == \"/etc/passwd\") \"%p\", filename", "V 0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_checked *c = check(rows[i].text);

		if (strcmp(shape(c), rows[i].shape))
			fail_msg("%s: '%s' instead of '%s'", rows[i].text, shape(c), rows[i].shape);
		probe_checked_free(c);
	}
}

/* Type of the only output: "s32", "u64", "f64", with '*' for pointers. */
static void assert_type(const char *scope, const char *expr, const char *type)
{
	char text[200], got[16];
	struct probe_checked *c;
	const struct type *t;

	snprintf(text, sizeof(text), "%s 0, %s", scope, expr);
	c = check(text);
	assert_int_equal(c->noutputs, 2);
	t = &c->outputs[1].type;
	snprintf(got, sizeof(got), "%c%d%s",
		 t->kind == TYPE_FLOAT ? 'f'
		 : t->is_signed	       ? 's'
				       : 'u',
		 t->size * 8, t->pointee_size ? "*" : "");
	if (strcmp(got, type))
		fail_msg("%s is %s instead of %s", expr, got, type);
	probe_checked_free(c);
}

static void test_types(void **state)
{
	static const char i32[] = "u:zoo:i32", u64[] = "u:zoo:u64";

	(void)state;
	assert_type(i32, "arg1", "s32");
	assert_type(i32, "arg2", "u32");
	assert_type(i32, "arg1 + arg2", "s64");
	assert_type(i32, "-arg2", "s64");
	assert_type(i32, "arg2 - 5", "s64");
	assert_type(i32, "arg2 - 5U", "u64");
	assert_type(i32, "arg1 == arg2", "s32");
	assert_type(i32, "!arg1", "s32");
	assert_type(i32, "arg1 && arg2", "s32");
	assert_type(i32, "arg1 ? arg1 : arg1", "s32");
	assert_type(i32, "arg1 ? arg1 : arg2", "s64");
	assert_type(i32, "(u8)arg1", "u8");
	assert_type(i32, "(u8)arg1 << 3", "s64");
	assert_type(u64, "arg1 + 1", "u64");
	assert_type(u64, "1 + arg1", "u64");
	assert_type(u64, "arg3 + 1", "s64");
	assert_type(u64, "arg3 >> 1", "s64");
	assert_type(u64, "arg3 >> arg1", "s64");
	assert_type(u64, "arg1 >> 1", "u64");
	assert_type(u64, "~arg1", "u64");
	assert_type(u64, "*(s16 *)(arg1 + 8)", "s16");
	assert_type(u64, "(u32 *)arg1 + 2", "u64*");
	assert_type(u64, "*((u32 *)arg1 + 2)", "u32");
	assert_type(u64, "18446744073709551615", "u64");
	assert_type("u:zoo:dbl", "arg1", "f64");
	assert_type("u:zoo:dbl", "arg2", "f32");
}

/* Pointers count in units of what they point to. */
static void test_pointer_scale(void **state)
{
	struct probe_checked *c = check("u:zoo:u64 (u32 *)arg1 + 3, (u32 *)arg1 + arg2, arg2 + (u8 *)arg1");
	const struct expr *e = c->outputs[0].expr;

	(void)state;
	assert_int_equal(e->b->op, EXPR_INT);
	assert_int_equal(e->b->value, 12);
	e = c->outputs[1].expr;
	assert_int_equal(e->b->op, EXPR_MUL);
	assert_int_equal(e->b->b->value, 4);
	assert_int_equal(c->outputs[2].expr->a->op, EXPR_VAR);
	probe_checked_free(c);
}

static void test_variables(void **state)
{
	struct probe_checked *c = check(
		"t:sched:sched_switch (comm == \"java\" && args->comm != \"x\" && \"y\" == prev_comm) prev_pid, pid");
	const struct expr *e = c->spec->predicate;

	(void)state;
	assert_int_equal(e->a->a->a->var, VAR_COMM);
	assert_int_equal(e->a->b->a->var, VAR_FIELD);
	assert_int_equal(e->a->b->a->index, 3);
	assert_int_equal(e->b->a->op, EXPR_VAR); /* the literal goes to the right */
	assert_int_equal(e->b->a->index, 0);
	assert_int_equal(e->b->b->op, EXPR_STRING);
	assert_int_equal(c->outputs[0].expr->index, 1);
	assert_int_equal(c->outputs[1].expr->var, VAR_PID);
	probe_checked_free(c);
}

static void test_needs_entry(void **state)
{
	static const struct {
		const char *text;
		bool needs;
	} rows[] = {
		{ "r:c:read", false },
		{ "r:c:read duration", true },
		{ "r:c:read (duration > 1000)", true },
		{ "r:c:read \"%d\", 1 + (duration / 1000 ? 1 : 0)", true },
		{ "r:c:read retval", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_checked *c = check(rows[i].text);

		assert_int_equal(c->needs_entry, rows[i].needs);
		probe_checked_free(c);
	}
}

static void test_pieces(void **state)
{
	struct probe_checked *c = check("u:zoo:u64 \"a%%b %-+08.3lld|%.*s%U\", arg3, arg3, arg1");
	struct format_piece *p = c->format.v;

	(void)state;
	assert_int_equal(c->format.n, 5);
	assert_string_equal(p[0].literal, "a%b ");
	assert_null(p[1].literal);
	assert_string_equal(p[1].flags, "-+0");
	assert_int_equal(p[1].width, 8);
	assert_int_equal(p[1].precision, 3);
	assert_int_equal(p[1].conv, 'd');
	assert_string_equal(p[2].literal, "|");
	assert_int_equal(p[3].output, 1);
	assert_ptr_equal(c->outputs[1].len, c->spec->args.v[1]);
	assert_int_equal(p[4].conv, 'U');
	assert_int_equal(p[4].output, 2);
	probe_checked_free(c);
}

static void test_notes(void **state)
{
	struct probe_checked *c = check("u:zoo:u64 \"%d\"");

	(void)state;
	assert_string_equal(
		c->notes.v[0],
		"%d prints arg1 as unsigned: zoo:u64 declares it uint64; use (long)arg1 for a signed value");
	probe_checked_free(c);
	c = check("u:zoo:dblold");
	assert_string_equal(
		c->notes.v[0],
		"arg1 of zoo:dblold cannot be read because it is in %xmm0, which the kernel does not provide");
	probe_checked_free(c);
	c = check("r:c:read \"%d\"");
	assert_non_null(strstr(c->notes.v[0], "(int)retval"));
	probe_checked_free(c);
}

static void test_layout(void **state)
{
	struct probe_checked *c = check("u:zoo:u64 \"%s %d %s %K %.*s\", comm, arg3, arg1, arg3, arg2");
	struct layout l;
	uint32_t head = sizeof(struct ut_rec_event), text = sizeof(struct ut_rec_text);

	(void)state;
	layout_of(c, 13, &l);
	assert_int_equal(l.nvalues, 3);
	assert_int_equal(l.ntexts, 3);
	assert_int_equal(l.slot[0].value, 0);
	assert_int_equal(l.slot[0].text, 0);
	assert_int_equal(l.slot[1].value, head);
	assert_int_equal(l.slot[1].fault, 1);
	assert_int_equal(l.slot[2].value, head + 8);
	assert_int_equal(l.slot[2].text, head + 24);
	assert_int_equal(l.slot[2].room, 16);
	assert_int_equal(l.slot[3].value, 0);
	assert_int_equal(l.slot[3].text, head + 24 + text + 16);
	assert_int_equal(l.slot[3].room, 127 * 8);
	assert_int_equal(l.slot[4].fault, 4);
	assert_int_equal(l.size, head + 24 + 3 * text + 16 + 16 + 127 * 8);
	layout_of(c, UINT32_MAX, &l);
	assert_int_equal(l.slot[2].room, TEXT_ROOM_MAX);
	probe_checked_free(c);
}

/* A golden file of blocks: "=== PROBE", then the exact error. */
static void check_golden(const char *probe, const char *expected, struct buf *update)
{
	struct ut_err err;
	struct probe_checked *c = check_text(probe, &err);

	buf_addf(update, "=== %s\n%s\n\n", probe, c ? "accepted" : err.msg);
	if (c)
		fail_msg("accepted: %s", probe);
	if (!golden_update())
		assert_string_equal(err.msg, expected);
}

static void test_golden_errors(void **state)
{
	AUTO_FREE char *text = golden_read("errors.txt");
	struct buf update = { 0 };
	size_t blocks = 0;

	(void)state;
	for (char *block = strstr(text, "=== "), *next; block; block = next, blocks++) {
		char *probe = block + 4, *end = strchr(probe, '\n'), *last;

		assert_non_null(end);
		next = strstr(end, "\n=== ");
		if (next)
			*next++ = '\0';
		*end = '\0';
		last = end + 1 + strlen(end + 1);
		while (last > end + 1 && last[-1] == '\n')
			*--last = '\0';
		check_golden(probe, end + 1, &update);
	}
	assert_true(blocks > 60);
	if (golden_update())
		golden_write("errors.txt", update.data, update.len);
	buf_done(&update);
}

UNIT_TESTS(check)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outputs),	      cmocka_unit_test(test_types),
		cmocka_unit_test(test_pointer_scale), cmocka_unit_test(test_variables),
		cmocka_unit_test(test_needs_entry),   cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_notes),	      cmocka_unit_test(test_layout),
		cmocka_unit_test(test_golden_errors),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Folded stacks: what is a stack and what is none, what lines share, and pieces as they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "model/profile.h"
#include "unit.h"

static struct profile_bad bad;

static struct profile *read_bytes(const char *s, size_t len)
{
	AUTO_CLOSE int fd = memfd_create("folded", MFD_CLOEXEC);
	struct profile *p = profile_new();
	struct ut_err err = { 0 };

	assert_int_equal(write(fd, s, len), len);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(profile_read_folded(p, fd, &bad, &err), 0);
	return p;
}

static struct profile *read_text(const char *s) { return read_bytes(s, strlen(s)); }

/* The profile as lines, in the order of its weights: what was read, once more. */
static char *lines_of(const struct profile *p)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < p->weights.n; i++) {
		uint32_t path[100], n = 0;

		for (uint32_t at = p->weights.v[i].node; at; at = p->nodes.v[at].parent)
			path[n++] = p->nodes.v[at].frame;
		while (n--)
			buf_addf(&b, "%s%s", p->frames.v[path[n]].name, n ? ";" : "");
		buf_addf(&b, " %llu\n", (unsigned long long)p->weights.v[i].count);
	}
	return buf_take(&b);
}

static void check(const char *text, const char *lines)
{
	struct profile *p = read_text(text);
	AUTO_FREE char *got = lines_of(p);

	assert_string_equal(got, lines);
	profile_free(p);
}

static void test_stacks(void **state)
{
	(void)state;
	check("", "");
	check("a 1", "a 1\n");
	check("a;b 1\na;b 2\na;c 3\n", "a;b 3\na;c 3\n");
	check("a;b 1\na;bc 2\na;b;c 3\na 4\n", "a;b 1\na;bc 2\na;b;c 3\na 4\n");
	check("a;b;c 1\na;b 2\na;b;c 3\n", "a;b;c 4\na;b 2\n");
	check("ab;c 1\nab 1\na 1\nab;cd 1\n", "ab;c 1\nab 1\na 1\nab;cd 1\n");
	check("long_name_of_a_function_a;x 1\nlong_name_of_a_function_b;x 1\n",
	      "long_name_of_a_function_a;x 1\nlong_name_of_a_function_b;x 1\n");
	check("a;ends in 42 7\r\na;tab\tin\t8\n", "a;ends in 42 7\na;tab\tin 8\n");
	check("a;b   7  \n\xef\xbb\xbf"
	      "a 1\n",
	      "a;b 7\n\xef\xbb\xbf"
	      "a 1\n");
	check("\xef\xbb\xbf"
	      "a 1\n",
	      "a 1\n");
	check("a;b 0\n", "a;b 0\n");
	check(";a 1\na; 2\na;;b 3\n", "[no name];a 1\na;[no name] 2\na;[no name];b 3\n");
	assert_int_equal(bad.lines, 0);
}

static void test_no_stacks(void **state)
{
	static const char *const lines[] = {
		"a", "a x", "a -3", "a 1e5", "a 1.2.3", "a .5", "5", " 5", "a5", "a;b 0x10"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		AUTO_FREE char *text = NULL;

		assert_true(asprintf(&text, "ok 1\n%s\nok 1\nmore\n", lines[i]) > 0);
		check(text, "ok 2\n");
		assert_int_equal(bad.lines, 2);
		assert_int_equal(bad.first_line, 2);
		assert_string_equal(bad.first, lines[i]);
	}
	check("# a comment 5\n#\n\n  \n#<Thread>;run 5\n", "#<Thread>;run 5\n");
	assert_int_equal(bad.lines, 0);
}

static void test_counts(void **state)
{
	struct profile *p;

	(void)state;
	check("a 1.5\nb 1.4\nc 2.0\nd 3.\n", "a 2\nb 1\nc 2\nd 3\n");
	assert_int_equal(bad.rounded, 2);
	p = read_text("a;b 18446744073709551615\n");
	assert_false(p->totals.saturated);
	assert_int_equal(p->totals.frames, UINT64_MAX);
	profile_free(p);
	p = read_text("a;b 18446744073709551615\na 1\n");
	assert_true(p->totals.saturated);
	assert_int_equal(p->totals.samples, UINT64_MAX);
	profile_free(p);
	p = read_text("a 18446744073709551616\n");
	assert_true(p->totals.saturated);
	assert_int_equal(p->weights.v[0].count, UINT64_MAX);
	profile_free(p);
}

static const struct profile_frame *frame_named(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->frames.n; i++)
		if (!strcmp(p->frames.v[i].name, name))
			return &p->frames.v[i];
	fail_msg("no frame %s", name);
	return NULL;
}

static void test_kinds(void **state)
{
	struct profile *p = read_text("main;-;do_read_[k];f_[j];g_[i];w_[w];[unknown];[libc.so];0x7f00;0x;_[k] 2\n"
				      "[truncated];main;[blocked];[waiting: futex] 3\n"
				      "[no unwind info: libfoo.so];main 4\n[GC];[stack not resident];main 5\n"
				      "[GC];main 6\nmain;[truncated] 7\n");
	static const struct {
		const char *name;
		enum frame_kind kind;
		bool unnamed;
	} want[] = {
		{ "main", FRAME_NATIVE, false },       { "-", FRAME_REASON, false },
		{ "do_read", FRAME_KERNEL, false },    { "f", FRAME_COMPILED, false },
		{ "g", FRAME_INLINED, false },	       { "w", FRAME_WAITING, false },
		{ "[unknown]", FRAME_REASON, true },   { "[libc.so]", FRAME_REASON, false },
		{ "0x7f00", FRAME_NATIVE, true },      { "0x", FRAME_NATIVE, false },
		{ "_[k]", FRAME_NATIVE, false },       { "[truncated]", FRAME_REASON, false },
		{ "[blocked]", FRAME_WAITING, false }, { "[waiting: futex]", FRAME_WAITING, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(frame_named(p, want[i].name)->kind, want[i].kind);
		assert_int_equal(frame_named(p, want[i].name)->unnamed, want[i].unnamed);
	}
	assert_int_equal(p->totals.samples, 5 + 4 + 5 + 6 + 7);
	assert_int_equal(p->totals.frames, 2 * 11 + 3 * 4 + 4 * 2 + 5 * 3 + 6 * 2 + 7 * 2);
	assert_int_equal(p->totals.unnamed, 2 * 2);
	assert_int_equal(p->totals.cut, 3 + 4 + 5);
	profile_free(p);
}

static void test_bytes(void **state)
{
	struct profile *p = read_bytes("a\0b;c\xff 1\na\0b;c 2\n", 18);

	(void)state;
	assert_string_equal(p->frames.v[0].name, "a\\x00b");
	assert_string_equal(p->frames.v[1].name, "c\xff");
	assert_int_equal(p->frames.n, 3);
	profile_free(p);
}

static void test_deep(void **state)
{
	struct buf b = { 0 };
	struct profile *p;

	(void)state;
	for (int line = 0; line < 5; line++) {
		for (int i = 0; i < 20000; i++)
			buf_addf(&b, "f%d;", i);
		buf_addf(&b, "leaf%d %d\n", line, line + 1);
	}
	p = read_bytes(b.data, b.len);
	assert_int_equal(p->nodes.n, 1 + 20000 + 5);
	assert_int_equal(p->totals.samples, 15);
	profile_free(p);
	buf_done(&b);
}

/* Lines that stand across the pieces that are read: each has its frames, whatever the place. */
static void test_pieces(void **state)
{
	enum { LINES = 100000 };
	struct buf b = { 0 };
	struct profile *p;

	(void)state;
	for (int i = 0; i < LINES; i++)
		buf_addf(&b, "main;group_%d;function_with_a_name_that_is_long_%d;leaf 1\n", i / 100, i);
	p = read_bytes(b.data, b.len);
	assert_int_equal(p->weights.n, LINES);
	assert_int_equal(p->frames.n, 2 + LINES / 100 + LINES);
	assert_int_equal(p->nodes.n, 2 + LINES / 100 + 2 * LINES);
	assert_int_equal(bad.lines, 0);
	profile_free(p);
	buf_done(&b);
}

static void test_long_lines(void **state)
{
	struct buf b = { 0 };
	struct profile *p;

	(void)state;
	buf_adds(&b, "a 1\n");
	buf_fill(&b, 'x', 70 << 20);
	buf_adds(&b, " 5\nb 1\n");
	buf_fill(&b, 'y', 3 << 20);
	buf_adds(&b, " 5");
	p = read_bytes(b.data, b.len);
	assert_int_equal(bad.lines, 1);
	assert_int_equal(bad.first_line, 2);
	assert_int_equal(p->weights.n, 3);
	assert_int_equal(strlen(p->frames.v[2].name), 3 << 20);
	profile_free(p);
	buf_done(&b);
}

static void test_errors(void **state)
{
	struct profile *p = profile_new();
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(profile_read_folded(p, -1, &bad, &err), -EBADF);
	assert_string_equal(err.msg, "cannot read stacks: Bad file descriptor");
	profile_free(p);
}

static const struct profile_weight *weight_of(const struct profile *p, const char *leaf)
{
	for (size_t i = 0; i < p->weights.n; i++)
		if (!strcmp(p->frames.v[p->nodes.v[p->weights.v[i].node].frame].name, leaf))
			return &p->weights.v[i];
	fail_msg("no stack ends in %s", leaf);
	return NULL;
}

/* What a recording of waits wrote: its numbers are nanoseconds, and waits are no time that somebody ran. */
static void test_waits(void **state)
{
	static const struct {
		const char *leaf;
		enum profile_state state;
	} want[] = {
		{ "work", PROFILE_CPU },
		{ "[sleeping]", PROFILE_BLOCKED },
		{ "[uninterruptible wait]", PROFILE_BLOCKED },
		{ "[stopped]", PROFILE_BLOCKED },
		{ "[waiting]", PROFILE_BLOCKED },
		{ "[waiting for a CPU]", PROFILE_RUNNABLE },
		{ "pool", PROFILE_BLOCKED },
		{ "worker", PROFILE_BLOCKED },
	};
	struct profile *p = read_text("main;work 2000000\nmain;lock;schedule_[k];[sleeping] 3000000\n"
				      "main;read;[uninterruptible wait] 1\nmain;[stopped] 2\nmain;[waiting] 3\n"
				      "main;[waiting for a CPU] 4\n[idle];pool_[w] 5\npool 7;[idle];worker_[w] 6\n");

	(void)state;
	assert_true(p->totals.times_only);
	assert_int_equal(p->weights.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct profile_weight *w = weight_of(p, want[i].leaf);

		assert_int_equal(w->state, want[i].state);
		assert_int_equal(w->value_ns, w->count);
	}
	profile_free(p);
	p = read_text("[idle];pool_[w] 5\n"); /* nothing else */
	assert_true(p->totals.times_only);
	profile_free(p);
}

/* Others have words for waits too, and count what they like. */
static void test_waits_of_others(void **state)
{
	struct profile *p =
		read_text("main;[sleeping];more 1\nmain;[blocked] 2\nmain;w_[w] 3\n[idle] 4\n[idle];cpu0 5\n"
			  "main;[sleep] 6\n[GC];main 7\n");

	(void)state;
	assert_false(p->totals.times_only);
	for (size_t i = 0; i < p->weights.n; i++) {
		assert_int_equal(p->weights.v[i].state, PROFILE_CPU);
		assert_int_equal(p->weights.v[i].value_ns, 0);
	}
	profile_free(p);
}

UNIT_TESTS(profile_read)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks), cmocka_unit_test(test_no_stacks),
		cmocka_unit_test(test_counts), cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_waits),  cmocka_unit_test(test_waits_of_others),
		cmocka_unit_test(test_bytes),  cmocka_unit_test(test_deep),
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_errors),
	};

	return unit_run(tests, NULL, NULL);
}

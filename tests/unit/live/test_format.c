/* SPDX-License-Identifier: MIT */
/* Formats: every row of tests/cases/printf/formats.tsv, and C's rules compared with the C library over many
 * combinations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "live_records.h"
#include "unit.h"

/* How a row is run: the probe text ("%F" is the row's format), and what the record holds. */
struct row {
	const char *format, *what; /* the row's first two columns */
	const char *probe;
	uint64_t value;
	const char *text;
	size_t text_len;
	enum ut_text_state state;
	const char *expect; /* the exact message, or part of the error */
	bool is_error, notes;
};

static char big[4096];

static const struct row rows[] = {
	{ "%d", "4@ 0xffffffff (unsigned)", "u:zoo:u32 \"%F\", arg1", .value = 0xffffffff, .expect = "4294967295",
	  .notes = true },
	{ "%d", "8@ 18446744073709551615", "u:zoo:u64 \"%F\", arg1", .value = UINT64_MAX,
	  .expect = "18446744073709551615", .notes = true },
	{ "%u", "-4@ -1", "u:zoo:one \"%F\", arg1", .value = (uint64_t)-1, .expect = "4294967295" },
	{ "%d", "-1@ -3", "u:zoo:bytes \"%F\", arg1", .value = (uint64_t)-3, .expect = "-3" },
	{ "%x", "-4@ -1", "u:zoo:one \"%F\", arg1", .value = (uint64_t)-1, .expect = "ffffffff" },
	{ "%02x", "1@ 2", "u:zoo:bytes \"%F\", arg2", .value = 2, .expect = "02" },
	{ "%-10s|", "\"ab\"", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "ab", .text_len = 2,
	  .expect = "ab        |" },
	{ "%.3s", "\"abcdef\"", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "abcdef", .text_len = 6,
	  .expect = "abc" },
	{ "%s", "NULL", "u:zoo:u64 \"%F\", arg1", .state = UT_TEXT_NULL, .expect = "(null)" },
	{ "%s", "pointer 0x10", "u:zoo:u64 \"%F\", arg1", .value = 0x10, .state = UT_TEXT_FAULT,
	  .expect = "<fault 0x10>" },
	{ "%s", "address in a page not yet touched", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "hello",
	  .text_len = 5, .expect = "hello" },
	{ "%s", "6 bytes and then an unmapped page", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "AAAAAA",
	  .text_len = 6, .state = UT_TEXT_CUT_FAULT, .expect = "AAAAAA<fault>" },
	{ "%s", "empty string", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "", .expect = "" },
	{ "%s", "5000 bytes", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = big, .text_len = sizeof(big),
	  .state = UT_TEXT_CUT_LIMIT, .expect = "b…[cut at 4096]" },
	{ "%s", "bytes ff fe", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "\xff\xfe", .text_len = 2,
	  .expect = "\\xff\\xfe" },
	{ "%s", "ESC [ 3 1 m", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "\x1b[31m", .text_len = 5,
	  .expect = "\\x1b[31m" },
	{ "%s", "line feed inside", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "a\nb", .text_len = 3,
	  .expect = "a\\nb" },
	{ "%s", "\"%s%n%d\"", "u:zoo:u64 \"%F\", arg1", .value = 0x1000, .text = "%s%n%d", .text_len = 6,
	  .expect = "%s%n%d" },
	{ "%s", "-4@ 7 (an int)", "u:zoo:one \"%F\", arg1", .expect = "needs the address of a string",
	  .is_error = true },
	{ "%s with %d length pair", "\"no-terminator-here\", 2", "u:zoo:u64 \"%.*s\", arg2, arg1", .value = 0x1000,
	  .text = "no", .text_len = 2, .expect = "no" },
	{ "%f", "8f@ 2.5", "u:zoo:dbl \"%F\", arg1", .value = 0x4004000000000000, .expect = "2.500000" },
	{ "%d %d", "probe with one argument", "u:zoo:one \"%F\"",
	  .expect = "zoo:one has 1 argument, but the format needs 2", .is_error = true },
	{ "%d", "probe with three arguments", "u:zoo:u64 \"%F\"", .value = 7, .expect = "7", .notes = true },
	{ "%q", "any", "u:zoo:one \"%F\", arg1", .expect = "unknown conversion", .is_error = true },
	{ "%", "any", "u:zoo:one \"%F\", arg1", .expect = "ends in the middle of a conversion", .is_error = true },
	{ "%%", "none", "u:zoo:none \"%F\"", .expect = "%" },
	{ "%n", "any", "u:zoo:one \"%F\", arg1", .expect = "not supported", .is_error = true },
	{ "%*d", "any", "u:zoo:one \"%F\", arg1", .expect = "not supported", .is_error = true },
	{ "%K", "kernel stack", "u:zoo:none \"%F\"", .text = "\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0", .text_len = 16,
	  .expect = "\n        0x10\n        0x20" },
};

static void row_probe(const struct row *row, char *ret, size_t size)
{
	const char *at = strstr(row->probe, "%F");

	if (at)
		snprintf(ret, size, "%.*s%s%s", (int)(at - row->probe), row->probe, row->format, at + 2);
	else
		snprintf(ret, size, "%s", row->probe);
}

static void run_error(const struct row *row, const char *probe)
{
	struct ut_err err;
	struct probe_checked *c = check_text(probe, &err);

	if (c)
		fail_msg("accepted: %s", probe);
	if (!strstr(err.msg, row->expect))
		fail_msg("%s: '%s' is not in '%s'", probe, row->expect, err.msg);
}

static void run_print(const struct row *row, const char *probe)
{
	struct test_event *t = event_new(probe, 4096);
	struct buf out = { 0 };
	const char *got;

	assert_int_equal(t->checked->notes.n > 0, row->notes);
	if (t->layout.nvalues)
		event_set(t, 0, row->value);
	if (t->layout.ntexts)
		event_set_text(t, 0, row->text, row->text_len, row->state);
	got = event_message(t, &out);
	if (row->text == big) /* only the end matters */
		got = strstr(got, "b…") ? strstr(got, "b…") : got;
	if (strcmp(got, row->expect))
		fail_msg("%s of %s: '%s' instead of '%s'", row->format, row->what, got, row->expect);
	buf_done(&out);
	event_free(t);
}

static const struct row *find_row(const char *format, const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].format, format) && !strcmp(rows[i].what, what))
			return &rows[i];
	fail_msg("no test for the row '%s' of '%s'", format, what);
	return NULL;
}

static void run_line(char *line)
{
	char *what = strchr(line, '\t'), *right = what ? strchr(what + 1, '\t') : NULL, probe[256];
	const struct row *row;

	assert_non_null(right);
	*what++ = '\0';
	*right++ = '\0';
	row = find_row(line, what);
	if (row->is_error)
		assert_non_null(strstr(right, row->format[1] == 'n' ? "refused" : "ERR"));
	row_probe(row, probe, sizeof(probe));
	if (row->is_error)
		run_error(row, probe);
	else
		run_print(row, probe);
}

static void test_rows(void **state)
{
	AUTO_FREE char *path = NULL, *line = NULL;
	const char *root = getenv("UT_SOURCE_ROOT");
	size_t size = 0, n = 0;
	ssize_t len;

	(void)state;
	memset(big, 'b', sizeof(big));
	assert_true(asprintf(&path, "%s/tests/cases/printf/formats.tsv", root ? root : ".") > 0);
	AUTO_FCLOSE FILE *f = fopen(path, "r");
	assert_non_null(f);
	while ((len = getline(&line, &size, f)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (line[0] == '#' || !line[0])
			continue;
		run_line(line);
		n++;
	}
	assert_int_equal(n, ARRAY_SIZE(rows));
}

/* A small generator of random numbers, so that a failure comes again. */
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t below(uint64_t n) { return next_random() % n; }

/* Values of all sizes, with the edges often. */
static uint64_t random_value(void)
{
	static const uint64_t edges[] = { 0,
					  1,
					  7,
					  8,
					  9,
					  10,
					  99,
					  100,
					  127,
					  128,
					  255,
					  256,
					  INT32_MAX,
					  0x80000000u,
					  UINT32_MAX,
					  INT64_MAX,
					  0x8000000000000000u,
					  UINT64_MAX,
					  (uint64_t)-2,
					  (uint64_t)-100 };

	return below(3) ? next_random() >> below(64) : edges[below(ARRAY_SIZE(edges))];
}

static void random_flags(const char *from, char *ret)
{
	size_t n = 0;

	for (; *from; from++)
		if (!below(4))
			ret[n++] = *from;
	ret[n] = '\0';
}

struct spec {
	char flags[8], width[8], precision[8], conv;
};

static struct spec random_spec(const char *flags, const char *convs)
{
	struct spec s = { .conv = convs[below(strlen(convs))] };

	random_flags(flags, s.flags);
	if (below(2))
		snprintf(s.width, sizeof(s.width), "%d", 1 + (int)below(30));
	if (!below(3))
		snprintf(s.precision, sizeof(s.precision), ".%d", (int)below(25));
	return s;
}

static void print_ours(const char *scope, const struct spec *s, const char *arg, uint64_t value, const char *text,
		       char *ret, size_t size)
{
	char probe[128];
	struct test_event *t;
	struct buf out = { 0 };

	snprintf(probe, sizeof(probe), "u:zoo:%s \"<%%%s%s%s%c>\", %s", scope, s->flags, s->width, s->precision,
		 s->conv, arg);
	t = event_new(probe, 64);
	event_set(t, 0, value);
	if (text)
		event_set_text(t, 0, text, strlen(text), UT_TEXT_WHOLE);
	snprintf(ret, size, "%s", event_message(t, &out));
	buf_done(&out);
	event_free(t);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void c_format(const struct spec *s, const char *length, char *ret, size_t size)
{
	snprintf(ret, size, "<%%%s%s%s%s%c>", s->flags, s->width, s->precision, length, s->conv);
}

static void assert_same(const struct spec *s, const char *arg, uint64_t value, const char *ours, const char *theirs)
{
	if (strcmp(ours, theirs))
		fail_msg("%%%s%s%s%c of %s %#llx: '%s' instead of '%s'", s->flags, s->width, s->precision, s->conv, arg,
			 (unsigned long long)value, ours, theirs);
}

static void check_integer(const char *scope, const char *arg, unsigned bits, bool is_signed)
{
	struct spec s = random_spec("-+ #0", is_signed ? "diuxXo" : "uxXo");
	uint64_t v = random_value(), low = bits == 64 ? v : v & ((1ull << bits) - 1);
	char ours[512], theirs[512], format[64];

	if (s.conv == 'd' || s.conv == 'i') /* sign-extended, as the record has it */
		low = (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
	c_format(&s, "ll", format, sizeof(format));
	snprintf(theirs, sizeof(theirs), format, (unsigned long long)low);
	print_ours(scope, &s, arg, v, NULL, ours, sizeof(ours));
	assert_same(&s, arg, v, ours, theirs);
}

static void test_integers(void **state)
{
	(void)state;
	for (int i = 0; i < 6000; i++) {
		check_integer("u64", "arg1", 64, false);
		check_integer("u64", "arg3", 64, true);
		check_integer("i32", "arg1", 32, true);
		check_integer("i32", "arg2", 32, false);
		check_integer("bytes", "arg1", 8, true);
		check_integer("bytes", "arg2", 8, false);
		check_integer("u64", "(short)arg1", 16, true);
	}
}

static void test_pointers(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct spec s = random_spec("-", "p");
		uint64_t v = random_value();
		char ours[512], theirs[512], format[64];

		s.precision[0] = '\0';
		c_format(&s, "", format, sizeof(format));
		snprintf(theirs, sizeof(theirs), format, (void *)(uintptr_t)v);
		print_ours("u64", &s, "arg1", v, NULL, ours, sizeof(ours));
		assert_same(&s, "arg1", v, ours, theirs);
	}
}

static void test_floats(void **state)
{
	(void)state;
	for (int i = 0; i < 4000; i++) {
		struct spec s = random_spec("-+ #0", "fFeEgG");
		uint64_t bits = random_value();
		char ours[1024], theirs[1024], format[64];
		double d;
		float f;

		c_format(&s, "", format, sizeof(format));
		memcpy(&d, &bits, sizeof(d));
		snprintf(theirs, sizeof(theirs), format, d);
		print_ours("dbl", &s, "arg1", bits, NULL, ours, sizeof(ours));
		assert_same(&s, "arg1", bits, ours, theirs);
		memcpy(&f, &bits, sizeof(f));
		snprintf(theirs, sizeof(theirs), format, f);
		print_ours("dbl", &s, "arg2", bits, NULL, ours, sizeof(ours));
		assert_same(&s, "arg2", bits, ours, theirs);
	}
}

static void test_strings(void **state)
{
	static const char *const texts[] = { "", "a", "hello", "a longer text with blanks", "%d%s" };

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct spec s = random_spec("-", "s");
		const char *text = texts[below(ARRAY_SIZE(texts))];
		char ours[512], theirs[512], format[64];

		c_format(&s, "", format, sizeof(format));
		snprintf(theirs, sizeof(theirs), format, text);
		print_ours("u64", &s, "arg1", 0x1000, text, ours, sizeof(ours));
		assert_same(&s, text, 0, ours, theirs);
	}
}

static void test_chars(void **state)
{
	(void)state;
	for (int c = ' '; c < 0x7f; c++) {
		struct spec s = random_spec("-", "c");
		char ours[512], theirs[512], format[64];

		if (c == '\\')
			continue;
		s.precision[0] = '\0';
		c_format(&s, "", format, sizeof(format));
		snprintf(theirs, sizeof(theirs), format, c);
		print_ours("i32", &s, "arg1", (uint64_t)c, NULL, ours, sizeof(ours));
		assert_same(&s, "arg1", (uint64_t)c, ours, theirs);
	}
}

UNIT_TESTS(format)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_integers), cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_floats), cmocka_unit_test(test_strings),	cmocka_unit_test(test_chars),
	};

	return unit_run(tests, NULL, NULL);
}

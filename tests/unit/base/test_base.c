/* SPDX-License-Identifier: MIT */
/* Errors, vectors, buffers, text and numbers. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/path.h"
#include "base/search.h"
#include "base/sentences.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/version.h"
#include "unit.h"

static void test_err_set_and_wrap(void **state)
{
	struct ut_err err = { 0 };

	(void)state;
	assert_int_equal(ut_err_set(&err, -ENOENT, "no file '%s'", "x"), -ENOENT);
	assert_int_equal(ut_err_wrap(&err, "line %d", 7), -ENOENT);
	assert_string_equal(err.msg, "line 7: no file 'x'");
	assert_int_equal(err.code, -ENOENT);
	assert_int_equal(ut_err_set(NULL, -EINVAL, "nobody listens"), -EINVAL);
	assert_true(ut_err_wrap(NULL, "nobody listens") < 0);
	assert_int_equal(ut_err_nomem(&err), -ENOMEM);
}

static void test_err_cuts_and_takes_its_own_text(void **state)
{
	struct ut_err err = { 0 };
	char big[2000];

	(void)state;
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ut_err_set(&err, -EIO, "%s", big);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	ut_err_wrap(&err, "%s", big);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	ut_err_set(&err, -EIO, "short");
	ut_err_set(&err, -EIO, "again %s", err.msg);
	assert_string_equal(err.msg, "again short");
}

static void test_vec(void **state)
{
	VEC(int) v = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, i * 3), 0);
	assert_int_equal(v.n, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.v[i], i * 3);
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 2), -ENOMEM);
	assert_int_equal(v.v[999], 2997);
	vec_done(&v);
	assert_null(v.v);
}

static void expect_text(struct buf *b, const char *want)
{
	assert_false(b->failed);
	assert_string_equal(b->data, want);
	assert_int_equal(b->len, strlen(want));
	buf_reset(b);
}

static void test_ascii(void **state)
{
	(void)state;
	for (int i = -128; i < 128; i++) {
		char c = (char)i;
		bool ascii = i >= 0;

		assert_int_equal(is_digit(c), ascii && isdigit(i));
		assert_int_equal(is_alpha(c), ascii && isalpha(i));
		assert_int_equal(is_alnum(c), ascii && isalnum(i));
		assert_int_equal(is_word_char(c), ascii && (isalnum(i) || c == '_'));
		assert_int_equal(is_space(c), ascii && isspace(i));
		assert_int_equal(is_blank(c), c == ' ' || c == '\t');
		assert_int_equal(is_line_blank(c), c == ' ' || c == '\t' || c == '\r');
		assert_int_equal(to_lower(c), ascii ? tolower(i) : c);
		assert_int_equal(hex_value(c) >= 0, ascii && isxdigit(i));
	}
	assert_int_equal(hex_value('7'), 7);
	assert_int_equal(hex_value('b'), 11);
	assert_int_equal(hex_value('F'), 15);
}

static void test_path(void **state)
{
	(void)state;
	assert_string_equal(path_base("/usr/lib/libc.so.6"), "libc.so.6");
	assert_string_equal(path_base("name"), "name");
	assert_string_equal(path_base("/folder/"), "");
	assert_string_equal(path_base(""), "");
}

/* A pipe that does not block and that nobody reads at first. */
static void test_write_all(void **state)
{
	static char bytes[300000], got[sizeof(bytes)];
	size_t at = 0, done = 7;
	int fds[2];
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 31 >> 4);
	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		_exit(write_all(fds[1], bytes, sizeof(bytes), NULL) ? 1 : 0);
	while (at < sizeof(got)) {
		ssize_t n = read(fds[0], got + at, sizeof(got) - at);

		assert_true(n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
		if (n < 0)
			poll(&(struct pollfd){ .fd = fds[0], .events = POLLIN }, 1, -1);
		at += n > 0 ? (size_t)n : 0;
	}
	assert_memory_equal(got, bytes, sizeof(bytes));
	assert_int_equal(waitpid(pid, &(int){ 0 }, 0), pid);
	assert_int_equal(write_all(fds[1], "abc", 3, &done), 0);
	assert_int_equal(done, 3);
	assert_int_equal(write_all(fds[0], "abc", 3, &done), -EBADF);
	assert_int_equal(done, 0);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write_all(fds[1], "abc", 3, NULL), -EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(fds[1]);
}

static int add_sentence(struct sentences *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int add_sentence(struct sentences *s, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = sentences_add(s, fmt, ap);
	va_end(ap);
	return r;
}

static void test_sentences(void **state)
{
	struct sentences s = { 0 };

	(void)state;
	for (int turn = 0; turn < 3; turn++)
		for (int i = 0; i < 20; i++)
			assert_int_equal(add_sentence(&s, "sentence %d", i), 0);
	assert_int_equal(s.n, 20);
	assert_string_equal(s.v[0], "sentence 0");
	assert_string_equal(s.v[19], "sentence 19");
	sentences_done(&s);
	assert_null(s.v);
}

static void test_search(void **state)
{
	int v[20];

	(void)state;
	for (size_t n = 0; n <= 20; n++) {
		for (size_t i = 0; i < n; i++)
			v[i] = (int)(i / 3) * 2; /* 0 0 0 2 2 2 4 … */
		for (int wanted = -1; wanted < 15; wanted++) {
			size_t first = 0, above = 0;

			for (size_t i = 0; i < n; i++) {
				first += v[i] < wanted;
				above += v[i] <= wanted;
			}
			assert_int_equal(search_first_not(i, 0, n, v[i] < wanted), first);
			assert_int_equal(search_first_not(i, 0, n, v[i] <= wanted), above);
		}
	}
	assert_int_equal(search_first_not(i, 7, 7, i < 100), 7);
	assert_int_equal(search_first_not(i, 7, 9, i < 100), 9);
	assert_int_equal(search_first_not(i, 7, 6, i < 100), 7);
	assert_int_equal(search_first_not(i, SIZE_MAX - 5, SIZE_MAX, i < SIZE_MAX - 2), SIZE_MAX - 2);
}

static void test_buf_appends(void **state)
{
	struct buf b = { 0 };
	char big[3000];

	(void)state;
	buf_adds(&b, "ab");
	buf_addc(&b, 'c');
	buf_add(&b, "defg", 2);
	buf_addf(&b, " %d %s", 42, "x");
	buf_fill(&b, '-', 3);
	expect_text(&b, "abcde 42 x---");
	memset(big, 'z', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	buf_addf(&b, "%s", big);
	expect_text(&b, big);
	buf_adds(&b, "\xc3\xa9t");
	buf_pad(&b, 0, 4);
	buf_adds(&b, "longer");
	buf_pad(&b, 4, 2);
	buf_addc(&b, '|');
	expect_text(&b, "\xc3\xa9t  longer |");
	buf_done(&b);
}

static void test_buf_numbers_equal_printf(void **state)
{
	struct buf b = { 0 };
	uint64_t v = 1;
	char want[80];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t n = v >> (i % 64);

		snprintf(want, sizeof(want), "%llu %lld %llx", (unsigned long long)n, (long long)n,
			 (unsigned long long)n);
		buf_addu(&b, n);
		buf_addc(&b, ' ');
		buf_addi(&b, (int64_t)n);
		buf_addc(&b, ' ');
		buf_addx(&b, n);
		expect_text(&b, want);
		v = v * 6364136223846793005ull + 1442695040888963407ull;
	}
	buf_addu(&b, UINT64_MAX);
	buf_addi(&b, INT64_MIN);
	buf_addx(&b, 0);
	expect_text(&b, "18446744073709551615-92233720368547758080");
	buf_done(&b);
}

static void test_buf_take_and_failure(void **state)
{
	struct buf b = { 0 };
	AUTO_FREE char *empty = buf_take(&b), *text = NULL;

	(void)state;
	assert_string_equal(empty, "");
	buf_adds(&b, "kept");
	text = buf_take(&b);
	assert_string_equal(text, "kept");
	assert_null(b.data);
	buf_adds(&b, "start");
	assert_null(buf_room(&b, SIZE_MAX - 2));
	assert_true(b.failed);
	buf_adds(&b, " more");
	assert_string_equal(b.data, "start");
	assert_null(buf_take(&b));
	assert_false(b.failed);
}

static void expect_escaped(const char *bytes, size_t len, const char *want)
{
	struct buf b = { 0 };

	buf_add_escaped(&b, bytes, len);
	expect_text(&b, want);
	buf_done(&b);
}

static void test_escapes(void **state)
{
	(void)state;
	expect_escaped("a\n\t\r\x1b[31m\\", 10, "a\\n\\t\\r\\x1b[31m\\\\");
	expect_escaped("nul\0\x7f", 5, "nul\\x00\\x7f");
	expect_escaped("\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80", 11, "\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80");
	expect_escaped("\xff\xfe", 2, "\\xff\\xfe");
	expect_escaped("\xc3", 1, "\\xc3"); /* cut off */
	expect_escaped("\xc0\xaf", 2, "\\xc0\\xaf"); /* overlong */
	expect_escaped("\xe0\x80\xaf", 3, "\\xe0\\x80\\xaf");
	expect_escaped("\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* surrogate */
	expect_escaped("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
	expect_escaped("\xc2\x9b", 2, "\\xc2\\x9b"); /* the one-character form of ESC [ */
	expect_escaped("\xe2\x80\xae", 3, "\\xe2\\x80\\xae"); /* right-to-left override */
}

static void expect_json(const char *bytes, size_t len, const char *want)
{
	struct buf b = { 0 };

	buf_add_json(&b, bytes, len);
	expect_text(&b, want);
	buf_done(&b);
}

static void test_json(void **state)
{
	(void)state;
	expect_json("", 0, "\"\"");
	expect_json("a\"b\\c/\n\r\t\b\f", 11, "\"a\\\"b\\\\c/\\n\\r\\t\\b\\f\"");
	expect_json("\0\x01\x1b\x7f", 4, "\"\\u0000\\u0001\\u001b\\u007f\"");
	expect_json("\xc3\xa9\xff", 3, "\"\xc3\xa9\xef\xbf\xbd\"");
}

static void test_globs(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool fits;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "a*", "abc", true },
		{ "*c", "abc", true },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "a**c", "ac", true },
		{ "*b*d", "abcbd", true },
		{ "*b*d", "abcbde", false },
		{ "gc__*", "gc__start", true },
		{ "gc__*", "gc_start", false },
		{ "abc", "ab", false },
		{ "ab", "abc", false },
		{ "?", "", false },
	};
	char pattern[400] = "", name[2000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(glob_match(cases[i].pattern, cases[i].name), cases[i].fits);
	assert_true(glob_is_pattern("a?"));
	assert_false(glob_is_pattern("a.b[c]"));
	for (int i = 0; i < 100; i++) /* takes for ever when it goes back to every star */
		strcat(pattern, "*a");
	strcat(pattern, "b");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_false(glob_match(pattern, name));
}

static void test_edit_distance(void **state)
{
	(void)state;
	assert_int_equal(edit_distance("", ""), 0);
	assert_int_equal(edit_distance("kitten", "sitting"), 3);
	assert_int_equal(edit_distance("gc_start", "gc__start"), 0);
	assert_int_equal(edit_distance("GC-Start", "gc__start"), 0);
	assert_int_equal(edit_distance("gcstart", "gc__start"), 1);
	assert_int_equal(edit_distance("abc", ""), 3);
}

static void test_suggest(void **state)
{
	const char *names[] = { "gc__done", "gc__start", "gc__begin", "function__entry", "line", "gc__start__full" };
	char longest[5000];
	size_t ret[4];

	(void)state;
	assert_int_equal(suggest("gc_start", names, ARRAY_SIZE(names), ret, 4), 2);
	assert_int_equal(ret[0], 1);
	assert_int_equal(ret[1], 5);
	assert_int_equal(suggest("gc_strat", names, ARRAY_SIZE(names), ret, 1), 1);
	assert_int_equal(ret[0], 1);
	assert_int_equal(suggest("zzzzzz", names, ARRAY_SIZE(names), ret, 4), 0);
	assert_int_equal(suggest("", names, ARRAY_SIZE(names), ret, 4), 0);
	assert_int_equal(suggest("gc", names, ARRAY_SIZE(names), ret, 4), 4);
	assert_int_equal(suggest("gc", names, ARRAY_SIZE(names), ret, 0), 0);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(suggest(longest, names, ARRAY_SIZE(names), ret, 4), 0);
}

static void test_parse_u64(void **state)
{
	static const char *const bad[] = { "", "x", "-1", "+1", " 1", "1 ", "0x", "0xg", "1.5", "12a" };
	uint64_t v = 0;

	(void)state;
	assert_int_equal(parse_u64("18446744073709551615", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(parse_u64("0xFFffffffffffffff", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(parse_u64("007", &v), 0);
	assert_int_equal(v, 7);
	assert_int_equal(parse_u64("18446744073709551616", &v), -ERANGE);
	assert_int_equal(parse_u64("0x10000000000000000", &v), -ERANGE);
	assert_int_equal(parse_u64("99999999999999999999x", &v), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_u64(bad[i], &v), -EINVAL);
	assert_int_equal(v, 7);
}

static void test_parse_size(void **state)
{
	uint64_t v;

	(void)state;
	assert_int_equal(parse_size("4096", &v), 0);
	assert_int_equal(v, 4096);
	assert_int_equal(parse_size("64K", &v), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(parse_size("8MiB", &v), 0);
	assert_int_equal(v, 8 << 20);
	assert_int_equal(parse_size("2g", &v), -EINVAL);
	assert_int_equal(parse_size("K", &v), -EINVAL);
	assert_int_equal(parse_size("1KK", &v), -EINVAL);
	assert_int_equal(parse_size("16777216T", &v), -ERANGE);
	assert_int_equal(parse_size("-1", &v), -EINVAL);
}

static void test_parse_duration(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "3", 3000000000 },	{ "0.5", 500000000 },
		{ ".25s", 250000000 },	{ "250ms", 250000000 },
		{ "2m", 120000000000 }, { "1.5h", 5400000000000 },
		{ "10us", 10000 },	{ "7ns", 7 },
		{ "0.0000000019", 1 },	{ "0", 0 },
	};
	static const char *const bad[] = { "", "s", "-1", "1x", "1.", "1..2", " 1", "1 s", "1e3" };
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_duration(good[i].text, &v), 0);
		assert_true(v == good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_duration(bad[i], &v), -EINVAL);
	assert_int_equal(parse_duration("99999999999999", &v), -ERANGE);
	assert_int_equal(parse_duration("6000000h", &v), -ERANGE);
}

static void test_numbers_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{ 0, "0 ns" },		 { 812, "812 ns" },    { 999, "999 ns" },	  { 1000, "1 µs" },
		{ 3210000, "3.21 ms" },	 { 12345, "12.3 µs" }, { 999499, "999 µs" },	  { 999999, "1 ms" },
		{ 1500000000, "1.5 s" }, { 9999, "10 µs" },    { 120000000000, "120 s" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		assert_string_equal(human_ns(times[i].ns, text), times[i].text);
	assert_string_equal(human_count(0, text), "0");
	assert_string_equal(human_count(999, text), "999");
	assert_string_equal(human_count(1000, text), "1,000");
	assert_string_equal(human_count(1234567, text), "1,234,567");
	assert_string_equal(human_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
	assert_string_equal(plural(1, "probe"), "probe");
	assert_string_equal(plural(0, "probe"), "probes");
}

static void test_version(void **state)
{
	(void)state;
	assert_true(strchr(ut_version, '.') != NULL);
}

UNIT_TESTS(base)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err_set_and_wrap),
		cmocka_unit_test(test_err_cuts_and_takes_its_own_text),
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_write_all),
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_buf_appends),
		cmocka_unit_test(test_buf_numbers_equal_printf),
		cmocka_unit_test(test_buf_take_and_failure),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_edit_distance),
		cmocka_unit_test(test_suggest),
		cmocka_unit_test(test_parse_u64),
		cmocka_unit_test(test_parse_size),
		cmocka_unit_test(test_parse_duration),
		cmocka_unit_test(test_numbers_for_people),
		cmocka_unit_test(test_version),
	};

	return unit_run(tests, NULL, NULL);
}

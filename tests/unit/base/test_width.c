/* SPDX-License-Identifier: MIT */
/* Columns of text, cells of tables, and sizes for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/width.h"
#include "unit.h"

static void test_width(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
	} cases[] = {
		{ "", 0 },
		{ "java", 4 },
		{ "µs", 2 },
		{ "…", 1 },
		{ "größe", 5 },
		{ "e\u0301", 1 },
		{ "漢字", 4 },
		{ "한", 2 },
		{ "🙂", 2 },
		{ "▁█", 2 },
		{ "a\u200bb", 2 },
		{ "\xff", 1 },
		{ "\xe6\xbc", 2 },
		{ "ｆ", 2 },
		/* Wide symbols below the pictures: a watch, an umbrella, an anchor, a star, a check mark. */
		{ "\u231a", 2 },
		{ "\u2614", 2 },
		{ "\u2693", 2 },
		{ "\u2b50", 2 },
		{ "\u2705", 2 },
		/* Their narrow neighbors. */
		{ "\u2313", 1 },
		{ "\u2600", 1 },
		{ "\u2713", 1 },
		{ "\u4dc0", 1 },
		/* Marks that take no column: Hebrew, Arabic, Devanagari, Tamil, Thai, kana; and one that takes its own. */
		{ "ש\u05b8", 1 },
		{ "ب\u064e", 1 },
		{ "क\u0941", 1 },
		{ "த\u0bcd", 1 },
		{ "ก\u0e35", 1 },
		{ "は\u3099", 2 },
		{ "क\u093e", 2 },
		/* Variation selectors and joiners, a picture of newer years, letters beyond the first plane. */
		{ "\u2764\ufe0f", 1 },
		{ "\u200d", 0 },
		{ "\U0001fae0", 2 },
		{ "\U00020000", 2 },
		{ "\U0001d400", 1 },
		/* Surrogates, forms that are too long, bytes without a beginning: one column for each byte. */
		{ "\xed\xa0\x80", 3 },
		{ "\xc0\xaf", 2 },
		{ "\x80\x80", 2 },
		{ "\xf8\x88", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(text_width(cases[i].text, strlen(cases[i].text)), cases[i].columns);
}

static void assert_cell(const char *text, size_t columns, bool right, bool ascii, const char *expected)
{
	struct buf b = { 0 };

	buf_add_cell(&b, text, strlen(text), columns, right, ascii);
	assert_string_equal(b.data ? b.data : "", expected);
	buf_done(&b);
}

static void test_cells(void **state)
{
	(void)state;
	assert_cell("java", 6, false, false, "java  ");
	assert_cell("java", 6, true, false, "  java");
	assert_cell("java", 4, true, false, "java");
	assert_cell("java", 3, false, false, "ja…");
	assert_cell("java", 3, true, true, "ja~");
	assert_cell("java", 1, false, false, "…");
	assert_cell("java", 0, false, false, "");
	assert_cell("", 2, true, false, "  ");
	assert_cell("漢字", 4, false, false, "漢字");
	assert_cell("漢字漢", 5, false, false, "漢字…");
	assert_cell("漢字漢", 4, false, false, "漢… ");
	assert_cell("e\u0301e\u0301", 2, false, false, "e\u0301e\u0301");
}

static void assert_path(const char *text, size_t head, size_t columns, const char *expected)
{
	struct buf b = { 0 };

	buf_add_path_cell(&b, text, strlen(text), head, columns);
	assert_string_equal(b.data ? b.data : "", expected);
	buf_done(&b);
}

static void test_paths(void **state)
{
	(void)state;
	assert_path("  /usr/lib/set.rb", 2, 18, "  /usr/lib/set.rb ");
	assert_path("  /usr/lib/set.rb", 2, 17, "  /usr/lib/set.rb");
	assert_path("  /usr/lib/set.rb", 2, 16, "  …sr/lib/set.rb");
	assert_path("  /usr/lib/set.rb", 2, 10, "  …/set.rb");
	assert_path("  /usr/lib/set.rb", 2, 4, "  …b");
	assert_path("  /usr/lib/set.rb", 2, 3, "  …");
	assert_path("  Prefix/Class.run", 2, 10, "  Prefix/…");
	assert_path("/a/漢字漢", 0, 6, "…字漢 ");
	assert_path("/a/e\u0301o\u0301", 0, 2, "…o\u0301");
	assert_path("gc", 2, 4, "gc  ");
}

static void test_bytes(void **state)
{
	static const struct {
		uint64_t v;
		const char *text;
	} cases[] = {
		{ 0, "0B" },	       { 1023, "1023B" },	    { 1024, "1K" },	     { 1536, "1.5K" },
		{ 10188, "9.95K" },    { 12600, "12.3K" },	    { 1023 << 10, "1023K" }, { 1048570, "1M" },
		{ 128 << 20, "128M" }, { UINT64_C(5) << 40, "5T" }, { UINT64_MAX, "16E" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(human_bytes(cases[i].v, text), cases[i].text);
}

UNIT_TESTS(width)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_bytes),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Columns of text on a terminal. No locale is asked: what is printed is UTF-8 or ASCII. */
#include "base/width.h"

#include "base/auto.h"

struct range {
	uint32_t from, to;
};

static bool is_in(const struct range *ranges, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

static size_t char_width(uint32_t c)
{
	static const struct range none[] = {
		{ 0x0300, 0x036f }, { 0x0483, 0x0489 },	  { 0x0591, 0x05bd }, { 0x0610, 0x061a }, { 0x064b, 0x065f },
		{ 0x0900, 0x0902 }, { 0x0e31, 0x0e31 },	  { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1ab0, 0x1aff },
		{ 0x1dc0, 0x1dff }, { 0x200b, 0x200f },	  { 0x2060, 0x2064 }, { 0x20d0, 0x20f0 }, { 0xfe00, 0xfe0f },
		{ 0xfe20, 0xfe2f }, { 0xe0001, 0xe01ef },
	};
	static const struct range two[] = {
		{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },	  { 0xa960, 0xa97c },
		{ 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },	  { 0xff00, 0xff60 },
		{ 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff },
		{ 0x20000, 0x3fffd },
	};

	if (c < 0x300)
		return 1;
	return is_in(none, ARRAY_SIZE(none), c) ? 0 : is_in(two, ARRAY_SIZE(two), c) ? 2 : 1;
}

/* The character at @s, of at least one byte. What is cut or wrong is a character of one byte. */
static size_t next_char(const unsigned char *s, size_t len, uint32_t *ret)
{
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 1;

	*ret = s[0];
	if (n == 1 || n > len)
		return 1;
	*ret = s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++)
		*ret = *ret << 6 | (s[i] & 0x3f);
	return n;
}

size_t text_fit(const char *s, size_t len, size_t columns, size_t *ret)
{
	size_t at = 0, used = 0;

	while (at < len) {
		uint32_t c;
		size_t n = next_char((const unsigned char *)s + at, len - at, &c), w = char_width(c);

		if (used + w > columns)
			break;
		at += n;
		used += w;
	}
	*ret = used;
	return at;
}

size_t text_width(const char *s, size_t len)
{
	size_t used;

	text_fit(s, len, SIZE_MAX - 2, &used);
	return used;
}

void buf_add_cell(struct buf *b, const char *s, size_t len, size_t columns, bool right, bool ascii)
{
	size_t used, fits = text_fit(s, len, columns, &used);

	if (fits < len && columns) {
		fits = text_fit(s, len, columns - 1, &used);
		buf_add(b, s, fits);
		buf_adds(b, ascii ? "~" : "…");
		buf_fill(b, ' ', columns - 1 - used);
		return;
	}
	if (right)
		buf_fill(b, ' ', columns - used);
	buf_add(b, s, fits);
	if (!right)
		buf_fill(b, ' ', columns - used);
}

void buf_add_path_cell(struct buf *b, const char *s, size_t len, size_t head, size_t columns)
{
	size_t first = text_width(s, head), at = head, left;
	uint32_t c;

	if (text_width(s, len) <= columns || head >= len || s[head] != '/' || first + 2 > columns) {
		buf_add_cell(b, s, len, columns, false, false);
		return;
	}
	left = columns - first - 1;
	for (size_t n = 1; at < len; at += n) {
		n = next_char((const unsigned char *)s + at, len - at, &c);
		if (char_width(c) && text_width(s + at, len - at) <= left) /* no mark of a letter that is gone */
			break;
	}
	buf_add(b, s, head);
	buf_adds(b, "…");
	buf_add_cell(b, s + at, len - at, left, false, false);
}

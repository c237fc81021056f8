/* SPDX-License-Identifier: MIT */
/* Columns of text on a terminal. No locale is asked: what is printed is UTF-8 or ASCII. */
#include "base/width.h"

#include <string.h>
#include <utf8proc.h>

static size_t char_width(utf8proc_int32_t c)
{
	if (c < 0x300)
		return 1;
	/* utf8proc gives spacing marks no column; wcwidth and terminals give them one. */
	if (utf8proc_category(c) == UTF8PROC_CATEGORY_MC)
		return 1;
	return (size_t)utf8proc_charwidth(c);
}

/* The character at @s, of at least one byte. A truncated or invalid sequence is a character of one byte. */
static size_t next_char(const char *s, size_t len, utf8proc_int32_t *ret)
{
	utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)len, ret);

	if (n > 0)
		return (size_t)n;
	*ret = (unsigned char)*s;
	return 1;
}

size_t text_char(const char *s, size_t len, uint32_t *ret, size_t *ret_columns)
{
	utf8proc_int32_t c;
	utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)len, &c);

	if (n <= 0)
		return 0;
	*ret = (uint32_t)c;
	*ret_columns = char_width(c);
	return (size_t)n;
}

size_t text_fit(const char *s, size_t len, size_t columns, size_t *ret)
{
	size_t at = 0, used = 0;

	while (at < len) {
		utf8proc_int32_t c;
		size_t n = next_char(s + at, len - at, &c), w = char_width(c);

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

void buf_add_number_cell(struct buf *b, const char *s, size_t columns)
{
	size_t width = text_width(s, strlen(s));

	buf_add_cell(b, s, strlen(s), width > columns ? width : columns, true, false);
}

void buf_add_path_cell(struct buf *b, const char *s, size_t len, size_t head, size_t columns)
{
	size_t first = text_width(s, head), at = head, left;
	utf8proc_int32_t c;

	if (text_width(s, len) <= columns || head >= len || s[head] != '/' || first + 2 > columns) {
		buf_add_cell(b, s, len, columns, false, false);
		return;
	}
	left = columns - first - 1;
	for (size_t n = 1; at < len; at += n) {
		n = next_char(s + at, len - at, &c);
		if (char_width(c) && text_width(s + at, len - at) <= left) /* no mark of a letter that is gone */
			break;
	}
	buf_add(b, s, head);
	buf_adds(b, "…");
	buf_add_cell(b, s + at, len - at, left, false, false);
}

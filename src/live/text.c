/* SPDX-License-Identifier: MIT */
/* Prints strings of the traced process: escaped, on one line, with a mark for each way in which they are incomplete. */
#include <string.h>

#include "live/print_priv.h"

/* The part of @len bytes that ends with a complete UTF-8 character. */
static size_t whole_characters(const char *s, size_t len)
{
	size_t back = 0;
	unsigned char c;

	while (back < len && back < 3 && ((unsigned char)s[len - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back == len)
		return len;
	c = (unsigned char)s[len - 1 - back];
	if ((c >= 0xc0 && back < 1) || (c >= 0xe0 && back < 2) || (c >= 0xf0 && back < 3))
		return len - 1 - back;
	return len;
}

static void add_quoted(const char *s, size_t len, struct buf *out)
{
	buf_addc(out, '"');
	while (len) {
		const char *quote = memchr(s, '"', len);
		size_t n = quote ? (size_t)(quote - s) : len;

		buf_add_escaped(out, s, n);
		if (!quote)
			break;
		buf_adds(out, "\\\"");
		s += n + 1;
		len -= n + 1;
	}
	buf_addc(out, '"');
}

void text_print(const struct int_spec *spec, bool quoted, const struct ut_text *t, struct buf *out)
{
	/* A string that the precision shortens ends there, as the user asked, and without a mark. */
	bool by_precision = spec && spec->precision >= 0 && (size_t)spec->precision < t->len;
	size_t len = by_precision ? (size_t)spec->precision : t->len, from = out->len;

	if (by_precision || t->state == UT_TEXT_CUT_LIMIT)
		len = whole_characters(t->bytes, len);
	if (t->state == UT_TEXT_NULL)
		buf_adds(out, "(null)");
	else if (t->state == UT_TEXT_FAULT)
		buf_addf(out, t->address ? "<fault 0x%llx>" : "<fault>", (unsigned long long)t->address);
	else if (quoted)
		add_quoted(t->bytes, len, out);
	else
		buf_add_escaped(out, t->bytes, len);
	if (t->state == UT_TEXT_CUT_FAULT && !by_precision)
		buf_adds(out, "<fault>");
	if (t->state == UT_TEXT_CUT_LIMIT && !by_precision)
		buf_addf(out, "…[cut at %zu]", t->len);
	if (spec)
		pad_since(spec, from, out);
}

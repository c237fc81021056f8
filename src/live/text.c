/* SPDX-License-Identifier: MIT */
/* Texts of the target on one line: escaped, and with a mark for each way in which they are not whole. */
#include <string.h>

#include "live/print_priv.h"

/* @len less the beginning of a character that is cut off at the end, if there is one. */
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

static void add_mark(const struct ut_text *t, struct buf *out)
{
	if (t->state == UT_TEXT_CUT_FAULT)
		buf_adds(out, "<fault>");
	if (t->state != UT_TEXT_CUT_LIMIT)
		return;
	buf_adds(out, "…[cut at ");
	buf_addu(out, t->len);
	buf_addc(out, ']');
}

static void add_fault(uint64_t address, struct buf *out)
{
	if (!address) {
		buf_adds(out, "<fault>");
		return;
	}
	buf_adds(out, "<fault 0x");
	buf_addx(out, address);
	buf_addc(out, '>');
}

/* Where a precision asks for less than there is, the text ends as the user wants and bears no mark. */
static void add_text(const struct step *s, const struct ut_text *t, struct buf *out)
{
	bool by_precision = s->number.precision >= 0 && (size_t)s->number.precision < t->len;
	size_t len = by_precision ? (size_t)s->number.precision : t->len;

	if (by_precision || t->state == UT_TEXT_CUT_LIMIT)
		len = whole_characters(t->bytes, len);
	if (s->quoted)
		add_quoted(t->bytes, len, out);
	else
		buf_add_escaped(out, t->bytes, len);
	if (!by_precision)
		add_mark(t, out);
}

void text_print(const struct step *s, const struct ut_text *t, struct buf *out)
{
	size_t from = out->len;

	if (t->state == UT_TEXT_NULL)
		buf_adds(out, "(null)");
	else if (t->state == UT_TEXT_FAULT)
		add_fault(t->address, out);
	else
		add_text(s, t, out);
	pad_since(&s->number, from, out);
}

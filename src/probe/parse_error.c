/* SPDX-License-Identifier: MIT */
/* Errors in a probe's text: the sentence, the text, and a mark under the place, aligned under any UTF-8. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/lex.h"

#define SENTENCE_MAX 380 /* bytes of struct ut_err.msg that the sentence may take; the rest is for text and mark */
#define WINDOW_COLUMNS 70 /* of the text around the place; longer texts are shown in part */
#define BEFORE_COLUMNS 40 /* of them at most so many before the place */

/* One character of the text as it is shown. */
struct glyph {
	size_t len; /* bytes in the text */
	unsigned columns; /* 0, 1 or 2 */
	char shown[4];
	size_t nshown;
};

/* Length of the valid UTF-8 sequence at @s, at most @max bytes, and its code point; 0 when it is none. */
static size_t utf8_decode(const char *s, size_t max, uint32_t *ret)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7f >> n);

	if ((p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4 || n > max)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

/* Terminal columns of a code point: marks that combine take none, East Asian wide ones two. */
static unsigned columns_of(uint32_t c)
{
	static const struct {
		uint32_t from, to;
		unsigned columns;
	} ranges[] = {
		{ 0x300, 0x36f, 0 },	 { 0x483, 0x489, 0 },	  { 0x591, 0x5bd, 0 },	   { 0x610, 0x61a, 0 },
		{ 0x64b, 0x65f, 0 },	 { 0x200b, 0x200f, 0 },	  { 0x202a, 0x202e, 0 },   { 0x2060, 0x206f, 0 },
		{ 0x20d0, 0x20ff, 0 },	 { 0xfe00, 0xfe0f, 0 },	  { 0xfe20, 0xfe2f, 0 },   { 0xfeff, 0xfeff, 0 },
		{ 0x1100, 0x115f, 2 },	 { 0x2e80, 0x303e, 2 },	  { 0x3041, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },
		{ 0xf900, 0xfaff, 2 },	 { 0xfe30, 0xfe6f, 2 },	  { 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
		{ 0x1f300, 0x1f64f, 2 }, { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return ranges[i].columns;
	return 1;
}

static bool is_control(uint32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e); }

/* Control characters show as a blank, bytes that are no text as '?': nothing raw goes to a terminal. */
static struct glyph glyph_at(const char *text, size_t len, size_t pos)
{
	struct glyph g = { .len = 1, .columns = 1, .shown = "?", .nshown = 1 };
	uint32_t c;
	size_t n = utf8_decode(text + pos, len - pos, &c);

	if (!n)
		return g;
	g.len = n;
	if (is_control(c)) {
		g.shown[0] = ' ';
		return g;
	}
	g.columns = columns_of(c);
	g.nshown = n;
	memcpy(g.shown, text + pos, n);
	return g;
}

/* Copies @sentence without raw control bytes, cut at SENTENCE_MAX with an ellipsis. */
static size_t append_sentence(char *out, const char *sentence)
{
	size_t len = strlen(sentence), n = 0;

	for (size_t pos = 0; pos < len;) {
		struct glyph g = glyph_at(sentence, len, pos);

		if (n + g.nshown > SENTENCE_MAX - 4) {
			memcpy(out + n, "…", 3);
			return n + 3;
		}
		memcpy(out + n, g.shown, g.nshown);
		n += g.nshown;
		pos += g.len;
	}
	return n;
}

static unsigned columns_between(const char *text, size_t len, size_t from, size_t to)
{
	unsigned ret = 0;

	for (size_t pos = from; pos < to;) {
		struct glyph g = glyph_at(text, len, pos);

		ret += g.columns;
		pos += g.len;
	}
	return ret;
}

/* First byte to show, so that the place is at most BEFORE_COLUMNS from the left when the text is too wide. */
static size_t window_start(const char *text, size_t len, size_t place)
{
	size_t start = 0;

	if (columns_between(text, len, 0, len) <= WINDOW_COLUMNS)
		return 0;
	while (start < place && columns_between(text, len, start, place) > BEFORE_COLUMNS)
		start += glyph_at(text, len, start).len;
	return start;
}

/* Appends the window of @text and the mark below it to @out, which has room for both. */
static void append_marked_text(char *out, const char *text, size_t len, size_t place, size_t place_len)
{
	size_t start = window_start(text, len, place), n = 0, pos = start;
	unsigned shown = 0, before = start ? 1 : 0, under;

	n += (size_t)sprintf(out + n, "\n  %s", start ? "…" : "");
	while (pos < len && shown < WINDOW_COLUMNS) {
		struct glyph g = glyph_at(text, len, pos);

		memcpy(out + n, g.shown, g.nshown);
		n += g.nshown;
		shown += g.columns ? g.columns : 1;
		pos += g.len;
	}
	n += (size_t)sprintf(out + n, "%s\n  ", pos < len ? "…" : "");
	before += columns_between(text, len, start, place);
	under = columns_between(text, len, place, place + place_len < pos ? place + place_len : pos);
	memset(out + n, ' ', before);
	n += before;
	out[n++] = '^';
	for (unsigned i = 1; i < under; i++)
		out[n++] = '~';
	out[n] = '\0';
}

int probe_verror_at(const char *text, size_t pos, size_t len, struct ut_err *err, const char *fmt, va_list ap)
{
	size_t text_len = strlen(text), n;
	char sentence[600], whole[sizeof(((struct ut_err *)0)->msg)];

	if (!err)
		return -EINVAL;
	if (pos > text_len)
		pos = text_len;
	if (len > text_len - pos)
		len = text_len - pos;
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	n = append_sentence(whole, sentence);
	append_marked_text(whole + n, text, text_len, pos, len);
	return ut_err_set(err, -EINVAL, "%s", whole);
}

int probe_error_at(const char *text, size_t pos, size_t len, struct ut_err *err, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = probe_verror_at(text, pos, len, err, fmt, ap);
	va_end(ap);
	return r;
}

int probe_error(const struct probe_spec *spec, size_t pos, size_t len, struct ut_err *err, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = probe_verror_at(spec->text, pos, len, err, fmt, ap);
	va_end(ap);
	return r;
}

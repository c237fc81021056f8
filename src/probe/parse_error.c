/* SPDX-License-Identifier: MIT */
/* Errors in a probe's text: the message, the text, and a mark below the location, aligned for any UTF-8. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/width.h"
#include "probe/lex.h"

#define SENTENCE_MAX 380 /* bytes of struct ut_err.msg that the sentence may take; the rest is for text and mark */
#define WINDOW_COLUMNS 70 /* of the text around the location; longer texts are shown in part */
#define BEFORE_COLUMNS 40 /* at most, of them, before the location */

/* One character of the text as it is shown. */
struct glyph {
	size_t len; /* bytes in the text */
	size_t columns; /* 0, 1 or 2 */
	char shown[4];
	size_t nshown;
};

static bool is_control(uint32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e); }

/* Shows control characters as spaces and invalid bytes as '?': nothing raw goes to a terminal. */
static struct glyph glyph_at(const char *text, size_t len, size_t pos)
{
	struct glyph g = { .len = 1, .columns = 1, .shown = "?", .nshown = 1 };
	uint32_t c;
	size_t columns, n = text_char(text + pos, len - pos, &c, &columns);

	if (!n)
		return g;
	g.len = n;
	if (is_control(c)) {
		g.shown[0] = ' ';
		return g;
	}
	g.columns = columns;
	g.nshown = n;
	memcpy(g.shown, text + pos, n);
	return g;
}

/* Copies @sentence without raw control bytes, truncated at SENTENCE_MAX with an ellipsis. */
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

static size_t columns_between(const char *text, size_t len, size_t from, size_t to)
{
	size_t ret = 0;

	for (size_t pos = from; pos < to;) {
		struct glyph g = glyph_at(text, len, pos);

		ret += g.columns;
		pos += g.len;
	}
	return ret;
}

/* First byte to show, so that the location is at most BEFORE_COLUMNS from the left if the text is too wide. */
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
	size_t shown = 0, before = start ? 1 : 0, under;

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
	for (size_t i = 1; i < under; i++)
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

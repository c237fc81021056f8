/* SPDX-License-Identifier: MIT */
/* The lexer of provider files. */
#include "dtrace/lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"

#define LINE_MAX_NUMBER 100000000u /* a marker with a larger number is ignored */
#define SHOWN_BEFORE 60 /* bytes of a long line that an error shows before its position */
#define SHOWN_AFTER 40

void dtrace_lexer_init(struct dtrace_lexer *l, const char *name, const char *text, size_t len)
{
	*l = (struct dtrace_lexer){ .begin = text,
				    .at = text,
				    .end = text + len,
				    .file = name,
				    .file_len = strlen(name),
				    .line = 1,
				    .fresh = true };
}

static bool is_line_space(char c) { return is_space(c) && c != '\n'; }

static bool looks_at(const struct dtrace_lexer *l, const char *what)
{
	size_t len = strlen(what);

	return (size_t)(l->end - l->at) >= len && !memcmp(l->at, what, len);
}

static struct dtrace_token token_here(const struct dtrace_lexer *l, enum dtrace_token_kind kind, size_t len)
{
	return (struct dtrace_token){
		.kind = kind, .text = l->at, .len = len, .file = l->file, .file_len = l->file_len, .line = l->line
	};
}

/* Steps over one character and counts lines. */
static void step(struct dtrace_lexer *l)
{
	if (*l->at++ == '\n') {
		l->line++;
		l->fresh = true;
	}
}

static int skip_comment(struct dtrace_lexer *l, struct ut_err *err)
{
	struct dtrace_token start = token_here(l, DTRACE_SIGN, 2);

	l->at += 2;
	while (l->at < l->end && !looks_at(l, "*/"))
		step(l);
	if (l->at == l->end)
		return dtrace_error_at(l, &start, err, "this comment has no end; '*/' is missing");
	l->at += 2;
	return 0;
}

static void skip_line(struct dtrace_lexer *l)
{
	while (l->at < l->end && *l->at != '\n')
		l->at++;
}

/* `# 12 "file"` and `#line 12 "file"`, @at behind the '#'. The marker speaks of the line after it. */
static void read_marker(struct dtrace_lexer *l, const char *at, const char *end)
{
	unsigned line = 0;
	const char *quote;

	if (!is_digit(*at))
		return;
	for (; at < end && is_digit(*at); at++)
		if (line < LINE_MAX_NUMBER)
			line = line * 10 + (unsigned)(*at - '0');
	if (line < LINE_MAX_NUMBER)
		l->line = line - 1;
	while (at < end && is_line_space(*at))
		at++;
	quote = at < end && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
	if (quote) {
		l->file = at + 1;
		l->file_len = (size_t)(quote - at - 1);
	}
}

/* Goes to the line feed that ends a directive; it may be continued, and hold comments. */
static int skip_directive(struct dtrace_lexer *l, struct ut_err *err)
{
	while (l->at < l->end && *l->at != '\n') {
		if (looks_at(l, "/*")) {
			int ret = skip_comment(l, err);

			if (ret)
				return ret;
		} else if (looks_at(l, "\\\n") || looks_at(l, "\\\r\n")) {
			l->at += l->at[1] == '\r' ? 2 : 1;
			step(l);
		} else {
			l->at++;
		}
	}
	return 0;
}

static int directive(struct dtrace_lexer *l, struct ut_err *err)
{
	const char *word = l->at + 1, *end;
	int ret = skip_directive(l, err);

	end = l->at;
	while (word < end && is_line_space(*word))
		word++;
	if (end - word > 2 && !memcmp(word, "if", 2))
		l->conditional = true;
	if (end - word > 5 && !memcmp(word, "line", 4) && is_line_space(word[4]))
		for (word += 4; word < end && is_line_space(*word);)
			word++;
	if (!ret && word < end)
		read_marker(l, word, end);
	return ret;
}

/* Goes to the next character that means something. */
static int skip_blanks(struct dtrace_lexer *l, struct ut_err *err)
{
	int ret = 0;

	while (!ret && l->at < l->end) {
		if (*l->at == '\n' || is_line_space(*l->at))
			step(l);
		else if (looks_at(l, "\\\n"))
			l->at++;
		else if (looks_at(l, "/*"))
			ret = skip_comment(l, err);
		else if (looks_at(l, "//"))
			skip_line(l);
		else if (*l->at == '#' && l->fresh)
			ret = directive(l, err);
		else
			break;
	}
	return ret;
}

static int lex_text(struct dtrace_lexer *l, struct dtrace_token *ret, struct ut_err *err)
{
	const char *at = l->at + 1;

	while (at < l->end && *at != *l->at && *at != '\n')
		at += *at == '\\' && at + 1 < l->end && at[1] != '\n' ? 2 : 1;
	*ret = token_here(l, DTRACE_TEXT, 1);
	if (at == l->end || *at == '\n')
		return dtrace_error_at(l, ret, err, "this text has no end; %c is missing", *l->at);
	ret->len = (size_t)(at + 1 - l->at);
	return 0;
}

int dtrace_lex(struct dtrace_lexer *l, struct dtrace_token *ret, struct ut_err *err)
{
	size_t len = 0;
	int status = skip_blanks(l, err);

	if (status)
		return status;
	l->fresh = false;
	*ret = token_here(l, DTRACE_END, 0);
	if (l->at == l->end)
		return 0;
	while (l->at + len < l->end && is_word_char(l->at[len]))
		len++;
	*ret = token_here(l, len ? DTRACE_WORD : DTRACE_SIGN, len ? len : 1);
	if (!len && (*l->at == '"' || *l->at == '\''))
		status = lex_text(l, ret, err);
	else if (!len && (*l->at <= ' ' || *l->at > '~'))
		return dtrace_error_at(l, ret, err, "byte 0x%02x has no place in a provider file",
				       (unsigned char)*l->at);
	l->at += ret->len;
	return status;
}

bool dtrace_is_sign(const struct dtrace_token *t, char sign) { return t->kind == DTRACE_SIGN && *t->text == sign; }

bool dtrace_is_word(const struct dtrace_token *t, const char *word)
{
	return t->kind == DTRACE_WORD && strlen(word) == t->len && !memcmp(t->text, word, t->len);
}

/* Appends to @out of @size what is shown of the line of @t, and the mark below it. */
static void mark(const struct dtrace_lexer *l, const struct dtrace_token *t, char *out, size_t size)
{
	const char *from = t->text, *to = t->text;
	size_t width = t->len ? t->len : 1;
	int n;

	while (from > l->begin && from[-1] != '\n' && t->text - from < SHOWN_BEFORE)
		from--;
	while (to < l->end && *to && *to != '\n' && *to != '\r' && to - t->text < SHOWN_AFTER)
		to++;
	if (width > (size_t)(to - t->text))
		width = to > t->text ? (size_t)(to - t->text) : 1;
	n = snprintf(out, size, "  %.*s\n  ", (int)(to - from), from);
	if (n < 0 || (size_t)n >= size)
		return;
	for (; from < t->text && (size_t)n + 2 < size; from++)
		out[n++] = *from == '\t' ? '\t' : ' ';
	for (size_t i = 0; i < width && (size_t)n + 1 < size; i++)
		out[n++] = i ? '~' : '^';
	out[n] = '\0';
}

int dtrace_error_at(const struct dtrace_lexer *l, const struct dtrace_token *t, struct ut_err *err, const char *fmt,
		    ...)
{
	char sentence[600], place[400] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	mark(l, t, place, sizeof(place));
	return ut_err_set(err, -EINVAL, "%.*s:%u: %s\n%s", (int)(t->file_len > 300 ? 300 : t->file_len), t->file,
			  t->line, sentence, place);
}

/* SPDX-License-Identifier: MIT */
/* A provider file as words and signs, each with its position. Comments, directives and line markers are taken care of
 * here; what a word means is the parser's business. */
#ifndef UT_DTRACE_LEX_H
#define UT_DTRACE_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum dtrace_token_kind {
	DTRACE_END,
	DTRACE_WORD, /* letters, digits and '_' */
	DTRACE_TEXT, /* a string or a character, with its quotes */
	DTRACE_SIGN, /* one character */
};

struct dtrace_token {
	enum dtrace_token_kind kind;
	const char *text; /* in the source, @len bytes */
	size_t len;
	const char *file; /* from a line marker, or the name of the source; @file_len bytes */
	size_t file_len;
	unsigned line;
};

/* The source is borrowed, and so are all tokens. A copy remembers a position. */
struct dtrace_lexer {
	const char *begin, *at, *end;
	const char *file;
	size_t file_len;
	unsigned line;
	bool fresh; /* nothing but blanks on this line so far: a '#' begins a directive */
	bool conditional; /* there was an #if, which only a preprocessor understands */
};

void dtrace_lexer_init(struct dtrace_lexer *l, const char *name, const char *text, size_t len);
/* The next token. 0, or -EINVAL and a sentence. */
int dtrace_lex(struct dtrace_lexer *l, struct dtrace_token *ret, struct ut_err *err);
/* "file:line: sentence" and below it the line with the token marked. Returns -EINVAL. */
int dtrace_error_at(const struct dtrace_lexer *l, const struct dtrace_token *t, struct ut_err *err, const char *fmt,
		    ...) __attribute__((format(printf, 4, 5)));

bool dtrace_is_sign(const struct dtrace_token *t, char sign);
bool dtrace_is_word(const struct dtrace_token *t, const char *word);

#endif

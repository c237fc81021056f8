/* SPDX-License-Identifier: MIT */
/* Tokens of the probe language, and the errors that all its stages share. Internal to src/probe. */
#ifndef UT_PROBE_LEX_H
#define UT_PROBE_LEX_H

#include <stdarg.h>

#include "probe/expr.h"
#include "probe/spec.h"

enum token_kind {
	TOK_END,
	TOK_INT, /* value, is_unsigned */
	TOK_STRING, /* string, string_len */
	TOK_NAME, /* pos, len */
	TOK_LPAREN,
	TOK_RPAREN,
	TOK_COMMA,
	TOK_QUESTION,
	TOK_COLON,
	TOK_ARROW,
	TOK_DOT,
	TOK_NOT,
	TOK_TILDE,
	TOK_MUL,
	TOK_DIV,
	TOK_MOD,
	TOK_PLUS,
	TOK_MINUS,
	TOK_SHL,
	TOK_SHR,
	TOK_LT,
	TOK_LE,
	TOK_GT,
	TOK_GE,
	TOK_EQ,
	TOK_NE,
	TOK_AND,
	TOK_XOR,
	TOK_OR,
	TOK_LAND,
	TOK_LOR,
	TOK_UNKNOWN, /* an operator that does not exist here, such as '=' or '[' */
};

struct token {
	enum token_kind kind;
	size_t pos, len;
	uint64_t value;
	bool is_unsigned;
	char *string; /* owned by the lexer until taken */
	size_t string_len;
};

struct lexer {
	const char *text;
	size_t pos;
	struct token tok; /* the current one */
	struct ut_err *err;
};

void lex_init(struct lexer *lx, const char *text, size_t pos, struct ut_err *err);
void lex_done(struct lexer *lx);
/* Moves to the next token. 0 or a negative errno. */
int lex_next(struct lexer *lx);
bool lex_name_is(const struct lexer *lx, const char *name);

/*
 * Resolves the character or escape sequence at text[*pos] and moves past it; the string must not end there. False for
 * an escape that C does not know, a NUL, or a lone backslash at the end; *pos is then where it was.
 */
bool lex_char(const char *text, size_t *pos, char *ret);

int probe_verror_at(const char *text, size_t pos, size_t len, struct ut_err *err, const char *fmt, va_list ap);
#endif

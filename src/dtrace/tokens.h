/* SPDX-License-Identifier: MIT */
/* Between the pieces of the parser of provider files. */
#ifndef UT_DTRACE_TOKENS_H
#define UT_DTRACE_TOKENS_H

#include "dtrace/lex.h"
#include "dtrace/provider.h"

struct dtrace_parser {
	struct dtrace_lexer lexer;
	struct dtrace_token tok; /* the current one */
	struct dtrace_providers *out;
};

/* What a declaration declares. */
struct dtrace_declared {
	const char *cast; /* as in struct dtrace_arg */
	bool is_truth;
	bool is_void, is_struct; /* by value */
	bool has_name;
	struct dtrace_token name;
};

/* Goes to the next token. 0 or the lexer's error. */
int dtrace_next(struct dtrace_parser *p, struct ut_err *err);
/* Goes on behind @sign, or complains that it is missing in @where. */
int dtrace_expect(struct dtrace_parser *p, char sign, const char *where, struct ut_err *err);
/* Is it a parenthesis, bracket or brace that opens a group, or closes one? */
bool dtrace_opens_group(const struct dtrace_token *t);
bool dtrace_closes_group(const struct dtrace_token *t);
/* Steps over a balanced run that begins with the '(', '[' or '{' at hand. */
int dtrace_skip_group(struct dtrace_parser *p, struct ut_err *err);
/* A name of a provider or of a probe (@of says which), as a string that the caller owns. */
int dtrace_read_name(struct dtrace_parser *p, const char *of, bool digit_first, char **ret, struct ut_err *err);
/* Reads "const char *name" or "unsigned"; afterwards the current token is the first that is not part of it. */
int dtrace_declaration(struct dtrace_parser *p, struct dtrace_declared *ret, struct ut_err *err);

/* The type that C or D has under the name of @t, as cast and truth; false: it has none. */
bool dtrace_builtin_type(const struct dtrace_token *t, struct dtrace_declared *ret);

#endif

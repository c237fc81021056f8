/* SPDX-License-Identifier: MIT */
/* The parts of the parser. Private to src/probe. */
#ifndef UT_PROBE_PARSE_H
#define UT_PROBE_PARSE_H

#include "probe/lex.h"

/* A probe's text is a command-line argument; longer ones are a mistake. */
#define PROBE_TEXT_MAX 16384

/* Fills kind, where, provider, name and offset of @spec from its text; *@ret_end: the end of the name. */
int parse_head(struct probe_spec *spec, size_t *ret_end, struct ut_err *err);

/* Parses one expression from the current token on, up to the token after it. @what: "predicate" or "expression", for
 * messages. */
int parse_expr(struct lexer *lx, const char *what, struct expr **ret);
/* The error for an unexpected token. */
int parse_unexpected(const struct lexer *lx, const char *what, const char *wanted);

/* A type name of C, for casts. False when the current token begins none; nothing is consumed then. */
bool parse_is_type(const struct lexer *lx);
int parse_type(struct lexer *lx, struct type *ret, bool *ret_is_bool);

#endif

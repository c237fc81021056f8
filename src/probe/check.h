/* SPDX-License-Identifier: MIT */
/* The parts of the checker. Private to src/probe. */
#ifndef UT_PROBE_CHECK_H
#define UT_PROBE_CHECK_H

#include "probe/lex.h"
#include "probe/spec.h"

/* A string constant is compared in registers and on the small stack of a BPF program. */
#define LITERAL_MAX 63
#define USER_LITERAL_MAX 255 /* the size of a string of a user event; compared in the tracer */

struct checker {
	struct probe_spec *spec;
	const struct probe_scope *scope;
	struct probe_checked *checked;
	struct ut_err *err;
	bool in_predicate;
	const char *unreadable; /* reason of the last variable looked up that cannot be read; NULL: none so far */
};

/* Sets the types below @e. Floats and strings are valid only at the top (for printing) and in comparisons of strings. */
int check_expr(struct checker *c, struct expr *e);
/* User events are evaluated in the tracer, which has only the event and not the memory of the program. */
static inline bool check_is_user(const struct checker *c) { return c->scope->kind == PROBE_USER; }
static inline bool check_has_fields(const struct checker *c)
{
	return c->scope->kind == PROBE_TRACEPOINT || check_is_user(c);
}
/* Resolves a name: sets var, index and type of @e. */
int check_name(struct checker *c, struct expr *e);
/* Creates a variable for argument or field @index of the scope, or retval; *@ret is NULL when there is none. */
int check_implicit(struct checker *c, unsigned index, struct expr **ret);
unsigned check_implicit_count(const struct checker *c);

/* "int32", "uint64", "double", "text": for messages; @ret of at least 16 bytes, returned. */
const char *type_name(const struct type *t, char *ret);
/* An expression as typed, for messages; "this expression" if it is longer than 60 bytes. */
const char *expr_source(const struct checker *c, const struct expr *e, char ret[64]);
int check_note(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* -EINVAL with the location of @e marked. */
int check_error(const struct checker *c, const struct expr *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* One conversion of a format, before it is bound. */
struct conversion {
	size_t pos, len; /* in the resolved format */
	char flags[8];
	int width, precision; /* -1: none */
	bool star_precision;
	char conv;
};

/* The next piece of spec->format from *@pos on: literal text into @literal (then *@ret_literal is true), or a
 * conversion. */
int format_next(const struct checker *c, size_t *pos, bool *ret_literal, struct buf *literal, struct conversion *ret);
/* Position in spec->text of byte @index of the resolved format. */
size_t format_text_pos(const struct probe_spec *spec, size_t index);
/* Binds spec->format to outputs. */
int format_bind(struct checker *c);
/* Adds an output that prints by its own type. */
int output_add_plain(struct checker *c, const struct expr *e);
int output_add(struct checker *c, enum output_kind kind, const struct expr *e, const struct expr *len);

#endif

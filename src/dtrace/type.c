/* SPDX-License-Identifier: MIT */
/* Types of arguments: from C's words to what a value is converted to. Sizes are those of 64-bit Linux. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "dtrace/tokens.h"

#define NESTING_MAX 16
#define POINTER "unsigned long" /* takes any pointer without a word from the compiler, functions' too */

/* The names that <stdint.h>, <sys/types.h>, Solaris and D give to plain numbers. */
static const struct {
	const char *name, *cast;
} builtin[] = {
	{ "int8_t", "signed char" },
	{ "uint8_t", "unsigned char" },
	{ "int16_t", "short" },
	{ "uint16_t", "unsigned short" },
	{ "int32_t", "int" },
	{ "uint32_t", "unsigned int" },
	{ "int64_t", "long" },
	{ "uint64_t", "unsigned long" },
	{ "intptr_t", "long" },
	{ "uintptr_t", "unsigned long" },
	{ "intmax_t", "long" },
	{ "uintmax_t", "unsigned long" },
	{ "size_t", "unsigned long" },
	{ "ssize_t", "long" },
	{ "ptrdiff_t", "long" },
	{ "off_t", "long" },
	{ "off64_t", "long" },
	{ "time_t", "long" },
	{ "pid_t", "int" },
	{ "uid_t", "unsigned int" },
	{ "gid_t", "unsigned int" },
	{ "id_t", "unsigned int" },
	{ "mode_t", "unsigned int" },
	{ "uchar_t", "unsigned char" },
	{ "ushort_t", "unsigned short" },
	{ "uint_t", "unsigned int" },
	{ "ulong_t", "unsigned long" },
	{ "longlong_t", "long" },
	{ "u_longlong_t", "unsigned long" },
	{ "u_char", "unsigned char" },
	{ "u_short", "unsigned short" },
	{ "u_int", "unsigned int" },
	{ "u_long", "unsigned long" },
	{ "ushort", "unsigned short" },
	{ "uint", "unsigned int" },
	{ "ulong", "unsigned long" },
	{ "u_int8_t", "unsigned char" },
	{ "u_int16_t", "unsigned short" },
	{ "u_int32_t", "unsigned int" },
	{ "u_int64_t", "unsigned long" },
	{ "hrtime_t", "long" },
	{ "boolean_t", "int" },
	{ "caddr_t", POINTER },
	{ "string", POINTER },
	{ "wchar_t", "int" },
};

bool dtrace_builtin_type(const struct dtrace_token *t, struct dtrace_declared *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(builtin); i++)
		if (dtrace_is_word(t, builtin[i].name)) {
			ret->cast = builtin[i].cast;
			return true;
		}
	return false;
}

/* How often each word of C's own types came. */
struct words {
	unsigned n_long, n_short, n_signed, n_unsigned, n_char, n_int, n_float, n_double, n_bool, n_void, n_int128;
	bool other; /* the type is given by a tag or a name */
};

static bool is_qualifier(const struct dtrace_token *t)
{
	static const char *const words[] = { "const",	     "volatile",      "restrict",     "register",
					     "__const",	     "__const__",     "__volatile__", "__restrict",
					     "__restrict__", "__extension__", "userland" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (dtrace_is_word(t, words[i]))
			return true;
	return false;
}

static bool count_word(struct words *w, const struct dtrace_token *t)
{
	const struct {
		const char *word;
		unsigned *count;
	} known[] = {
		{ "long", &w->n_long },		{ "short", &w->n_short },	{ "signed", &w->n_signed },
		{ "__signed__", &w->n_signed }, { "unsigned", &w->n_unsigned }, { "char", &w->n_char },
		{ "int", &w->n_int },		{ "float", &w->n_float },	{ "double", &w->n_double },
		{ "_Bool", &w->n_bool },	{ "bool", &w->n_bool },		{ "void", &w->n_void },
		{ "__int128", &w->n_int128 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (dtrace_is_word(t, known[i].word))
			return ++*known[i].count;
	return false;
}

static unsigned kinds(const struct words *w)
{
	return w->n_char + w->n_int + w->n_float + w->n_double + w->n_bool + w->n_void + w->n_int128;
}

static bool has_words(const struct words *w)
{
	return kinds(w) + w->n_long + w->n_short + w->n_signed + w->n_unsigned > 0;
}

/* Do the words make a type of C? */
static bool is_type(const struct words *w)
{
	unsigned signs = w->n_signed + w->n_unsigned, lengths = w->n_long + w->n_short;

	if (w->other)
		return !has_words(w);
	if (kinds(w) > 1 || signs > 1 || w->n_short > 1 || w->n_long > 2 || (w->n_long && w->n_short))
		return false;
	if (w->n_char)
		return !lengths;
	if (w->n_double)
		return !signs && !w->n_short && w->n_long < 2;
	return !(w->n_float || w->n_bool || w->n_void) || !(signs || lengths);
}

static const char *cast_of(const struct words *w)
{
	if (w->n_float || w->n_double)
		return w->n_float ? "float" : "double";
	if (w->n_char)
		return w->n_unsigned ? "unsigned char" : w->n_signed ? "signed char" : "char";
	if (w->n_long)
		return w->n_unsigned ? "unsigned long" : "long";
	if (w->n_short)
		return w->n_unsigned ? "unsigned short" : "short";
	return w->n_unsigned ? "unsigned int" : "int";
}

/* A type's name: one that the file has a typedef for, one of C's or D's, or the program's own. */
static void use_name(const struct dtrace_parser *p, struct dtrace_declared *d)
{
	for (size_t i = p->out->aliases.n; i > 0; i--) {
		const struct dtrace_alias *a = &p->out->aliases.v[i - 1];

		if (dtrace_is_word(&p->tok, a->name)) {
			d->cast = a->cast;
			d->is_truth = a->is_truth;
			d->is_void = a->is_void;
			d->is_struct = a->is_struct;
			return;
		}
	}
	dtrace_builtin_type(&p->tok, d);
}

/* `struct name`, `union name`, `enum name`, with or without a body. */
static int read_tag(struct dtrace_parser *p, struct dtrace_declared *d, struct ut_err *err)
{
	struct dtrace_token kind = p->tok;
	bool named;
	int ret = dtrace_next(p, err);

	d->is_struct = !dtrace_is_word(&kind, "enum");
	named = !ret && p->tok.kind == DTRACE_WORD;
	if (named)
		ret = dtrace_next(p, err);
	if (!ret && dtrace_is_sign(&p->tok, '{'))
		return dtrace_skip_group(p, err);
	if (!ret && !named)
		return dtrace_error_at(&p->lexer, &kind, err, "'%.*s' without a name", (int)kind.len, kind.text);
	return ret;
}

static bool is_tag(const struct dtrace_token *t)
{
	return dtrace_is_word(t, "struct") || dtrace_is_word(t, "union") || dtrace_is_word(t, "enum");
}

/* The words before the declarator. */
static int read_words(struct dtrace_parser *p, struct words *w, struct dtrace_declared *d, struct ut_err *err)
{
	int ret = 0;

	while (!ret && p->tok.kind == DTRACE_WORD) {
		if (is_tag(&p->tok)) {
			if (w->other)
				break;
			w->other = true;
			ret = read_tag(p, d, err);
			continue;
		}
		if (!is_qualifier(&p->tok) && !count_word(w, &p->tok)) {
			if (w->other || has_words(w))
				break;
			w->other = true;
			use_name(p, d);
		}
		ret = dtrace_next(p, err);
	}
	return ret;
}

static int read_type(struct dtrace_parser *p, struct dtrace_declared *d, bool *ret_wide, struct ut_err *err)
{
	struct dtrace_token first = p->tok;
	struct words w = { 0 };
	int ret = read_words(p, &w, d, err);

	if (ret)
		return ret;
	if (!w.other && !has_words(&w))
		return dtrace_error_at(&p->lexer, &p->tok, err, "a type is missing before this");
	if (!is_type(&w))
		return dtrace_error_at(&p->lexer, &first, err, "C has no such type");
	*ret_wide = w.n_int128 || (w.n_double && w.n_long);
	if (w.other)
		return 0;
	d->is_truth = w.n_bool;
	d->is_void = w.n_void;
	d->cast = d->is_void ? NULL : d->is_truth ? "unsigned char" : cast_of(&w);
	return 0;
}

static void become_pointer(struct dtrace_declared *d)
{
	d->cast = POINTER;
	d->is_truth = d->is_void = d->is_struct = false;
}

/* `[4]` and `(int, char *)` behind a name: an array or a function, which are passed as pointers. */
static int read_suffixes(struct dtrace_parser *p, struct dtrace_declared *d, struct ut_err *err)
{
	int ret = 0;

	while (!ret && (dtrace_is_sign(&p->tok, '[') || dtrace_is_sign(&p->tok, '('))) {
		become_pointer(d);
		ret = dtrace_skip_group(p, err);
	}
	return ret;
}

/* Is the '(' at hand that of `(*name)(…)`, and not of a function's arguments? */
static bool opens_declarator(const struct dtrace_parser *p)
{
	struct dtrace_parser ahead = *p;
	struct dtrace_declared ignored = { 0 };

	if (!dtrace_is_sign(&p->tok, '(') || dtrace_next(&ahead, NULL))
		return false;
	if (dtrace_is_sign(&ahead.tok, '*') || dtrace_is_sign(&ahead.tok, '('))
		return true;
	return ahead.tok.kind == DTRACE_WORD && !is_tag(&ahead.tok) && !is_qualifier(&ahead.tok) &&
	       !count_word(&(struct words){ 0 }, &ahead.tok) && !dtrace_builtin_type(&ahead.tok, &ignored) &&
	       !dtrace_next(&ahead, NULL) && dtrace_is_sign(&ahead.tok, ')');
}

static int read_declarator(struct dtrace_parser *p, struct dtrace_declared *d, unsigned depth, struct ut_err *err)
{
	int ret = 0;

	if (depth > NESTING_MAX)
		return dtrace_error_at(&p->lexer, &p->tok, err, "more than %d nested parentheses", NESTING_MAX);
	while (!ret && (dtrace_is_sign(&p->tok, '*') || (p->tok.kind == DTRACE_WORD && is_qualifier(&p->tok)))) {
		if (p->tok.kind == DTRACE_SIGN)
			become_pointer(d);
		ret = dtrace_next(p, err);
	}
	if (!ret && opens_declarator(p)) {
		ret = dtrace_next(p, err);
		if (!ret)
			ret = read_declarator(p, d, depth + 1, err);
		if (!ret)
			ret = dtrace_expect(p, ')', "this declaration", err);
	} else if (!ret && p->tok.kind == DTRACE_WORD && !d->has_name) {
		d->has_name = true;
		d->name = p->tok;
		ret = dtrace_next(p, err);
	}
	return ret ? ret : read_suffixes(p, d, err);
}

int dtrace_declaration(struct dtrace_parser *p, struct dtrace_declared *ret, struct ut_err *err)
{
	struct dtrace_token first = p->tok;
	struct dtrace_declared d = { 0 };
	bool wide = false;
	int status = read_type(p, &d, &wide, err);

	if (!status)
		status = read_declarator(p, &d, 0, err);
	if (status)
		return status;
	if (wide && d.cast && strcmp(d.cast, POINTER))
		return dtrace_error_at(&p->lexer, &first, err,
				       "a value of 16 bytes cannot be an argument; pass its address");
	*ret = d;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Binds the conversions of a format to values, and checks their types. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "probe/check.h"

struct binder {
	struct checker *c;
	unsigned next; /* argument that the next conversion takes */
	bool implicit; /* no expressions were given: the probe's arguments in order */
	unsigned wanted; /* values that the whole format takes */
};

static int conversion_error(const struct binder *b, const struct conversion *conv, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int conversion_error(const struct binder *b, const struct conversion *conv, const char *fmt, ...)
{
	const struct probe_spec *spec = b->c->spec;
	size_t pos = format_text_pos(spec, conv->pos), end = format_text_pos(spec, conv->pos + conv->len);
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = probe_verror_at(spec->text, pos, end - pos, b->c->err, fmt, ap);
	va_end(ap);
	return r;
}

/* How many values the format takes; with @max, up to the conversion that takes more than those, which is *@ret_conv then. */
static int count_wanted(struct checker *c, size_t max, unsigned *ret, struct conversion *ret_conv)
{
	struct buf literal = { 0 };
	bool is_literal;
	size_t pos = 0;
	int r = 0;

	*ret = 0;
	while (!r && c->spec->format[pos] && *ret <= max) {
		r = format_next(c, &pos, &is_literal, &literal, ret_conv);
		if (!r && !is_literal && !strchr("UK", ret_conv->conv))
			*ret += 1 + ret_conv->star_precision;
	}
	buf_done(&literal);
	return r;
}

static int too_few(const struct binder *b, const struct conversion *conv)
{
	const char *display = b->c->scope->display;
	unsigned has = check_implicit_count(b->c);

	if (!b->implicit)
		return conversion_error(b, conv, "%.100s: the format needs %u %s, but %zu %s given", display, b->wanted,
					plural(b->wanted, "value"), b->c->spec->args.n,
					b->c->spec->args.n == 1 ? "is" : "are");
	if (b->c->scope->kind == PROBE_RETURN)
		return conversion_error(
			b, conv, "%.100s: without expressions the format can print only retval, but it needs %u values",
			display, b->wanted);
	return conversion_error(b, conv, "%.100s has %u %s, but the format needs %u", display, has,
				check_has_fields(b->c) ? plural(has, "field") : plural(has, "argument"), b->wanted);
}

/* The next value, checked; *@ret_unreadable: a part of it cannot be read. */
static int next_value(struct binder *b, const struct conversion *conv, struct expr **ret, bool *ret_unreadable)
{
	struct checker *c = b->c;
	int r;

	c->unreadable = NULL;
	if (b->implicit) {
		r = check_implicit(c, b->next, ret);
	} else {
		*ret = b->next < c->spec->args.n ? c->spec->args.v[b->next] : NULL;
		r = *ret ? check_expr(c, *ret) : 0;
	}
	if (r)
		return r;
	if (!*ret)
		return too_few(b, conv);
	b->next++;
	*ret_unreadable |= c->unreadable != NULL;
	return 0;
}

/* One note per variable: C would print this one signed. */
static int note_unsigned(struct checker *c, const struct expr *e)
{
	char type[16];

	if (e->op != EXPR_VAR || e->type.is_signed || e->type.size < 4 || check_is_user(c))
		return 0;
	if (c->scope->kind == PROBE_ENTRY || c->scope->kind == PROBE_RETURN)
		return check_note(c,
				  "%%d prints %s as unsigned because its type is not known; use (int)%s or (long)%s "
				  "for a signed value",
				  e->string, e->string, e->string);
	return check_note(c, "%%d prints %s as unsigned: %s declares it %s; use (%s)%s for a signed value", e->string,
			  c->scope->display, type_name(&e->type, type), e->type.size == 4 ? "int" : "long", e->string);
}

static int bind_int(struct binder *b, const struct conversion *conv, const struct expr *e)
{
	char words[64], type[16];

	if (e->type.kind == TYPE_LITERAL)
		return check_error(b->c, e, "write the string constant in the format itself");
	if (e->type.kind == TYPE_CHARS)
		return conversion_error(b, conv, "%%%c needs a number, but %s is a string; use %%s", conv->conv,
					expr_source(b->c, e, words));
	if (e->type.kind == TYPE_FLOAT)
		return conversion_error(b, conv, "%%%c needs an integer, but %s is a %s; use %%f, %%g or %%e",
					conv->conv, expr_source(b->c, e, words), type_name(&e->type, type));
	return conv->conv == 'd' ? note_unsigned(b->c, e) : 0;
}

static int bind_float(struct binder *b, const struct conversion *conv, const struct expr *e)
{
	char words[64], type[16];

	if (e->type.kind == TYPE_FLOAT)
		return 0;
	if (e->type.kind == TYPE_LITERAL)
		return check_error(b->c, e, "write the string constant in the format itself");
	return conversion_error(b, conv, "%%%c needs a float, but %s is %s; use %s", conv->conv,
				expr_source(b->c, e, words), type_name(&e->type, type),
				e->type.kind == TYPE_INT ? "%d" : "%s");
}

static bool is_address(const struct expr *e)
{
	bool clock = e->op == EXPR_VAR && (e->var == VAR_TIME || e->var == VAR_DURATION);

	return e->type.kind == TYPE_INT && e->type.size == 8 && !clock;
}

static int bind_text(struct binder *b, const struct conversion *conv, const struct expr *e)
{
	char words[64], type[16];

	if (e->type.kind == TYPE_LITERAL)
		return check_error(b->c, e, "write the string constant in the format itself");
	if (e->type.kind == TYPE_CHARS && conv->star_precision)
		return conversion_error(b, conv, "%%.*s needs an address, but %s is already a string; use %%s",
					expr_source(b->c, e, words));
	if (e->type.kind == TYPE_CHARS)
		return 0;
	if (check_is_user(b->c))
		return conversion_error(
			b, conv,
			"%%s needs a string, but %s is %s; name, text, kind and comm are strings, use %%d for this one",
			expr_source(b->c, e, words), type_name(&e->type, type));
	if (is_address(e))
		return 0;
	return conversion_error(b, conv, "%%s needs the address of a string, but %s is %s; use %s",
				expr_source(b->c, e, words), type_name(&e->type, type),
				e->type.kind == TYPE_FLOAT ? "%f" : "%d");
}

static int next_length(struct binder *b, const struct conversion *conv, struct expr **ret, bool *ret_unreadable)
{
	char words[64];
	int r;

	if (b->implicit)
		return conversion_error(
			b, conv,
			"%%.*s takes a length and an address, and the probe may have them in the other order; name "
			"them: \"%%.*s\", arg2, arg1");
	r = next_value(b, conv, ret, ret_unreadable);
	if (r || *ret_unreadable)
		return r;
	if ((*ret)->type.kind != TYPE_INT)
		return conversion_error(b, conv, "%%.*s needs the length first, as in C, but %s is not an integer",
					expr_source(b->c, *ret, words));
	return 0;
}

static int bind_value(struct binder *b, const struct conversion *conv)
{
	struct expr *e = NULL, *len = NULL;
	bool unreadable = false;
	int r = conv->star_precision ? next_length(b, conv, &len, &unreadable) : 0;

	if (!r)
		r = next_value(b, conv, &e, &unreadable);
	if (!r && !unreadable)
		r = conv->conv == 's'		   ? bind_text(b, conv, e)
		    : strchr("fFeEgG", conv->conv) ? bind_float(b, conv, e)
						   : bind_int(b, conv, e);
	if (r)
		return r;
	if (unreadable)
		return output_add(b->c, OUTPUT_VALUE, e, NULL);
	if (len)
		return output_add(b->c, OUTPUT_BYTES, e, len);
	if (conv->conv == 's' && e->type.kind == TYPE_INT)
		return output_add(b->c, OUTPUT_STRING, e, NULL);
	if (e->type.is_pointer) /* %p, %x: the format prints the address itself */
		return output_add(b->c, OUTPUT_VALUE, e, NULL);
	return output_add_plain(b->c, e);
}

static int bind_literal(struct checker *c, struct buf *literal)
{
	struct format_piece piece = { .literal_len = literal->len, .width = -1, .precision = -1 };

	if (!literal->len)
		return 0;
	piece.literal = buf_take(literal);
	if (piece.literal && !vec_push(&c->checked->format, piece))
		return 0;
	free(piece.literal);
	return ut_err_nomem(c->err);
}

static int bind_conversion(struct binder *b, const struct conversion *conv)
{
	struct format_piece piece = { .output = b->c->checked->noutputs,
				      .width = conv->width,
				      .precision = conv->precision,
				      .conv = conv->conv };
	int r;

	memcpy(piece.flags, conv->flags, sizeof(piece.flags));
	if (piece.output >= OUTPUTS_MAX)
		return conversion_error(b, conv, "a format prints at most %d values", OUTPUTS_MAX);
	if (strchr("UK", conv->conv) && check_is_user(b->c))
		r = conversion_error(b, conv,
				     "user events have no stacks; %%U and %%K work with the other kinds of probes");
	else if (conv->conv == 'U')
		r = output_add(b->c, OUTPUT_USTACK, NULL, NULL);
	else if (conv->conv == 'K')
		r = output_add(b->c, OUTPUT_KSTACK, NULL, NULL);
	else
		r = bind_value(b, conv);
	if (!r && vec_push(&b->c->checked->format, piece))
		r = ut_err_nomem(b->c->err);
	return r;
}

static int too_many(const struct binder *b)
{
	const struct probe_spec *spec = b->c->spec;

	return check_error(b->c, spec->args.v[b->wanted],
			   "%.100s: the format prints %u %s, but %zu %s given; this one is not printed",
			   b->c->scope->display, b->wanted, plural(b->wanted, "value"), spec->args.n,
			   spec->args.n == 1 ? "is" : "are");
}

int format_bind(struct checker *c)
{
	struct binder b = { .c = c, .implicit = c->spec->args.n == 0 };
	struct buf literal = { 0 };
	struct conversion conv;
	bool is_literal;
	size_t pos = 0;
	int r = count_wanted(c, SIZE_MAX, &b.wanted, &conv);

	while (!r && c->spec->format[pos]) {
		r = format_next(c, &pos, &is_literal, &literal, &conv);
		if (!r)
			r = is_literal ? bind_literal(c, &literal) : bind_conversion(&b, &conv);
	}
	buf_done(&literal);
	if (r || b.implicit || b.next == c->spec->args.n)
		return r;
	return too_many(&b);
}

int probe_check_format(struct probe_spec *spec, struct ut_err *err)
{
	char display[128];
	struct probe_scope scope = { .kind = spec->kind, .display = display };
	struct checker c = { .spec = spec, .scope = &scope, .err = err };
	struct binder b = { .c = &c };
	struct conversion conv = { 0 };
	unsigned up_to;
	int r;

	if (!spec->format)
		return 0;
	snprintf(display, sizeof(display), "%.60s:%.60s",
		 spec->kind == PROBE_USER     ? "e"
		 : spec->kind == PROBE_SIGNAL ? "s"
					      : spec->where,
		 spec->name);
	r = count_wanted(&c, SIZE_MAX, &b.wanted, &conv);
	if (r || !spec->args.n || b.wanted == spec->args.n)
		return r;
	if (b.wanted < spec->args.n)
		return too_many(&b);
	r = count_wanted(&c, spec->args.n, &up_to, &conv); /* marks the conversion of the first missing value */
	return r ? r : too_few(&b, &conv);
}

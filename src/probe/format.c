/* SPDX-License-Identifier: MIT */
/* Parses format strings in C's grammar into literals and conversions. */
#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/err.h"
#include "probe/check.h"

#define NUMBER_MAX 4095 /* wide enough for any screen, small enough for any buffer */

size_t format_text_pos(const struct probe_spec *spec, size_t index)
{
	size_t pos = spec->format_pos;
	char ignored;

	while (index-- > 0 && lex_char(spec->text, &pos, &ignored))
		;
	return pos;
}

/* Marks bytes [from, to) of the resolved format in the probe's text. */
static int format_error(const struct checker *c, size_t from, size_t to, const char *sentence)
{
	size_t pos = format_text_pos(c->spec, from), end = format_text_pos(c->spec, to);

	return probe_error_at(c->spec->text, pos, end - pos, c->err, "%s", sentence);
}

static void read_flags(const char *f, size_t *pos, struct conversion *conv)
{
	size_t n = 0;

	for (; f[*pos] && strchr("-+ #0", f[*pos]); (*pos)++) {
		if (strchr(conv->flags, f[*pos]))
			continue;
		conv->flags[n++] = f[*pos];
		conv->flags[n] = '\0';
	}
}

/* A decimal number, -1 when there is none; false when it is too large. */
static bool read_number(const char *f, size_t *pos, int *ret)
{
	*ret = -1;
	for (; is_digit(f[*pos]); (*pos)++) {
		*ret = (*ret < 0 ? 0 : *ret) * 10 + (f[*pos] - '0');
		if (*ret > NUMBER_MAX)
			return false;
	}
	return true;
}

static int read_precision(const struct checker *c, const char *f, size_t start, size_t *pos, struct conversion *conv)
{
	conv->precision = -1;
	if (f[*pos] != '.')
		return 0;
	(*pos)++;
	if (f[*pos] == '*') {
		(*pos)++;
		conv->star_precision = true;
		return 0;
	}
	if (!read_number(f, pos, &conv->precision))
		return format_error(c, start, *pos + 1, "this precision is too large; the limit is 4095");
	if (conv->precision < 0)
		conv->precision = 0;
	return 0;
}

static int check_conv(const struct checker *c, size_t start, size_t end, const struct conversion *conv)
{
	if (conv->conv == 'n')
		return format_error(c, start, end, "%n would write to the program's memory and is not supported");
	if (!strchr("duxXocspfFeEgGUK", conv->conv))
		return format_error(
			c, start, end,
			"unknown conversion; use %d %u %x %X %o %c %s %p %f %e %g, %K and %U for stacks, or %%");
	if (conv->star_precision && conv->conv != 's')
		return format_error(
			c, start, end,
			"a precision from an argument is supported only for strings: %.*s takes length and address");
	if (strchr("UK", conv->conv) && (conv->width >= 0 || conv->precision >= 0 || conv->flags[0]))
		return format_error(c, start, end, "a stack takes no flags, width or precision");
	return 0;
}

static int read_conversion(const struct checker *c, size_t *pos, struct conversion *ret)
{
	const char *f = c->spec->format;
	size_t start = *pos, p = start + 1;
	int r;

	memset(ret, 0, sizeof(*ret));
	read_flags(f, &p, ret);
	if (f[p] == '*')
		return format_error(c, start, p + 1,
				    "a width from an argument (%*d) is not supported; write the width as a number");
	if (!read_number(f, &p, &ret->width))
		return format_error(c, start, p + 1, "this width is too large; the limit is 4095");
	r = read_precision(c, f, start, &p, ret);
	if (r)
		return r;
	p += strspn(f + p, "hlLjzt"); /* lengths say nothing: types are known from the probe */
	if (!f[p])
		return format_error(c, start, p,
				    "the format ends in the middle of a conversion; write %% for a percent sign");
	ret->conv = f[p] == 'i' ? 'd' : f[p];
	ret->pos = start;
	ret->len = p + 1 - start;
	*pos = p + 1;
	return check_conv(c, start, p + 1, ret);
}

int format_next(const struct checker *c, size_t *pos, bool *ret_literal, struct buf *literal, struct conversion *ret)
{
	const char *f = c->spec->format;
	size_t p = *pos;

	*ret_literal = true;
	buf_reset(literal);
	while (f[p] && (f[p] != '%' || f[p + 1] == '%')) {
		buf_addc(literal, f[p]);
		p += f[p] == '%' ? 2 : 1;
	}
	if (literal->failed)
		return ut_err_nomem(c->err);
	if (literal->len || !f[p]) {
		*pos = p;
		return 0;
	}
	*ret_literal = false;
	return read_conversion(c, pos, ret);
}

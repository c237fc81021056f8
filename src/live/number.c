/* SPDX-License-Identifier: MIT */
/* Whole numbers as C's printf prints them, without printf. */
#include <string.h>

#include "live/print_priv.h"

/* Wide enough for 64 bits in octal; precision is filled up outside. */
#define DIGITS_MAX 24

void pad_since(const struct int_spec *spec, size_t from, struct buf *out)
{
	size_t columns = 0, missing, len = out->len - from;

	if (spec->width <= 0)
		return;
	for (size_t i = from; i < out->len; i++)
		columns += ((unsigned char)out->data[i] & 0xc0) != 0x80;
	if (columns >= (size_t)spec->width)
		return;
	missing = (size_t)spec->width - columns;
	buf_fill(out, ' ', missing);
	if (spec->left || out->failed)
		return;
	memmove(out->data + from + missing, out->data + from, len);
	memset(out->data + from, ' ', missing);
}

/* The value cut to its size and, if signed, its magnitude; *@ret_negative says which sign it had. */
static uint64_t magnitude(const struct int_spec *s, uint64_t v, bool *ret_negative)
{
	unsigned unused = s->size >= 8 ? 0 : 64 - 8u * s->size;

	*ret_negative = false;
	if (!s->is_signed)
		return v << unused >> unused;
	v = (uint64_t)((int64_t)(v << unused) >> unused);
	*ret_negative = (int64_t)v < 0;
	return *ret_negative ? 0 - v : v;
}

static char *put_digits(char *end, uint64_t v, const struct int_spec *s)
{
	const char *digits = s->upper ? "0123456789ABCDEF" : "0123456789abcdef";

	for (; v; v /= s->base)
		*--end = digits[v % s->base];
	return end;
}

static const char *sign_of(const struct int_spec *s, bool negative)
{
	return negative ? "-" : s->plus ? "+" : s->space ? " " : "";
}

static void print_full(const struct int_spec *s, uint64_t v, bool negative, struct buf *out)
{
	char digits[DIGITS_MAX], *start = put_digits(digits + DIGITS_MAX, v, s);
	size_t n = (size_t)(digits + DIGITS_MAX - start), want = s->precision < 0 ? 1 : (size_t)s->precision,
	       from = out->len;
	const char *sign = sign_of(s, negative);
	size_t prefix = strlen(sign) + (s->alt && s->base == 16 && v ? 2 : 0);

	if (s->alt && s->base == 8 && want <= n)
		want = n + 1;
	if (s->zero && !s->left && s->precision < 0 && s->width > 0 && (size_t)s->width > prefix &&
	    want < (size_t)s->width - prefix)
		want = (size_t)s->width - prefix;
	buf_adds(out, sign);
	if (s->alt && s->base == 16 && v)
		buf_adds(out, s->upper ? "0X" : "0x");
	if (want > n)
		buf_fill(out, '0', want - n);
	buf_add(out, start, n);
	pad_since(s, from, out);
}

void number_print(const struct int_spec *s, uint64_t v, struct buf *out)
{
	size_t from = out->len;
	bool negative;

	v = magnitude(s, v, &negative);
	if (s->plain) {
		if (negative)
			buf_addc(out, '-');
		buf_addu(out, v);
		return;
	}
	if (s->is_hex) {
		buf_adds(out, "0x");
		buf_addx(out, v);
		return;
	}
	if (s->is_pointer && !v) {
		buf_adds(out, "(nil)");
		pad_since(s, from, out);
		return;
	}
	print_full(s, v, negative, out);
}

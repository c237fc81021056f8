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

int64_t number_extend(uint64_t v, unsigned size, bool is_signed)
{
	unsigned unused = size >= 8 ? 0 : 64 - 8u * size;

	return is_signed ? (int64_t)(v << unused) >> unused : (int64_t)(v << unused >> unused);
}

/* All that C's printf can do with a magnitude and its sign. */
static void print_flags(const struct int_spec *s, uint64_t v, bool negative, struct buf *out)
{
	const char *letters = s->upper ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *sign = negative ? "-" : s->plus ? "+" : s->space ? " " : "";
	bool hex_prefix = s->alt && s->base == 16 && v;
	size_t prefix = strlen(sign) + (hex_prefix ? 2 : 0), want = s->precision < 0 ? 1 : (size_t)s->precision;
	char digits[DIGITS_MAX];
	size_t n = 0, from = out->len;

	for (uint64_t rest = v; rest; rest /= s->base)
		digits[DIGITS_MAX - ++n] = letters[rest % s->base];
	if (s->alt && s->base == 8 && want <= n)
		want = n + 1;
	if (s->zero && !s->left && s->precision < 0 && s->width > 0 && (size_t)s->width > prefix &&
	    want < (size_t)s->width - prefix)
		want = (size_t)s->width - prefix;
	buf_adds(out, sign);
	if (hex_prefix)
		buf_adds(out, s->upper ? "0X" : "0x");
	if (want > n)
		buf_fill(out, '0', want - n);
	buf_add(out, digits + DIGITS_MAX - n, n);
	pad_since(s, from, out);
}

void number_print(const struct int_spec *s, uint64_t v, struct buf *out)
{
	size_t from = out->len;
	bool negative;

	v = (uint64_t)number_extend(v, s->size, s->is_signed);
	negative = s->is_signed && (int64_t)v < 0;
	v = negative ? 0 - v : v;
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
	print_flags(s, v, negative, out);
}

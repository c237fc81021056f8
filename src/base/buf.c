/* SPDX-License-Identifier: MIT */
/* The growable buffer: appending bytes, formatted text and numbers. Escaping is in escape.c. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digit_pairs[] = "00010203040506070809"
				  "10111213141516171819"
				  "20212223242526272829"
				  "30313233343536373839"
				  "40414243444546474849"
				  "50515253545556575859"
				  "60616263646566676869"
				  "70717273747576777879"
				  "80818283848586878889"
				  "90919293949596979899";

static bool buf_grow(struct buf *b, size_t need)
{
	size_t cap = b->cap < 128 ? 128 : b->cap;
	char *data;

	while (cap < need && cap <= SIZE_MAX / 2)
		cap *= 2;
	data = cap < need ? NULL : realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	if (!b->data)
		data[0] = '\0';
	b->data = data;
	b->cap = cap;
	return true;
}

char *buf_room_grown(struct buf *b, size_t len)
{
	size_t need;

	if (b->failed)
		return NULL;
	if (__builtin_add_overflow(b->len, len, &need) || need == SIZE_MAX) {
		b->failed = true;
		return NULL;
	}
	if (need + 1 > b->cap && !buf_grow(b, need + 1))
		return NULL;
	return b->data + b->len;
}

/* Counts @len bytes that were written into the room, and ends the text again. */
static void buf_advance(struct buf *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	char *p = buf_room(b, len);

	if (!p)
		return;
	if (len)
		memcpy(p, bytes, len);
	buf_advance(b, len);
}

void buf_adds(struct buf *b, const char *s) { buf_add(b, s, strlen(s)); }

void buf_addc(struct buf *b, char c)
{
	char *p = buf_room(b, 1);

	if (!p)
		return;
	*p = c;
	buf_advance(b, 1);
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *p = buf_room(b, 64);
	int n;

	if (!p)
		return;
	va_copy(again, ap);
	n = vsnprintf(p, b->cap - b->len, fmt, ap);
	if (n > 0 && (size_t)n >= b->cap - b->len) {
		p = buf_room(b, (size_t)n);
		n = p ? vsnprintf(p, (size_t)n + 1, fmt, again) : 0;
	}
	va_end(again);
	if (n < 0)
		b->failed = true;
	buf_advance(b, n > 0 ? (size_t)n : 0);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

/* Writes the digits of @v to end at @end; returns where they begin. */
static char *format_decimal(char *end, uint64_t v)
{
	while (v >= 100) {
		end -= 2;
		memcpy(end, digit_pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10) {
		end -= 2;
		memcpy(end, digit_pairs + v * 2, 2);
	} else {
		*--end = (char)('0' + v);
	}
	return end;
}

void buf_addu(struct buf *b, uint64_t v)
{
	char digits[20], *start = format_decimal(digits + sizeof(digits), v);

	buf_add(b, start, (size_t)(digits + sizeof(digits) - start));
}

void buf_addi(struct buf *b, int64_t v)
{
	char digits[21], *start = format_decimal(digits + sizeof(digits), v < 0 ? 0 - (uint64_t)v : (uint64_t)v);

	if (v < 0)
		*--start = '-';
	buf_add(b, start, (size_t)(digits + sizeof(digits) - start));
}

void buf_addx(struct buf *b, uint64_t v)
{
	char digits[16], *start = digits + sizeof(digits);

	do {
		*--start = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	buf_add(b, start, (size_t)(digits + sizeof(digits) - start));
}

void buf_fill(struct buf *b, char c, size_t len)
{
	char *p = buf_room(b, len);

	if (!p)
		return;
	memset(p, c, len);
	buf_advance(b, len);
}

void buf_pad(struct buf *b, size_t from, size_t width)
{
	size_t columns = 0;

	/* One column per character: continuation bytes of UTF-8 take none. */
	for (size_t i = from; i < b->len; i++)
		columns += ((unsigned char)b->data[i] & 0xc0) != 0x80;
	buf_fill(b, ' ', columns < width ? width - columns : 1);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

char *buf_take(struct buf *b)
{
	char *ret = b->data;

	if (b->failed) {
		free(ret);
		ret = NULL;
	} else if (!ret) {
		ret = calloc(1, 1);
	}
	*b = (struct buf){ 0 };
	return ret;
}

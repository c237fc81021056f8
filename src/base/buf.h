/* SPDX-License-Identifier: MIT */
/* A growable text or byte buffer. When memory runs out it stops growing; buf_take reports that once, at the end. */
#ifndef UT_BASE_BUF_H
#define UT_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise to use. data is NUL-terminated whenever it is not NULL; it belongs to the buffer until buf_take. */
struct buf {
	char *data;
	size_t len, cap;
	bool failed; /* an append found no memory; what is there is a prefix of what was asked for */
};

void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap);
/* Decimal numbers without the cost of printf. */
void buf_addu(struct buf *b, uint64_t v);
void buf_addi(struct buf *b, int64_t v);
/* Lower-case hexadecimal without a prefix. */
void buf_addx(struct buf *b, uint64_t v);
/* @len times @c. */
void buf_fill(struct buf *b, char c, size_t len);
/* Appends spaces until the text since @from is @width columns wide; at least one space. */
void buf_pad(struct buf *b, size_t from, size_t width);
/* The slow path of buf_room: grows the buffer first. */
char *buf_room_grown(struct buf *b, size_t len);
/* Room for @len more bytes, for callers that write in place and then raise len; NULL when there is no memory. */
static inline char *buf_room(struct buf *b, size_t len)
{
	return len < b->cap - b->len && !b->failed ? b->data + b->len : buf_room_grown(b, len);
}
void buf_reset(struct buf *b);
void buf_done(struct buf *b);
/* The text, now the caller's to free; "" when empty, NULL when an append failed. The buffer is empty afterwards. */
char *buf_take(struct buf *b);

/* Untrusted bytes as safe text: escapes control bytes and line feeds (\n, \t, \x1b), the backslash itself,
 * and bytes that are not valid UTF-8 (\xff). Valid printable UTF-8 is copied unchanged. */
void buf_add_escaped(struct buf *b, const char *bytes, size_t len);
/* The same for names of functions, in which a backslash stays as it is: once escaped, nothing more changes. */
void buf_add_name(struct buf *b, const char *bytes, size_t len);
/* A JSON string with its quotes. Bytes that are not valid UTF-8 become U+FFFD. */
void buf_add_json(struct buf *b, const char *bytes, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/* How many columns of a terminal a text takes, for tables that stay aligned whatever the names in them are. */
#ifndef UT_BASE_WIDTH_H
#define UT_BASE_WIDTH_H

#include <stddef.h>

#include "base/buf.h"

/* The character at the start of @len bytes, at least one: its length, code point and columns. 0: it is not valid
 * UTF-8. */
size_t text_char(const char *s, size_t len, uint32_t *ret, size_t *ret_columns);
/*
 * Columns of @len bytes of UTF-8 that are safe to print (see buf_add_escaped): marks that join the letter before take
 * none, East Asian letters and pictures two. A byte that is not UTF-8 counts as one.
 */
size_t text_width(const char *s, size_t len);
/* How many bytes at @s fit into @columns; *@ret is how many columns they take. */
size_t text_fit(const char *s, size_t len, size_t columns, size_t *ret);

/*
 * Appends @len safe bytes in exactly @columns columns: padded with spaces after them (or before, @right), or
 * truncated, with «…» (or '~' where only ASCII may be printed) as its last column.
 */
void buf_add_cell(struct buf *b, const char *s, size_t len, size_t columns, bool right, bool ascii);
/* The same, to the left; but of a path after the first @head bytes the end is shown, which distinguishes it. */
void buf_add_path_cell(struct buf *b, const char *s, size_t len, size_t head, size_t columns);
/* Appends a number, aligned to the right. It may be wider than @columns: a number without its end would be wrong. */
void buf_add_number_cell(struct buf *b, const char *s, size_t columns);

#endif

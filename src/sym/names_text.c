/* SPDX-License-Identifier: MIT */
/* Strings and sentences that the names keep. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sym/names_priv.h"

#define BLOCK_BYTES 65536

/* Room for @size bytes at the end of the last block, which are not taken yet. */
static char *text_room(struct names *n, size_t size)
{
	size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
	struct text_block *b = n->blocks;

	if (b && b->size - b->used >= size)
		return b->bytes + b->used;
	b = malloc(sizeof(*b) + bytes);
	if (!b)
		return NULL;
	*b = (struct text_block){ .next = n->blocks, .size = bytes };
	n->blocks = b;
	return b->bytes;
}

const char *names_intern(struct names *n, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = text_room(n, size);
	uint32_t number;

	if (!copy)
		return "";
	memcpy(copy, text, size);
	number = strings_number(&n->strings, copy);
	if (number == UINT32_MAX)
		return "";
	if (n->strings.v.v[number] == copy)
		n->blocks->used += size;
	return n->strings.v.v[number];
}

const char *names_internf(struct names *n, const char *fmt, ...)
{
	struct buf b = { 0 };
	const char *kept;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	kept = b.failed || !b.data ? "" : names_intern(n, b.data);
	buf_done(&b);
	return kept;
}

void names_note(struct names *n, const char *sentence)
{
	const char *kept;

	if (!*sentence || n->notes.n >= NAMES_NOTES_MAX)
		return;
	kept = names_intern(n, sentence);
	for (size_t i = 0; i < n->notes.n; i++)
		if (n->notes.v[i] == kept)
			return;
	(void)vec_push(&n->notes, kept);
}

/* SPDX-License-Identifier: MIT */
/* .gnu_debugdata: an ELF file with nothing but a symbol table, packed by xz, as Fedora leaves it in programs. */
#include <lzma.h>
#include <string.h>

#include "base/auto.h"
#include "elf/image_priv.h"

#define UNPACKED_MAX (256ull << 20)
#define DECODER_MAX (128ull << 20) /* xz -9 needs 65 MiB */

/* Unpacks into memory that grows as the data come, whatever sizes the stream claims. NULL: not to be had. */
static uint8_t *unpack(const void *bytes, size_t n, size_t *ret_n)
{
	size_t cap = n > UNPACKED_MAX / 4 ? UNPACKED_MAX : n * 4 + 4096;
	AUTO_FREE uint8_t *out = malloc(cap);
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r;

	if (!out || lzma_stream_decoder(&s, DECODER_MAX, 0) != LZMA_OK)
		return NULL;
	s.next_in = bytes;
	s.avail_in = n;
	do {
		if (s.total_out == cap) {
			uint8_t *more = cap < UNPACKED_MAX ? realloc(out, cap * 2) : NULL;

			if (!more)
				break;
			out = more;
			cap *= 2;
		}
		s.next_out = out + s.total_out;
		s.avail_out = cap - s.total_out;
		r = lzma_code(&s, LZMA_FINISH);
	} while (r == LZMA_OK);
	*ret_n = s.total_out;
	lzma_end(&s);
	return r == LZMA_STREAM_END ? take_ptr(out) : NULL;
}

struct elf_image *image_mini_file(struct elf_image *img)
{
	AUTO_FREE uint8_t *bytes = NULL;
	struct section *s;
	size_t n = 0;

	if (img->mini_tried)
		return img->mini;
	img->mini_tried = true;
	s = image_section(img, ".gnu_debugdata");
	if (!s || s->size > UNPACKED_MAX || !section_load(img, s))
		return NULL;
	bytes = unpack(s->data, s->data_size, &n);
	if (!bytes || elf_image_from_memory(bytes, n, &img->mini, NULL))
		return NULL;
	img->mini->owned = take_ptr(bytes);
	if (img->mini->machine != img->machine || img->mini->is_64 != img->is_64)
		img->mini = elf_image_free(img->mini);
	return img->mini;
}

/* SPDX-License-Identifier: MIT */
/* Fuzzes perf maps: in whatever pieces a map comes, the lines are the same, in order, and lie within the file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sym/perfmap.h"
#include "fuzz.h"

struct lines {
	uint64_t n, hash, end;
	size_t size;
};

static void on_line(void *ctx, const struct perfmap_line *line)
{
	struct lines *l = ctx;

	if (line->offset < l->end || line->end <= line->offset || line->end > l->size || !line->size ||
	    line->start + line->size < line->start || line->size > PERFMAP_SIZE_MAX)
		abort();
	l->end = line->end;
	l->n++;
	l->hash = (l->hash ^ line->start ^ line->size << 20 ^ line->offset << 40 ^ (uint64_t)line->has_name) *
		  0x100000001b3u;
}

/* What is all zeros may have been skipped, as a hole in the file. */
static bool is_hole(const uint8_t *data, size_t size) { return size && !data[0] && !memcmp(data, data + 1, size - 1); }

static struct lines read_in_pieces(const uint8_t *data, size_t size, size_t piece, struct perfmap *p)
{
	struct lines l = { .size = size };

	*p = (struct perfmap){ 0 };
	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;

		if (piece % 2 && is_hole(data + at, len))
			perfmap_skip(p, len);
		else
			perfmap_feed(p, (const char *)data + at, len, on_line, &l);
	}
	perfmap_end(p, on_line, &l);
	return l;
}

FUZZ_TARGET(perfmap)
{
	struct perfmap whole, pieces;
	struct lines l = read_in_pieces(data, size, size ? size : 1, &whole);

	if (whole.lines != l.n || whole.offset != size || whole.lines + whole.bad > whole.number)
		abort();
	for (size_t piece = 1; piece < 90; piece = piece * 3 + 1) {
		struct lines again = read_in_pieces(data, size, piece, &pieces);

		if (again.n != l.n || again.hash != l.hash || pieces.bad != whole.bad ||
		    pieces.first_bad != whole.first_bad)
			abort();
	}
	return 0;
}

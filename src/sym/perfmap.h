/* SPDX-License-Identifier: MIT */
/*
 * The lines of a perf map, /tmp/perf-PID.map, as they come. Pure, of bounded memory. What a line is: an address and a
 * size in hexadecimal, each with or without 0x, blanks or tabs between them, then one blank or tab, and all the rest is
 * the name, whatever bytes it has; a carriage return before the line feed is no part of it. A size of 0 names the one
 * byte at the address. Lines stand in the order of their writing: a later one has what it covers from then on.
 */
#ifndef UT_SYM_PERFMAP_H
#define UT_SYM_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFMAP_HEAD_MAX 80 /* address, size and what is between them are found in so many bytes */
#define PERFMAP_SIZE_MAX (1ull << 32) /* no code is larger; with such a size it would have the names of all others */

struct perfmap_line {
	uint64_t offset; /* in the file, of its first byte */
	uint64_t end; /* behind its line feed */
	uint64_t start, size; /* size is at least 1, and start + size does not wrap */
	bool has_name;
};

/* Zero-initialise to read from the beginning of a file. */
struct perfmap {
	uint64_t offset; /* of the next byte to be fed */
	uint64_t line_at; /* where the line begins that is not complete yet */
	size_t head_len;
	char head[PERFMAP_HEAD_MAX];
	uint64_t lines, bad; /* with a name or without; what is no such line. Empty lines are neither */
	uint64_t first_bad; /* its number in the file, from 1 */
	uint64_t number; /* of lines so far */
};

typedef void perfmap_fn(void *ctx, const struct perfmap_line *line);
/* The next bytes of the file; @fn is called for each line that is complete now. */
void perfmap_feed(struct perfmap *p, const char *bytes, size_t len, perfmap_fn *fn, void *ctx);
/* The same for @len bytes that are all 0: a part of the file that was never written. */
void perfmap_skip(struct perfmap *p, uint64_t len);
/* The writer is gone: what stands without a line feed is a line as well. */
void perfmap_end(struct perfmap *p, perfmap_fn *fn, void *ctx);

/* One line without its line feed, or its first bytes: 1, 0 for an empty one, -1 when it is no line of a map. The name
 * begins at *@ret_name, if there are as many bytes. */
int perfmap_parse(const char *line, size_t len, uint64_t *ret_start, uint64_t *ret_size, size_t *ret_name);

#endif

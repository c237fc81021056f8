/* SPDX-License-Identifier: MIT */
/* The lines of a perf map from pieces of any length. Only the heads of lines are looked at; names are found by offset. */
#include "sym/perfmap.h"

#include <string.h>

#include "base/ascii.h"

struct cursor {
	const char *p, *end;
};

/* A hexadecimal number of 64 bits, with or without 0x. */
static bool parse_hex_number(struct cursor *c, uint64_t *ret)
{
	const char *start;
	uint64_t v = 0;
	int digit;

	if (c->end - c->p > 2 && c->p[0] == '0' && (c->p[1] | 0x20) == 'x')
		c->p += 2;
	for (start = c->p; c->p < c->end && (digit = hex_value(*c->p)) >= 0; c->p++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)digit;
	}
	*ret = v;
	return c->p > start;
}

static bool skip_spaces(struct cursor *c)
{
	const char *start = c->p;

	while (c->p < c->end && is_blank(*c->p))
		c->p++;
	return c->p > start;
}

int perfmap_parse(const char *line, size_t len, uint64_t *ret_start, uint64_t *ret_size, size_t *ret_name)
{
	struct cursor c = { line, line + (len < PERFMAP_HEAD_MAX ? len : PERFMAP_HEAD_MAX) };
	uint64_t size;

	skip_spaces(&c);
	if (c.p == c.end || (*c.p == '\r' && c.p + 1 == line + len))
		return len < PERFMAP_HEAD_MAX ? 0 : -1;
	if (!parse_hex_number(&c, ret_start) || !skip_spaces(&c) || !parse_hex_number(&c, &size))
		return -1;
	if (c.p < c.end && !is_blank(*c.p) && *c.p != '\r')
		return -1;
	if (c.p == line + PERFMAP_HEAD_MAX || size > PERFMAP_SIZE_MAX)
		return -1;
	*ret_size = size ? size : 1;
	*ret_name = (size_t)(c.p - line) + (c.p < c.end && is_blank(*c.p));
	return *ret_start + *ret_size < *ret_start ? -1 : 1;
}

/* A line of @len bytes, of which @head has the first ones. */
static void end_line(struct perfmap *p, const char *head, uint64_t offset, uint64_t len, perfmap_fn *fn, void *ctx)
{
	struct perfmap_line line = { .offset = offset };
	size_t name = 0, known = len < PERFMAP_HEAD_MAX ? (size_t)len : PERFMAP_HEAD_MAX;
	int r = perfmap_parse(head, known, &line.start, &line.size, &name);

	p->number++;
	line.end = p->offset;
	if (r > 0) {
		line.has_name = name < len && !(name + 1 == len && head[name] == '\r');
		p->lines++;
		fn(ctx, &line);
	} else if (r < 0 && !p->bad++) {
		p->first_bad = p->number;
	}
}

/* Keeps the beginning of a line whose end has not come. */
static void keep_head(struct perfmap *p, const char *bytes, size_t len)
{
	size_t room = PERFMAP_HEAD_MAX - p->head_len;

	if (len > room)
		len = room;
	memcpy(p->head + p->head_len, bytes, len);
	p->head_len += len;
}

void perfmap_feed(struct perfmap *p, const char *bytes, size_t len, perfmap_fn *fn, void *ctx)
{
	const char *end = bytes + len;

	while (bytes < end) {
		const char *feed = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t piece = (size_t)((feed ? feed : end) - bytes);
		bool whole = p->line_at == p->offset;

		if (!whole || !feed)
			keep_head(p, bytes, piece);
		p->offset += piece + (feed != NULL);
		if (!feed)
			return;
		end_line(p, whole ? bytes : p->head, p->line_at, p->offset - 1 - p->line_at, fn, ctx);
		p->line_at = p->offset;
		p->head_len = 0;
		bytes = feed + 1;
	}
}

void perfmap_skip(struct perfmap *p, uint64_t len)
{
	static const char zeros[PERFMAP_HEAD_MAX];

	keep_head(p, zeros, len < sizeof(zeros) ? (size_t)len : sizeof(zeros));
	p->offset += len;
}

void perfmap_end(struct perfmap *p, perfmap_fn *fn, void *ctx)
{
	if (p->line_at == p->offset)
		return;
	end_line(p, p->head, p->line_at, p->offset - p->line_at, fn, ctx);
	p->line_at = p->offset;
	p->head_len = 0;
}

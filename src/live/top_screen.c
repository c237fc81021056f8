/* SPDX-License-Identifier: MIT */
/* Lines on a terminal: truncates them, converts them to ASCII, and prints what changed between two screens. Plain VT100. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/width.h"
#include "live/top_priv.h"

#define PLAIN "\033[0m"

void top_screen_done(struct top_screen *s)
{
	for (unsigned i = 0; s->line && i < s->height; i++)
		buf_done(&s->line[i]);
	free(s->line);
	*s = (struct top_screen){ 0 };
}

int top_screen_size(struct top_screen *s, unsigned width, unsigned height)
{
	if (s->line && s->width == width && s->height == height) {
		for (unsigned i = 0; i < height; i++)
			buf_reset(&s->line[i]);
		return 0;
	}
	top_screen_done(s);
	s->line = calloc(height ? height : 1, sizeof(*s->line));
	if (!s->line)
		return -ENOMEM;
	s->width = width;
	s->height = height;
	return 0;
}

/* Length of the escape sequence ESC [ … m at @s; 0: none. */
static size_t sequence_length(const char *s, size_t len)
{
	const char *end = len > 1 && s[0] == '\033' ? memchr(s, 'm', len) : NULL;

	return end ? (size_t)(end - s) + 1 : 0;
}

size_t top_cut(const char *text, size_t len, size_t width, struct buf *out)
{
	size_t used = 0, at = 0;

	while (at < len) {
		size_t n = sequence_length(text + at, len - at), columns;
		const char *next;

		if (n) {
			buf_add(out, text + at, n);
			at += n;
			continue;
		}
		next = memchr(text + at, '\033', len - at);
		n = next ? (size_t)(next - text) - at : len - at;
		n = text_fit(text + at, n, width - used, &columns);
		buf_add(out, text + at, n);
		used += columns;
		at += n;
		if (at < len && text[at] != '\033') { /* full: only sequences are of interest from here on */
			next = memchr(text + at, '\033', len - at);
			if (!next)
				break;
			at = (size_t)(next - text);
			used = width;
		}
	}
	return used;
}

void top_put(const struct top *t, struct top_screen *s, unsigned y, const struct buf *text)
{
	struct buf *line = s->line + y;

	if (y >= s->height)
		return;
	buf_reset(line);
	top_cut(text->data ? text->data : "", text->len, s->width, line);
	if (t->o.ascii)
		top_ascii(line);
}

static size_t visible_columns(const struct buf *line)
{
	struct buf text = { 0 };
	size_t width = top_cut(line->data ? line->data : "", line->len, 1u << 20, &text);

	buf_done(&text);
	return width;
}

static bool lines_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

void top_screen_diff(const struct top_screen *old, const struct top_screen *new, struct buf *out)
{
	bool all = !old || !old->line || old->width != new->width || old->height != new->height;

	if (all)
		buf_adds(out, PLAIN "\033[H\033[2J");
	for (unsigned y = 0; y < new->height; y++) {
		const struct buf *line = &new->line[y];

		if (all ? !line->len : lines_equal(&old->line[y], line))
			continue;
		buf_addf(out, "\033[%u;1H", y + 1);
		buf_add(out, line->data ? line->data : "", line->len);
		/* In the last column it would erase the last character. */
		if (!all && visible_columns(line) < new->width)
			buf_adds(out, "\033[K");
	}
}

/* An ASCII character for each other character on these pages. */
static char ascii_for(const char *s)
{
	static const struct {
		const char *from;
		char to;
	} known[] = {
		{ "…", '~' }, { "µ", 'u' }, { "→", '>' }, { "·", '.' }, { "↓", 'v' },
		{ "↑", '^' }, { "≤", '<' }, { "▁", ':' }, { "▂", '-' }, { "▃", '=' },
		{ "▄", '+' }, { "▅", '*' }, { "▆", '%' }, { "▇", '#' }, { "█", '@' },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(s, known[i].from, strlen(known[i].from)))
			return known[i].to;
	return '?';
}

void top_ascii(struct buf *b)
{
	size_t at = 0, to = 0;

	while (at < b->len) {
		size_t n = 1, columns;
		char c;

		if (!(b->data[at] & 0x80)) {
			b->data[to++] = b->data[at++];
			continue;
		}
		while (at + n < b->len && (b->data[at + n] & 0xc0) == 0x80)
			n++;
		c = ascii_for(b->data + at);
		for (columns = text_width(b->data + at, n); columns; columns--)
			b->data[to++] = c;
		at += n;
	}
	if (b->data)
		b->data[b->len = to] = '\0';
}

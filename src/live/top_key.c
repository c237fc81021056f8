/* SPDX-License-Identifier: MIT */
/* Parses keys from the bytes of a terminal, and applies them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "live/top_priv.h"

#define ESC '\033'

/* The sequence after ESC [ or ESC O: parameters, then one letter or '~'. */
static uint32_t sequence_key(const char *params, size_t len, char final)
{
	static const struct {
		char final;
		uint32_t key;
	} letters[] = {
		{ 'A', KEY_UP },   { 'B', KEY_DOWN }, { 'C', KEY_RIGHT },
		{ 'D', KEY_LEFT }, { 'H', KEY_HOME }, { 'F', KEY_END },
	};
	static const uint32_t numbers[] = {
		[1] = KEY_HOME,	     [3] = KEY_DELETE, [4] = KEY_END, [5] = KEY_PAGE_UP,
		[6] = KEY_PAGE_DOWN, [7] = KEY_HOME,   [8] = KEY_END,
	};

	if (final == '~') {
		unsigned n = len && params[0] >= '0' && params[0] <= '9' ? (unsigned)(params[0] - '0') : 0;

		if (len > 1 && params[1] != ';')
			return KEY_NONE;
		return n < sizeof(numbers) / sizeof(*numbers) && numbers[n] ? numbers[n] : KEY_NONE;
	}
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (letters[i].final == final)
			return letters[i].key;
	return KEY_NONE;
}

/* Length of a sequence ESC [ …; 0: incomplete. An invalid sequence ends before its first invalid byte. */
static size_t parse_sequence(const char *s, size_t len, bool last, uint32_t *ret)
{
	size_t i = 2;

	*ret = KEY_NONE;
	while (i < len && s[i] >= 0x20 && s[i] < 0x40)
		i++;
	if (i == len)
		return last ? len : 0;
	if (s[i] < 0x40 || s[i] > 0x7e)
		return i;
	/* ESC O M is Enter on the number pad; ESC [ M is not. */
	*ret = s[1] == 'O' && s[i] == 'M' ? '\r' : sequence_key(s + 2, i - 2, s[i]);
	return i + 1;
}

static size_t parse_escape(const char *s, size_t len, bool last, uint32_t *ret)
{
	*ret = KEY_ESC;
	if (len == 1)
		return last;
	if (s[1] != '[' && s[1] != 'O')
		return 1; /* Esc, then another key */
	if (len == 2 && last) {
		*ret = KEY_NONE;
		return 2;
	}
	return len == 2 ? 0 : parse_sequence(s, len, last, ret);
}

static size_t parse_utf8(const unsigned char *s, size_t len, bool last, uint32_t *ret)
{
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c = s[0] & (0xffu >> (n + 1));

	*ret = KEY_NONE;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 1;
	for (size_t i = 1; i < n; i++) {
		if (i == len)
			return last ? len : 0;
		if ((s[i] & 0xc0) != 0x80)
			return i;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c >= 0xa0 && c < KEY_NONE)
		*ret = c;
	return n;
}

size_t top_key_parse(const char *bytes, size_t len, bool last, uint32_t *ret)
{
	if (!len)
		return 0;
	if (bytes[0] == ESC)
		return parse_escape(bytes, len, last, ret);
	if ((unsigned char)bytes[0] >= 0x80)
		return parse_utf8((const unsigned char *)bytes, len, last, ret);
	*ret = bytes[0] == '\n' ? '\r' : bytes[0] == 0x7f ? '\b' : (uint32_t)bytes[0];
	return 1;
}

static void add_char(struct top *t, uint32_t c)
{
	char utf8[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	utf8[0] = n == 1 ? (char)c : (char)((0xf00u >> n) | (c >> (6 * (n - 1))));
	for (size_t i = 1; i < n; i++)
		utf8[i] = (char)(0x80 | ((c >> (6 * (n - 1 - i))) & 0x3f));
	if (t->filter_len + n >= sizeof(t->filter))
		return;
	memcpy(t->filter + t->filter_len, utf8, n);
	t->filter_len += n;
	t->filter[t->filter_len] = '\0';
}

static void drop_char(struct top *t)
{
	while (t->filter_len && (t->filter[--t->filter_len] & 0xc0) == 0x80)
		;
	t->filter[t->filter_len] = '\0';
}

static void clear_filter(struct top *t) { t->filter[t->filter_len = 0] = '\0'; }

enum { CTRL_L = 'L' - '@', CTRL_U = 'U' - '@', CTRL_W = 'W' - '@' };

static enum top_act type_filter(struct top *t, uint32_t key)
{
	if (key == '\r') {
		t->typing = false;
	} else if (key == KEY_ESC) {
		t->typing = false;
		clear_filter(t);
	} else if (key == '\b') {
		drop_char(t);
	} else if (key == CTRL_U || key == CTRL_W) {
		clear_filter(t);
	} else if (key >= ' ' && key < KEY_NONE) {
		add_char(t, key);
	} else {
		return TOP_NOTHING;
	}
	t->first = 0;
	return top_arrange(t) ? TOP_QUIT : TOP_DRAW;
}

static void pause_toggle(struct top *t)
{
	t->paused = !t->paused;
	t->paused_ns = t->now_ns;
	for (size_t i = 0; i < t->rows.n; i++) {
		struct top_row *row = t->rows.v[i];

		free(row->frozen);
		row->frozen = NULL;
		if (!t->paused)
			continue;
		row->frozen = malloc(sizeof(*row->frozen)); /* on failure the paused table omits the row */
		if (row->frozen)
			*row->frozen = row->rate;
	}
	top_arrange(t);
}

/* Selects the row @by rows further down, or up. */
static void move_selection(struct top *t, long by)
{
	long at = (long)top_selected(t) + by, last = (long)t->shown.n - 1;

	if (last < 0)
		return;
	at = at < 0 ? 0 : at > last ? last : at;
	t->selected = t->shown.v[at]->serial;
}

static bool movement(uint32_t key, unsigned page, long *ret)
{
	long rows = page > 1 ? (long)page - 1 : 1;

	switch (key) {
	case KEY_UP:
	case 'k': *ret = -1; return true;
	case KEY_DOWN:
	case 'j': *ret = 1; return true;
	case KEY_PAGE_UP: *ret = -rows; return true;
	case KEY_PAGE_DOWN:
	case ' ': *ret = rows; return true;
	case KEY_HOME:
	case 'g': *ret = -1000000; return true;
	case KEY_END:
	case 'G': *ret = 1000000; return true;
	default: return false;
	}
}

static enum top_act sort_by(struct top *t, enum top_column c)
{
	t->sort = c;
	t->first = 0;
	return top_arrange(t) ? TOP_QUIT : TOP_DRAW;
}

static bool sort_key(uint32_t key, const struct top *t, enum top_column *ret)
{
	static const struct {
		char key;
		enum top_column column;
	} keys[] = {
		{ 'c', COLUMN_RATE },
		{ 't', COLUMN_SHARE },
		{ 'l', COLUMN_LONGEST },
		{ 'a', COLUMN_ALLOCATION },
	};

	if (key == 's') {
		*ret = (t->sort + 1) % COLUMN_MINUTE;
		return true;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (key == (uint32_t)keys[i].key) {
			*ret = keys[i].column;
			return true;
		}
	return false;
}

static enum top_act table_key(struct top *t, uint32_t key)
{
	enum top_column column;
	long by;

	if (movement(key, t->page_rows, &by)) {
		move_selection(t, by);
		return TOP_DRAW;
	}
	if (sort_key(key, t, &column))
		return sort_by(t, column);
	switch (key) {
	case 'q': return TOP_QUIT;
	case KEY_ESC:
		if (!t->filter_len)
			return TOP_QUIT;
		clear_filter(t);
		return top_arrange(t) ? TOP_QUIT : TOP_DRAW;
	case 'r': t->reverse = !t->reverse; return sort_by(t, t->sort);
	case '/': t->typing = true; return TOP_DRAW;
	case '\r':
	case KEY_RIGHT:
		if (!t->shown.n)
			return TOP_NOTHING;
		move_selection(t, 0);
		t->scroll = 0;
		t->page = PAGE_PROCESS;
		return TOP_DRAW;
	default: return TOP_NOTHING;
	}
}

static enum top_act process_key(struct top *t, uint32_t key)
{
	const struct top_row *row = top_opened(t);
	long by, most;

	if (key == 'q' || key == KEY_ESC || key == KEY_LEFT || key == '\b' || !row) {
		t->page = PAGE_TABLE;
		return TOP_DRAW;
	}
	if (!movement(key, t->page_rows, &by))
		return TOP_NOTHING;
	most = (long)(row->nlines < TOP_LINES ? row->nlines : TOP_LINES) - (long)t->page_rows;
	by += (long)t->scroll;
	by = by > most ? most : by;
	t->scroll = by < 0 ? 0 : (uint64_t)by;
	return TOP_DRAW;
}

enum top_act top_key(struct top *t, uint32_t key)
{
	if (key == CTRL_L)
		return TOP_REDRAW;
	if (t->typing)
		return type_filter(t, key);
	if (t->page == PAGE_HELP) {
		t->page = t->behind_help;
		return TOP_DRAW;
	}
	if (key == 'h' || key == '?') {
		t->behind_help = t->page;
		t->page = PAGE_HELP;
		return TOP_DRAW;
	}
	if (key == 'p') {
		pause_toggle(t);
		return TOP_DRAW;
	}
	return t->page == PAGE_PROCESS ? process_key(t, key) : table_key(t, key);
}

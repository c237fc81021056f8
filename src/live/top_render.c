/* SPDX-License-Identifier: MIT */
/* Draws the table of runtimes: columns that fit the width, a heading, a line for each process, the keys. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/width.h"
#include "live/gc_priv.h"
#include "live/top_priv.h"

static const struct {
	const char *title;
	unsigned width;
	bool right;
} columns[COLUMNS] = {
	[COLUMN_PID] = { "PID", 7, true },
	[COLUMN_COMMAND] = { "COMMAND", 15, false },
	[COLUMN_RUNTIME] = { "RUNTIME", 12, false },
	[COLUMN_RATE] = { "GC/S", 5, true },
	[COLUMN_SHARE] = { "STOPPED", 8, true },
	[COLUMN_LONGEST] = { "LONGEST", 8, true },
	[COLUMN_ALLOCATION] = { "ALLOC/S", 8, true },
	[COLUMN_MINUTE] = { "MINUTE", 10, false },
};

static unsigned total_width(const unsigned w[COLUMNS])
{
	unsigned sum = 0;

	for (unsigned i = 0; i < COLUMNS; i++)
		sum += w[i] ? w[i] + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* Distributes spare columns: first to the bar, so that a minute divides evenly, then to versions, then to the bar. */
static void widen(unsigned width, unsigned w[COLUMNS])
{
	static const unsigned bars[] = { 12, 15, 20, 30, 60 };
	unsigned spare = width - total_width(w), wanted = 22 - w[COLUMN_RUNTIME];

	if (spare < 2)
		return;
	w[COLUMN_MINUTE] = 12;
	spare -= 2;
	wanted = spare < wanted ? spare : wanted;
	w[COLUMN_RUNTIME] += wanted;
	spare -= wanted;
	for (unsigned i = 0; i < sizeof(bars) / sizeof(*bars); i++)
		if (bars[i] - 12 <= spare)
			w[COLUMN_MINUTE] = bars[i];
}

void top_layout(unsigned width, unsigned w[COLUMNS])
{
	static const enum top_column first[] = { COLUMN_MINUTE, COLUMN_ALLOCATION, COLUMN_RUNTIME, COLUMN_LONGEST,
						 COLUMN_RATE };
	unsigned over;

	for (unsigned i = 0; i < COLUMNS; i++)
		w[i] = columns[i].width;
	if (total_width(w) <= width) {
		widen(width, w);
		return;
	}
	for (unsigned i = 0; i < sizeof(first) / sizeof(*first) && total_width(w) > width; i++)
		w[first[i]] = 0;
	over = total_width(w) > width ? total_width(w) - width : 0;
	w[COLUMN_COMMAND] -= over < 7 ? over : 7;
	if (total_width(w) > width)
		w[COLUMN_PID] = 0;
	if (total_width(w) > width)
		w[COLUMN_COMMAND] = 0;
}

static void add_rate(double v, struct buf *out)
{
	if (v >= 99999.5)
		buf_addf(out, "%.0fk", v / 1000);
	else
		buf_addf(out, v < 0.05 ? "0" : v < 99.95 ? "%.1f" : "%.0f", v);
}

static void add_cell_text(const struct top_row *row, enum top_column c, struct buf *out)
{
	const struct rate_view *v = &row->view;
	char text[40];

	switch (c) {
	case COLUMN_PID: buf_addu(out, row->pid); break;
	case COLUMN_COMMAND: buf_add_escaped(out, row->comm, strnlen(row->comm, sizeof(row->comm))); break;
	case COLUMN_RUNTIME: buf_add_escaped(out, row->runtime, strlen(row->runtime)); break;
	case COLUMN_RATE: add_rate(v->per_second, out); break;
	case COLUMN_SHARE:
		if (row->gone_ns)
			buf_adds(out, "ended");
		else
			top_share_text(v, v->share, out);
		break;
	case COLUMN_LONGEST: buf_adds(out, v->longest_ns ? human_ns(v->longest_ns, text) : "-"); break;
	case COLUMN_ALLOCATION:
		buf_adds(out, v->has_allocation ? human_bytes((uint64_t)v->allocation, text) : "-");
		break;
	default: top_bar(v, out);
	}
}

/* Drops the last parts of a version that does not fit. */
static void shorten_version(struct buf *text, unsigned width)
{
	while (text->len && text_width(text->data, text->len) > width) {
		char *space = strrchr(text->data, ' '), *point = strrchr(text->data, '.');

		if (!space || !point || point < space)
			return;
		text->len = (size_t)(point - text->data);
		*point = '\0';
	}
}

static enum top_style cell_style(const struct top_row *row, enum top_column c)
{
	if (c == COLUMN_SHARE)
		return top_style_of_share(row->view.share);
	return c == COLUMN_LONGEST ? top_style_of_stop(row->view.longest_ns) : STYLE_PLAIN;
}

static void add_row_cells(const struct top *t, const struct top_row *row, const unsigned w[COLUMNS], bool selected,
			  struct buf *out)
{
	bool whole = selected || row->gone_ns; /* one style for all of the line */
	const char *gap = "";

	if (whole)
		top_style(t, selected ? STYLE_REVERSE : STYLE_DIM, out);
	for (unsigned c = 0; c < COLUMNS; c++) {
		enum top_style style = whole ? STYLE_PLAIN : cell_style(row, c);
		struct buf text = { 0 };

		if (!w[c])
			continue;
		buf_adds(out, gap);
		gap = " ";
		add_cell_text(row, c, &text);
		if (c == COLUMN_RUNTIME)
			shorten_version(&text, w[c]);
		if (style)
			top_style(t, style, out);
		buf_add_cell(out, text.data ? text.data : "", text.len, w[c], columns[c].right, false);
		if (style)
			top_style(t, STYLE_PLAIN, out);
		buf_done(&text);
	}
	if (whole)
		top_style(t, STYLE_PLAIN, out);
}

static void add_column_titles(const struct top *t, const unsigned w[COLUMNS], struct buf *out)
{
	const char *gap = "";

	for (unsigned c = 0; c < COLUMNS; c++) {
		char text[32];

		if (!w[c])
			continue;
		snprintf(text, sizeof(text), "%s%s", columns[c].title, t->sort != c ? "" : t->reverse ? "↑" : "↓");
		buf_adds(out, gap);
		gap = " ";
		buf_add_cell(out, text, strlen(text), w[c], columns[c].right, false);
	}
}

static void add_clock(const struct top *t, uint64_t now_ns, struct buf *out)
{
	uint64_t since = now_ns > t->o.start_ns ? now_ns - t->o.start_ns : 0;
	time_t second = (time_t)((t->o.wall_ns + since) / 1000000000u);
	char text[16];
	struct tm tm;

	if (t->o.wall_ns && localtime_r(&second, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		buf_adds(out, text);
	else
		buf_addf(out, "%llu s", (unsigned long long)(since / 1000000000u));
}

static void add_heading(const struct top *t, struct buf *out)
{
	size_t live = 0, ended = 0;
	char number[32];

	for (size_t i = 0; i < t->rows.n; i++) {
		live += !t->rows.v[i]->gone_ns;
		ended += t->rows.v[i]->gone_ns && !t->rows.v[i]->replaced;
	}
	buf_adds(out, "usertrace top ");
	add_clock(t, t->paused ? t->paused_ns : t->now_ns, out);
	buf_addf(out, ", %zu %s", live, live == 1 ? "process" : "processes");
	if (ended)
		buf_addf(out, ", %zu ended", ended);
	if (t->filter_len && !t->typing) {
		buf_addf(out, ", %zu with '", t->shown.n);
		buf_add_escaped(out, t->filter, t->filter_len);
		buf_adds(out, "'");
	}
	if (t->lost)
		buf_addf(out, ", %s %s lost", human_count(t->lost, number), plural(t->lost, "event"));
	if (t->paused)
		buf_adds(out, ", paused (p: continue)");
}

static void draw_footer(const struct top *t, struct top_screen *s)
{
	struct buf text = { 0 };

	if (t->typing) {
		buf_adds(&text, "filter: ");
		buf_add_escaped(&text, t->filter, t->filter_len);
		buf_adds(&text, "_  (Enter: keep, Esc: remove)");
	} else if (t->note[0] && t->now_ns < t->note_until_ns) {
		buf_adds(&text, t->note);
	} else if (t->page == PAGE_PROCESS) {
		buf_adds(&text, "q back  arrows scroll  p pause  h help");
	} else {
		buf_adds(&text, "q quit  arrows select  Enter open  s sort  r reverse  / filter  p pause  h help");
	}
	top_put(t, s, s->height - 1, &text);
	buf_done(&text);
}

/* Chooses the first row on the screen so that the selected one is visible. */
static void scroll_to(struct top *t, size_t selected, unsigned rows)
{
	if (selected < t->first)
		t->first = selected;
	if (selected >= t->first + rows)
		t->first = selected - rows + 1;
	if (t->first + rows > t->shown.n)
		t->first = t->shown.n > rows ? t->shown.n - rows : 0;
}

/* Omits the heading and the keys where they and three rows do not fit. */
static void draw_table(struct top *t, struct top_screen *s, const unsigned w[COLUMNS])
{
	bool edges = s->height >= 6;
	unsigned y = edges, rows = s->height > 1u + 2u * edges ? s->height - 1 - 2 * edges : 1;
	size_t selected = top_selected(t);
	struct buf text = { 0 };

	t->page_rows = rows;
	scroll_to(t, selected, rows);
	if (s->height > 1) {
		top_style(t, STYLE_BOLD, &text);
		add_column_titles(t, w, &text);
		top_style(t, STYLE_PLAIN, &text);
		top_put(t, s, y++, &text);
	}
	if (!t->shown.n) {
		buf_reset(&text);
		buf_adds(&text, t->rows.n ? "no row matches; Esc shows all"
					  : "no process with a known runtime yet; new ones appear here");
		top_put(t, s, y, &text);
	}
	for (size_t i = 0; i < rows && t->first + i < t->shown.n; i++) {
		buf_reset(&text);
		add_row_cells(t, t->shown.v[t->first + i], w, t->first + i == selected, &text);
		top_put(t, s, y++, &text);
	}
	if (edges || t->typing)
		draw_footer(t, s);
	buf_reset(&text);
	add_heading(t, &text);
	if (edges)
		top_put(t, s, 0, &text);
	buf_done(&text);
}

int top_render(struct top *t, uint64_t now_ns, struct top_screen *s)
{
	unsigned w[COLUMNS];

	if (!s->width || !s->height)
		return 0;
	top_layout(s->width, w);
	if (top_refresh(t, now_ns, w[COLUMN_MINUTE] ? w[COLUMN_MINUTE] : 10))
		return -ENOMEM;
	if (t->page == PAGE_PROCESS && !top_opened(t))
		t->page = PAGE_TABLE;
	if (t->page == PAGE_HELP) {
		top_draw_help(t, s);
	} else if (t->page == PAGE_PROCESS) {
		top_draw_process(t, s);
		if (s->height >= 6)
			draw_footer(t, s);
	} else {
		draw_table(t, s, w);
	}
	return 0;
}

static void add_batch_line(const struct top *t, struct buf *line, struct buf *out)
{
	if (t->o.ascii)
		top_ascii(line);
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	buf_add(out, line->data ? line->data : "", line->len);
	buf_addc(out, '\n');
	buf_reset(line);
}

int top_batch(struct top *t, uint64_t now_ns, unsigned width, struct buf *out)
{
	struct buf line = { 0 };
	unsigned w[COLUMNS];

	top_layout(width, w);
	if (top_refresh(t, now_ns, w[COLUMN_MINUTE] ? w[COLUMN_MINUTE] : 10))
		return -ENOMEM;
	add_heading(t, &line);
	add_batch_line(t, &line, out);
	add_column_titles(t, w, &line);
	add_batch_line(t, &line, out);
	for (size_t i = 0; i < t->shown.n; i++) {
		add_row_cells(t, t->shown.v[i], w, false, &line);
		add_batch_line(t, &line, out);
	}
	buf_addc(out, '\n');
	buf_done(&line);
	return 0;
}

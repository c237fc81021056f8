/* SPDX-License-Identifier: MIT */
/* The pages of the table of runtimes: one process with its numbers and its last spans, and the help. */
#include <string.h>

#include "base/text.h"
#include "base/width.h"
#include "live/gc.h"
#include "live/top_priv.h"

static const unsigned bar_widths[] = { 60, 30, 20, 15, 12, 10, 6 };

/* Begins a line with its label. */
static void begin_line(const char *name, struct buf *out)
{
	buf_reset(out);
	buf_add_cell(out, name, strlen(name), 13, false, false);
	buf_addc(out, ' ');
}

static void format_process(const struct top *t, const struct top_row *row, struct buf *out)
{
	char text[32];

	buf_reset(out);
	top_style(t, STYLE_BOLD, out);
	buf_addf(out, "%u ", row->pid);
	buf_add_escaped(out, row->comm, strnlen(row->comm, sizeof(row->comm)));
	top_style(t, STYLE_PLAIN, out);
	buf_adds(out, ", ");
	buf_add_escaped(out, row->runtime, strlen(row->runtime));
	buf_addf(out, ", watched for %s", human_ns(t->now_ns > row->seen_ns ? t->now_ns - row->seen_ns : 0, text));
	if (row->gone_ns)
		buf_adds(out, ", ended");
	if (t->paused)
		buf_adds(out, ", paused (p: continue)");
}

static void add_stops(const struct top *t, const struct top_row *row, struct top_screen *s, unsigned *y,
		      struct buf *text)
{
	const struct rate *r = top_rate(t, row);
	const struct rate_view *v = &row->view;
	char a[32], b[32], c[32];

	begin_line("stopped", text);
	top_share_text(v, v->share, text);
	buf_adds(text, " of the last 10 s, ");
	top_share_text(v, v->total_share, text);
	buf_addf(text, " since the start, %s in total", human_ns(v->stopped_ns, a));
	top_put(t, s, (*y)++, text);
	begin_line("longest stop", text);
	if (r->longest_ns) {
		buf_addf(text, "%s, ", human_ns(r->longest_ns, a));
		buf_add_escaped(text, r->longest_label, strlen(r->longest_label));
		if (r->longest_cause[0]) {
			buf_adds(text, ", ");
			buf_add_escaped(text, r->longest_cause, strlen(r->longest_cause));
		}
		buf_addf(text, ", %s ago; in the last minute %s",
			 human_ns(t->now_ns > r->longest_begin_ns ? t->now_ns - r->longest_begin_ns : 0, b),
			 v->minute_longest_ns ? human_ns(v->minute_longest_ns, c) : "none");
	} else {
		buf_adds(text, "none yet");
	}
	top_put(t, s, (*y)++, text);
	begin_line("stops", text);
	buf_addf(text, "median %s, 90 %% below %s, 99 %% below %s", human_ns(rate_quantile(r, 0.5), a),
		 human_ns(rate_quantile(r, 0.9), b), human_ns(rate_quantile(r, 0.99), c));
	if (r->nlengths)
		top_put(t, s, (*y)++, text);
}

/* All kinds except collections, which have their own line. */
static void add_kinds(const struct top *t, const struct top_row *row, struct top_screen *s, unsigned *y,
		      struct buf *text)
{
	char a[32], b[32], c[32];

	for (unsigned i = 0; i < row->nkinds; i++) {
		const struct top_kind *k = &row->kind[i];

		if (!strcmp(k->kind, "gc"))
			continue;
		begin_line(k->kind, text);
		buf_addf(text, "%s, %s in total, longest %s", human_count(k->count, a), human_ns(k->total_ns, b),
			 human_ns(k->longest_ns, c));
		top_put(t, s, (*y)++, text);
	}
}

static void add_numbers(const struct top *t, const struct top_row *row, struct top_screen *s, unsigned *y,
			struct buf *text)
{
	const struct rate_view *v = &row->view;
	char number[32];

	begin_line(t->o.kind && !strcmp(t->o.kind, "gc") ? "collections" : "spans", text);
	buf_addf(text, "%s, %.1f per second", human_count(v->count, number), v->per_second);
	top_put(t, s, (*y)++, text);
	add_stops(t, row, s, y, text);
	if (v->has_allocation) {
		begin_line("allocates", text);
		buf_addf(text, "%s per second", human_bytes((uint64_t)v->allocation, number));
		top_put(t, s, (*y)++, text);
	}
	add_kinds(t, row, s, y, text);
}

static void add_minute(const struct top *t, const struct top_row *row, struct top_screen *s, unsigned *y,
		       struct buf *text)
{
	struct rate_view v;
	unsigned i = 0;

	while (i + 1 < sizeof(bar_widths) / sizeof(*bar_widths) && bar_widths[i] + 14 > s->width)
		i++;
	rate_view(top_rate(t, row), t->paused ? t->paused_ns : t->now_ns, bar_widths[i], &v);
	begin_line("last minute", text);
	top_bar(&v, text);
	top_put(t, s, (*y)++, text);
}

/* How many bytes of @s fit on a line of @width columns, in whole words where it has spaces. */
static size_t words_that_fit(const char *s, size_t len, size_t width)
{
	size_t used, n = text_fit(s, len, width ? width : 1, &used), end = n;

	if (n == len)
		return n;
	while (end && s[end] != ' ')
		end--;
	return end ? end : n ? n : len;
}

/* What cannot be observed of the process, on at most @most lines. */
static void add_row_hints(const struct top *t, const struct top_row *row, struct top_screen *s, unsigned *y,
			  unsigned most, struct buf *text)
{
	const char *p = row->hints.data ? row->hints.data : "";
	bool begins = true;

	for (; *p && most; most--) {
		size_t len = strcspn(p, "\n"), n = words_that_fit(p, len, s->width > 14 ? s->width - 14 : 1);

		begin_line(begins ? "to know" : "", text);
		buf_add(text, p, n);
		top_put(t, s, (*y)++, text);
		begins = n == len;
		p += n + (p[n] == ' ' || begins);
	}
}

/* The newest line first. */
static void add_lines(struct top *t, const struct top_row *row, struct top_screen *s, unsigned y, struct buf *text)
{
	uint64_t kept = row->nlines < TOP_LINES ? row->nlines : TOP_LINES;
	struct live_gc_options lo = { .start_ns = t->o.start_ns };
	unsigned end = s->height >= 6 ? s->height - 1 : s->height;
	size_t columns = live_gc_columns(s->width);
	struct buf titles = { 0 };

	if (y >= end)
		return;
	live_gc_header(&lo, &titles);
	buf_reset(text);
	top_cut(titles.data ? titles.data : "", titles.len ? titles.len - 1 : 0, columns, text);
	buf_done(&titles);
	top_put(t, s, y++, text);
	t->page_rows = end > y ? end - y : 1;
	if (t->scroll + t->page_rows > kept)
		t->scroll = kept > t->page_rows ? kept - t->page_rows : 0;
	for (uint64_t i = t->scroll; i < kept && y < end; i++) {
		const char *line = row->line[(row->nlines - 1 - i) % TOP_LINES];

		buf_reset(text);
		top_cut(line, strlen(line), columns, text);
		top_put(t, s, y++, text);
	}
	if (!kept) {
		buf_reset(text);
		buf_adds(text, "no events yet");
		top_put(t, s, y, text);
	}
}

void top_draw_process(struct top *t, struct top_screen *s)
{
	const struct top_row *row = top_opened(t);
	struct buf text = { 0 };
	unsigned y = 0;

	format_process(t, row, &text);
	top_put(t, s, y++, &text);
	/* On a screen of a few lines the newest collections matter more. */
	if (s->height >= 14) {
		add_numbers(t, row, s, &y, &text);
		add_minute(t, row, s, &y, &text);
		add_row_hints(t, row, s, &y, s->height / 4, &text);
		y++;
	} else if (s->height >= 8) {
		add_minute(t, row, s, &y, &text);
	}
	add_lines(t, row, s, y, &text);
	buf_done(&text);
}

void top_draw_help(struct top *t, struct top_screen *s)
{
	static const char *const help[] = {
		"arrows, j k     select; PgUp PgDn g G: page, first, last",
		"Enter           open a process: its totals and its last collections",
		"q, Esc          back; from the table: quit",
		"c t l a         sort by collections, time stopped, longest stop, allocation",
		"s, r            sort by the next column; reverse the order",
		"/               filter by a string; Esc: show all",
		"p               pause; again: continue",
		"Ctrl-L          redraw the screen",
		"",
		"GC/S, STOPPED   in the last ten seconds; ≤: duration of collections,",
		"                where stopped time was not measured",
		"LONGEST         longest stop since the start",
		"ALLOC/S         allocation rate, if the runtime reports the heap size",
		"MINUTE          share of time stopped: ▁ under 0.5 %, ▂ 0.5 %, ▃ 1 %, ▄ 2 %,",
		"                ▅ 5 %, ▆ 10 %, ▇ 25 %, █ 50 % and more; · none",
		"",
		"Press any key to go back.",
	};
	struct buf text = { 0 };

	for (unsigned i = 0; i < sizeof(help) / sizeof(*help); i++) {
		buf_reset(&text);
		buf_adds(&text, help[i]);
		top_put(t, s, i, &text);
	}
	buf_done(&text);
}

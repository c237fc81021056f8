/* SPDX-License-Identifier: MIT */
/* The parts of the full-screen table. Internal to src/live. */
#ifndef UT_LIVE_TOP_PRIV_H
#define UT_LIVE_TOP_PRIV_H

#include "base/vec.h"
#include "live/top.h"
#include "model/rate.h"

#define TOP_LINES 200 /* of each process */
#define TOP_KINDS 16 /* of each process: all there are, RUNTIME_KINDS and signal */

struct top_kind {
	const char *kind;
	uint64_t count, total_ns, longest_ns;
};

struct top_row {
	uint64_t serial;
	uint32_t pid;
	char comm[16], runtime[64]; /* name and version */
	uint64_t seen_ns, gone_ns; /* gone_ns 0: still running */
	bool replaced; /* a newer row has its PID */
	struct buf hints; /* one per line, escaped */
	struct rate rate, *frozen; /* frozen: a copy, while the table is paused */
	struct rate_view view;
	struct top_kind kind[TOP_KINDS];
	unsigned nkinds;
	char *line[TOP_LINES]; /* by number modulo TOP_LINES; owned */
	uint64_t nlines;
};

enum top_column {
	COLUMN_PID,
	COLUMN_COMMAND,
	COLUMN_RUNTIME,
	COLUMN_RATE,
	COLUMN_SHARE,
	COLUMN_LONGEST,
	COLUMN_ALLOCATION,
	COLUMN_MINUTE,
	COLUMNS,
};

enum top_page { PAGE_TABLE, PAGE_PROCESS, PAGE_HELP };

struct top {
	struct top_options o;
	VEC(struct top_row *) rows; /* owned; in the order they came */
	VEC(struct top_row *) shown; /* rows that match the filter, sorted */
	struct top_row *last; /* the row of the newest span */
	uint64_t serial, selected; /* selected: a serial; 0: the first row */
	size_t first; /* shown at the top of the table */
	unsigned page_rows; /* rows that fit when the page was drawn last */
	enum top_page page, behind_help;
	uint64_t scroll; /* lines of the open process above the screen */
	enum top_column sort;
	bool reverse, paused, typing;
	char filter[64];
	size_t filter_len;
	uint64_t now_ns, paused_ns, lost;
	char note[240];
	uint64_t note_until_ns;
};

/* The numbers of all rows as of now, which rows are shown, and in which order. @nbar: columns of the bar. */
int top_refresh(struct top *t, uint64_t now_ns, unsigned nbar);
/* After another sorting or filter. */
int top_arrange(struct top *t);
const struct rate *top_rate(const struct top *t, const struct top_row *row);
/* The index of the selected row in shown. */
size_t top_selected(const struct top *t);
struct top_row *top_opened(struct top *t);

/* Widths of the columns on a line of @width columns; 0: left out. */
void top_layout(unsigned width, unsigned ret[COLUMNS]);

enum top_style { STYLE_PLAIN, STYLE_BOLD, STYLE_REVERSE, STYLE_DIM, STYLE_YELLOW, STYLE_RED };
void top_style(const struct top *t, enum top_style style, struct buf *out);
enum top_style top_style_of_stop(uint64_t ns);
enum top_style top_style_of_share(double share);
void top_share_text(const struct rate_view *v, double share, struct buf *out);
void top_bar(const struct rate_view *v, struct buf *out);
/* Sets one line of a page; ignores lines outside the screen. */
void top_put(const struct top *t, struct top_screen *s, unsigned y, const struct buf *text);
/* Appends the text truncated to @width columns; escape sequences have none. Returns the columns. */
size_t top_cut(const char *text, size_t len, size_t width, struct buf *out);
void top_ascii(struct buf *b);

void top_draw_process(struct top *t, struct top_screen *s);
void top_draw_help(struct top *t, struct top_screen *s);

#endif

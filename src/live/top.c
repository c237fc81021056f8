/* SPDX-License-Identifier: MIT */
/* The data of the table of runtimes: its rows, which of them are shown, and in which order. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "live/gc_priv.h"
#include "live/top_priv.h"

#define NOTE_NS 8000000000u

struct top *top_new(const struct top_options *o)
{
	struct top *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->o = *o;
	t->now_ns = o->start_ns;
	t->sort = COLUMN_SHARE;
	t->page_rows = 1;
	return t;
}

static void row_free(struct top_row *row)
{
	for (size_t i = 0; i < TOP_LINES; i++)
		free(row->line[i]);
	free(row->frozen);
	buf_done(&row->hints);
	free(row);
}

struct top *top_free(struct top *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->rows.n; i++)
		row_free(t->rows.v[i]);
	vec_done(&t->rows);
	vec_done(&t->shown);
	free(t);
	return NULL;
}

/* The live row of a PID. A reused PID and a program after exec have a new row. */
static struct top_row *find_row(struct top *t, uint32_t pid)
{
	if (t->last && t->last->pid == pid && !t->last->gone_ns)
		return t->last;
	for (size_t i = t->rows.n; i-- > 0;)
		if (t->rows.v[i]->pid == pid && !t->rows.v[i]->gone_ns)
			return t->last = t->rows.v[i];
	return NULL;
}

void top_gone(struct top *t, uint32_t pid, uint64_t time_ns)
{
	struct top_row *row = find_row(t, pid);

	if (row)
		row->gone_ns = time_ns ? time_ns : 1;
}

int top_process(struct top *t, const struct top_who *who)
{
	struct top_row *row = calloc(1, sizeof(*row));

	if (!row || vec_push(&t->rows, row)) {
		free(row);
		return -ENOMEM;
	}
	t->rows.n--;
	top_gone(t, who->pid, who->seen_ns);
	for (size_t i = 0; i < t->rows.n; i++)
		t->rows.v[i]->replaced |= t->rows.v[i]->pid == who->pid;
	t->rows.n++;
	row->serial = ++t->serial;
	row->pid = who->pid;
	memcpy(row->comm, who->comm, sizeof(row->comm));
	snprintf(row->runtime, sizeof(row->runtime), "%s%s%s", who->runtime ? who->runtime : "-",
		 who->version && who->version[0] ? " " : "", who->version ? who->version : "");
	row->seen_ns = who->seen_ns;
	for (size_t i = 0; i < who->nhints; i++) {
		buf_add_escaped(&row->hints, who->hints[i], strlen(who->hints[i]));
		buf_addc(&row->hints, '\n');
	}
	rate_init(&row->rate, who->seen_ns, t->o.kind);
	return 0;
}

static int append_span_line(struct top *t, struct top_row *row, const struct collect_span *span)
{
	struct live_gc_options lo = { .color = t->o.styled && t->o.color, .start_ns = t->o.start_ns };
	char **line = &row->line[row->nlines % TOP_LINES];
	struct buf text = { 0 };

	if (t->paused)
		return 0;
	live_gc_line(&lo, span, &text);
	if (text.len)
		text.data[--text.len] = '\0'; /* the end of the line */
	free(*line);
	*line = buf_take(&text);
	if (!*line)
		return -ENOMEM;
	row->nlines++;
	return 0;
}

static void count_kind(struct top_row *row, const struct collect_span *span)
{
	uint64_t ns = gc_duration_ns(span);
	struct top_kind *k = NULL;

	for (unsigned i = 0; i < row->nkinds && !k; i++)
		if (!strcmp(row->kind[i].kind, span->def->kind))
			k = &row->kind[i];
	if (!k && row->nkinds < TOP_KINDS) {
		k = &row->kind[row->nkinds++];
		k->kind = span->def->kind;
	}
	if (!k || span_has_no_length(span->end))
		return;
	k->count++;
	k->total_ns += ns;
	if (span->end == SPAN_COMPLETE && ns > k->longest_ns)
		k->longest_ns = ns;
}

int top_span(struct top *t, const struct collect_span *span)
{
	struct top_row *row = find_row(t, span->pid);

	if (!row)
		return 0;
	rate_add(&row->rate, span);
	count_kind(row, span);
	return append_span_line(t, row, span);
}

void top_lost(struct top *t, uint64_t n) { t->lost += n; }

void top_note(struct top *t, const char *text, uint64_t now_ns)
{
	struct buf safe = { 0 };

	buf_add_escaped(&safe, text, strlen(text));
	snprintf(t->note, sizeof(t->note), "%s", safe.data ? safe.data : "");
	buf_done(&safe);
	t->note_until_ns = now_ns + NOTE_NS;
}

const struct rate *top_rate(const struct top *t, const struct top_row *row)
{
	return t->paused && row->frozen ? row->frozen : &row->rate;
}

struct top_row *top_opened(struct top *t)
{
	for (size_t i = 0; t->page != PAGE_TABLE && i < t->rows.n; i++)
		if (t->rows.v[i]->serial == t->selected)
			return t->rows.v[i];
	return NULL;
}

size_t top_selected(const struct top *t)
{
	for (size_t i = 0; i < t->shown.n; i++)
		if (t->shown.v[i]->serial == t->selected)
			return i;
	return 0;
}

/* Removes rows of processes that ended long ago, except the opened one and what a paused table shows. */
static void drop_ended(struct top *t, uint64_t now_ns)
{
	const struct top_row *opened = top_opened(t);
	size_t n = 0;

	for (size_t i = 0; i < t->rows.n; i++) {
		struct top_row *row = t->rows.v[i];
		bool faded = row->gone_ns && now_ns > row->gone_ns && now_ns - row->gone_ns >= TOP_FADE_NS;

		if (row == opened || !faded || (t->paused && row->frozen)) {
			t->rows.v[n++] = row;
			continue;
		}
		if (t->last == row)
			t->last = NULL;
		row_free(row);
	}
	t->rows.n = n;
	t->shown.n = 0;
}

static bool is_shown(const struct top *t, const struct top_row *row)
{
	char text[128];

	if (t->paused ? !row->frozen : row->replaced)
		return false;
	snprintf(text, sizeof(text), "%u %.16s %s", row->pid, row->comm, row->runtime);
	return !t->filter_len || strcasestr(text, t->filter);
}

static int compare_number(double a, double b) { return a < b ? -1 : a > b; }

/* Names ascending, numbers descending. */
static int compare_by_column(enum top_column by, const struct top_row *a, const struct top_row *b)
{
	switch (by) {
	case COLUMN_COMMAND: return strncasecmp(a->comm, b->comm, sizeof(a->comm));
	case COLUMN_RUNTIME: return strcasecmp(a->runtime, b->runtime);
	case COLUMN_RATE: return compare_number(b->view.per_second, a->view.per_second);
	case COLUMN_SHARE: return compare_number(b->view.share, a->view.share);
	case COLUMN_LONGEST: return compare_number((double)b->view.longest_ns, (double)a->view.longest_ns);
	case COLUMN_ALLOCATION:
		return compare_number(b->view.has_allocation ? b->view.allocation : -1,
				      a->view.has_allocation ? a->view.allocation : -1);
	default: return compare_number(a->pid, b->pid);
	}
}

static int compare_top_rows(const void *a, const void *b, void *ctx)
{
	const struct top_row *x = *(struct top_row *const *)a, *y = *(struct top_row *const *)b;
	const struct top *t = ctx;
	int c = compare_by_column(t->sort, x, y);

	if (t->reverse)
		c = -c;
	if (!c)
		c = compare_number(x->pid, y->pid);
	return c ? c : compare_number((double)x->serial, (double)y->serial);
}

int top_arrange(struct top *t)
{
	t->shown.n = 0;
	for (size_t i = 0; i < t->rows.n; i++)
		if (is_shown(t, t->rows.v[i]) && vec_push(&t->shown, t->rows.v[i]))
			return -ENOMEM;
	if (t->shown.n)
		qsort_r(t->shown.v, t->shown.n, sizeof(*t->shown.v), compare_top_rows, t);
	return 0;
}

int top_refresh(struct top *t, uint64_t now_ns, unsigned nbar)
{
	t->now_ns = now_ns;
	drop_ended(t, now_ns);
	for (size_t i = 0; i < t->rows.n; i++) {
		struct top_row *row = t->rows.v[i];

		rate_view(top_rate(t, row), t->paused ? t->paused_ns : now_ns, nbar, &row->view);
	}
	return top_arrange(t);
}

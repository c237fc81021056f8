/* SPDX-License-Identifier: MIT */
/* Prints the summary as text: a table of spans, the costs, the MMU, a histogram of stops, and what is missing. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/width.h"
#include "report/gc_priv.h"

enum {
	WIDTH_WHAT = 14,
	WIDTH_COUNT = 6,
	WIDTH_SHARE = 7,
	WIDTH_TIME = 7,
	WIDTH_AT = 7,
	WIDTH_CAUSE = 14, /* 100 columns in all; the sentence and the JSON have the whole cause */
	WIDTH_FACT = 10,
	WIDTH_BAR = 40,
	LABELS_SHOWN = 12,
};

static void add_number(struct buf *out, const char *text, size_t columns)
{
	buf_addc(out, ' ');
	buf_add_number_cell(out, text, columns);
}

static void add_time(struct buf *out, uint64_t ns)
{
	char text[32];

	add_number(out, human_ns(ns, text), WIDTH_TIME);
}

/* --- the table --- */

static void add_longest_cells(const struct gcstat_report *r, const struct gcstat_row *row, struct buf *out)
{
	const struct gcstat_longest *l = &row->longest;
	uint64_t since_ns = l->begin_ns > r->start_ns ? l->begin_ns - r->start_ns : 0;
	struct buf cause = { 0 };
	size_t columns;
	char at[32];

	add_time(out, l->ns);
	if (since_ns < 1000000000)
		human_ns(since_ns, at);
	else /* to find it among the printed spans */
		snprintf(at, sizeof(at), "%.2f s", (double)since_ns / 1e9);
	add_number(out, at, WIDTH_AT);
	gc_add_escaped(&cause, l->cause);
	columns = text_width(cause.data ? cause.data : "", cause.len);
	if (columns)
		buf_addc(out, ' ');
	buf_add_cell(out, cause.data ? cause.data : "", cause.len, columns < WIDTH_CAUSE ? columns : WIDTH_CAUSE, false,
		     false);
	buf_done(&cause);
}

/* @label: the only label of a kind, which the row of the kind then shows. */
static void add_span_row(const struct gcstat_report *r, const struct gcstat_row *row, const char *label,
			 struct buf *out)
{
	const char *name = row->label ? row->label : label && strcmp(label, row->kind) ? label : NULL;
	const uint64_t times[] = { row->median_ns, row->p90_ns, row->p99_ns, row->p999_ns };
	struct buf what = { 0 };
	char text[32];
	size_t head;

	gc_add_escaped(&what, row->label ? " " : row->kind);
	buf_adds(&what, name ? " " : "");
	head = what.len;
	gc_add_escaped(&what, name ? name : "");
	buf_add_path_cell(out, what.data ? what.data : "", what.len, head, WIDTH_WHAT);
	buf_done(&what);
	add_number(out, human_count(row->count, text), WIDTH_COUNT);
	if (row->count) {
		add_time(out, row->total_ns);
		add_number(out, gc_percent((double)row->covered_ns, (double)gc_wall_ns(r), text), WIDTH_SHARE);
		for (size_t i = 0; i < ARRAY_SIZE(times); i++)
			add_time(out, times[i]);
		add_longest_cells(r, row, out);
	}
	buf_addc(out, '\n');
}

/* The row of a kind and the rows of its @nlabels labels. Labels without a complete span are mentioned below the table. */
static void add_kind(const struct gcstat_report *r, size_t at, size_t nlabels, struct buf *out)
{
	char n[32];

	while (nlabels && !r->rows[at + nlabels].count)
		nlabels--;
	add_span_row(r, &r->rows[at], nlabels == 1 ? r->rows[at + 1].label : NULL, out);
	if (nlabels < 2)
		return;
	for (size_t i = 0; i < nlabels && i < LABELS_SHOWN; i++)
		add_span_row(r, &r->rows[at + 1 + i], NULL, out);
	if (nlabels > LABELS_SHOWN)
		buf_addf(out, "  (%s more)\n", human_count(nlabels - LABELS_SHOWN, n));
}

static void add_table(const struct gcstat_report *r, struct buf *out)
{
	static const char *const times[] = { "MEDIAN", "90 %", "99 %", "99.9 %", "LONGEST" };

	if (!r->nrows)
		return;
	buf_addc(out, '\n');
	buf_add_cell(out, "WHAT", 4, WIDTH_WHAT, false, false);
	add_number(out, "COUNT", WIDTH_COUNT);
	add_number(out, "TOTAL", WIDTH_TIME);
	add_number(out, "SHARE", WIDTH_SHARE);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		add_number(out, times[i], WIDTH_TIME);
	add_number(out, "AT", WIDTH_AT);
	buf_adds(out, " CAUSE\n");
	for (size_t i = 0, nlabels; i < r->nrows; i += 1 + nlabels) {
		for (nlabels = 0; i + nlabels + 1 < r->nrows && r->rows[i + nlabels + 1].label;)
			nlabels++;
		add_kind(r, i, nlabels, out);
	}
}

/* --- one line for each fact --- */

static void add_fact(struct buf *out, const char *name)
{
	buf_add_cell(out, name, strlen(name), WIDTH_FACT, false, false);
}

/* The duration of the pauses only where it differs from the time stopped. */
static void add_stopped(const struct gcstat_report *r, struct buf *out)
{
	char n[32], stopped[32], took[32];

	if (!r->stops)
		return;
	human_ns(r->measured ? r->stopped_ns : r->pause_ns, stopped);
	human_ns(r->pause_ns, took);
	add_fact(out, r->measured ? "stopped" : "paused");
	buf_addf(out, "%s in %s %s", stopped, human_count(r->stops, n),
		 r->measured ? plural(r->stops, "stop") : plural(r->stops, "pause"));
	if (strcmp(stopped, took) != 0)
		buf_addf(out, ", in pauses of %s", took);
	buf_addc(out, '\n');
}

/* CPU time of the collector and of the program meanwhile, and how long threads waited. */
static void add_cost(const struct gcstat_report *r, const struct gcstat_row *row, struct buf *out)
{
	char text[32];

	if (!row->stopped_count)
		return;
	if (row->stops && row->waited_ns) {
		add_fact(out, "waited");
		buf_adds(out, "threads of the program for ");
		gc_add_ns(out, row->waited_ns);
		buf_adds(out, " in total\n");
	}
	add_fact(out, "collector");
	gc_add_ns(out, row->collector_ns);
	buf_addf(out, " of CPU time (%s of one CPU); the program's threads ran for ",
		 gc_percent((double)row->collector_ns, (double)gc_wall_ns(r), text));
	gc_add_ns(out, row->program_ns);
	buf_adds(out, " meanwhile\n");
	if (!row->held_ns)
		return;
	add_fact(out, "held");
	gc_add_ns(out, row->held_ns);
	buf_adds(out, " by a signal or a debugger (not included in stopped time)\n");
}

/* "6.1 sweeps to each gc". */
static void add_parts(const struct gcstat_report *r, struct buf *out)
{
	for (size_t i = 0; i < r->nrows; i++) {
		const struct gcstat_row *row = &r->rows[i];

		if (!row->label || !row->part_of || !row->part_of_count || !row->count)
			continue;
		if (!strcmp(row->part_of, row->kind)) /* the count of the whole would include its parts */
			continue;
		add_fact(out, "parts");
		buf_addf(out, "%.1f ", (double)row->count / (double)row->part_of_count);
		gc_add_escaped(out, row->label);
		buf_adds(out, "s to each ");
		gc_add_escaped(out, row->part_of);
		buf_addc(out, '\n');
	}
}

/* The row of the kind whose cost is shown; NULL: none. */
static const struct gcstat_row *cost_row(const struct gcstat_report *r)
{
	static const char *const kinds[] = { "gc", "gc-phase", "safepoint" };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < r->nrows; i++)
			if (!r->rows[i].label && !strcmp(r->rows[i].kind, kinds[k])) {
				if (r->rows[i].count)
					return &r->rows[i];
				break;
			}
	return NULL;
}

static void add_facts(const struct gcstat_report *r, struct buf *out)
{
	const struct gcstat_row *row = cost_row(r);
	char text[32];
	size_t before;

	buf_addc(out, '\n');
	before = out->len;
	add_stopped(r, out);
	if (row)
		add_cost(r, row, out);
	if (row && row->has_freed) {
		add_fact(out, "freed");
		buf_addf(out, "%s\n", human_bytes(row->freed, text));
	}
	add_parts(r, out);
	if (out->len == before && out->len) /* there are none */
		out->data[--out->len] = '\0';
}

/* --- MMU and histogram --- */

static void add_utilization_lines(const struct gcstat_report *r, struct buf *out)
{
	char text[32];

	if (!r->stops || r->utilisation[0] < 0)
		return;
	buf_adds(out, "\nminimum mutator utilization\n");
	for (size_t i = 0; i < GCSTAT_WINDOWS && r->utilisation[i] >= 0; i++) {
		/* a minimum is rounded down */
		add_number(out, gc_percent((double)(uint64_t)(r->utilisation[i] * 1000), 1000, text), WIDTH_TIME);
		buf_adds(out, " over ");
		gc_add_ns(out, r->window_ns[i]);
		buf_addc(out, '\n');
	}
	if (r->joined_stops)
		buf_adds(out, "  (lower bounds: there were too many stops to keep)\n");
}

static void add_histogram_bars(const struct gcstat_report *r, struct buf *out)
{
	size_t first = 0, last = GCSTAT_BUCKETS - 1;
	uint64_t most = 0;
	char text[32];

	if (!r->stops)
		return;
	while (first < last && !r->histogram[first])
		first++;
	while (last > first && !r->histogram[last])
		last--;
	for (size_t i = first; i <= last; i++)
		most = r->histogram[i] > most ? r->histogram[i] : most;
	buf_adds(out, r->measured ? "\nstops by duration\n" : "\npauses by duration\n");
	for (size_t i = first; i <= last && most; i++) {
		uint64_t n = r->histogram[i];
		size_t bar = (size_t)((double)n / (double)most * WIDTH_BAR + 0.5);

		add_time(out, i ? UINT64_C(1000) << i : 0);
		buf_adds(out, " to");
		add_time(out, UINT64_C(2000) << i);
		add_number(out, human_count(n, text), WIDTH_COUNT);
		if (n) {
			buf_adds(out, "  ");
			buf_fill(out, '#', bar ? bar : 1);
		}
		buf_addc(out, '\n');
	}
}

/* --- what is missing --- */

static void add_missing(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	const struct {
		uint64_t n;
		const char *one, *more; /* more NULL: as one */
	} parts[] = {
		{ r->ends[SPAN_BEFORE_ATTACH], "began before tracing: not counted", NULL },
		{ r->ends[SPAN_OPEN], "still open when tracing stopped: not counted", NULL },
		{ r->ends[SPAN_PROCESS_EXITED] + r->ends[SPAN_EXEC] + r->ends[SPAN_THREAD_EXITED],
		  "ended by the exit of its thread or process: not counted",
		  "ended by the exit of their threads or processes: not counted" },
		{ r->ends[SPAN_INHERITED], "began in the parent before a fork: not counted", NULL },
		{ r->ends[SPAN_LOST] + r->ends[SPAN_EVICTED] + r->ends[SPAN_ORPHAN],
		  "incomplete (events were lost, or too many spans were open): not counted", NULL },
		{ r->lost_inside, "may be shorter than reported: events were lost meanwhile", NULL },
		{ r->measured ? r->unmeasured : 0, "was not measured: its whole duration counts as stopped",
		  "were not measured: their whole durations count as stopped" },
	};
	bool kinds = false; /* more than one */
	char text[32];

	for (size_t i = 1; i < r->nrows; i++)
		kinds |= !r->rows[i].label;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		uint64_t n = parts[i].n;

		if (!n)
			continue;
		buf_addf(out, "%s ", human_count(n, text));
		gc_noun(kinds || !r->nrows ? "span" : r->rows[0].kind, n, out);
		buf_addf(out, " %s\n", n == 1 || !parts[i].more ? parts[i].one : parts[i].more);
	}
	if (who->lost)
		buf_addf(out, "%s %s lost, so the numbers may be too low; use a larger --buffer\n",
			 human_count(who->lost, text), who->lost == 1 ? "event was" : "events were");
}

static void add_notes(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	struct buf notes = { 0 };

	add_missing(r, who, &notes);
	for (size_t i = 0; i < who->nhints; i++) {
		gc_add_escaped(&notes, who->hints[i]);
		buf_addc(&notes, '\n');
	}
	if (notes.len) {
		buf_addc(out, '\n');
		buf_add(out, notes.data, notes.len);
	}
	out->failed |= notes.failed;
	buf_done(&notes);
}

/* --- all --- */

void report_gc_text(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	time_t second = (time_t)(who->wall_start_ns / 1000000000u);
	const char *version = who->version ? who->version : "";
	char text[16];
	struct tm tm;

	gc_add_escaped(out, who->comm ? who->comm : "");
	buf_addf(out, "%s%u", who->comm && *who->comm ? " " : "", who->pid);
	if (who->runtime) {
		buf_adds(out, " (");
		gc_add_escaped(out, who->runtime);
		buf_adds(out, *version ? " " : "");
		gc_add_escaped(out, version);
		buf_addc(out, ')');
	}
	buf_adds(out, ": ");
	report_gc_sentence(r, who, out);
	buf_adds(out, "\nwatched for ");
	gc_add_ns(out, gc_wall_ns(r));
	if (who->wall_start_ns && localtime_r(&second, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		buf_addf(out, " from %s on", text);
	buf_adds(out, who->ended ? ", until it exited\n" : "\n");
	add_table(r, out);
	add_facts(r, out);
	add_utilization_lines(r, out);
	add_histogram_bars(r, out);
	add_notes(r, who, out);
}

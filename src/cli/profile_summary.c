/* SPDX-License-Identifier: MIT */
/* The progress and the summary of a profile on standard error. */
#include "cli/profile_summary.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/running.h"

#define REASONS 4 /* most that are printed */

void profile_clear_progress(struct profile_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}

static void on_started(void *ctx)
{
	(void)ctx;
	fputs("usertrace: sampling\n", stderr);
}

static void on_progress(void *ctx, uint64_t elapsed_ns, uint64_t samples, uint64_t lost)
{
	struct profile_progress *progress = ctx;
	char a[32], b[32];

	if (!progress->wanted)
		return;
	fprintf(stderr, "\r\033[Kusertrace: %.0f s, %s samples, %s lost", (double)elapsed_ns / 1e9,
		human_count(samples, a), human_count(lost, b));
	fflush(stderr);
	progress->shown = true;
}

static void on_profile_note(void *ctx, const char *text)
{
	profile_clear_progress(ctx);
	print_note(NULL, text);
}

struct profile_record_sink profile_summary_sink(struct profile_progress *progress)
{
	return (struct profile_record_sink){
		.ctx = progress, .started = on_started, .progress = on_progress, .note = on_profile_note
	};
}

static void print_sample_counts(const struct profile_record *record, const struct profile_totals *t)
{
	char a[32], b[32], c[32];

	fprintf(stderr, "usertrace: %s %s in %s, %s lost", human_count(t->samples, a), plural(t->samples, "sample"),
		human_ns(t->duration_ns, b), human_count(t->lost, c));
	if (record->totals.busy)
		fprintf(stderr, ", %s without user frames because another sample was being taken",
			human_count(record->totals.busy, a));
	if (record->totals.lost)
		fputs("; use a larger --buffer or a lower -F", stderr);
	fputs("\n", stderr);
	print_lost_lifecycle(record->totals.lost_lifecycle, ", so names may be missing");
}

/* Escaped: reasons contain names of files, which may be anything. */
static void print_share(uint64_t part, uint64_t whole, const char *what, const struct samples_reason *v, size_t n)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	struct buf text = { 0 };
	char number[32];

	buf_adds(&text, "usertrace: ");
	if (!part)
		buf_adds(&text, "none of ");
	else if (percent < 0.01)
		buf_adds(&text, "under 0.01 % of ");
	else
		buf_addf(&text, "%.2f %% of ", percent);
	buf_addf(&text, "%s %s", human_count(whole, number), what);
	for (size_t i = 0; i < n && i < REASONS; i++)
		buf_addf(&text, "%s %s %s", i ? "," : ":", human_count(v[i].count, number), v[i].text);
	if (n > REASONS)
		buf_addf(&text, ", and %zu more %s", n - REASONS, plural(n - REASONS, "reason"));
	cli_print_sentence(text.data ? text.data : "usertrace: out of memory");
	buf_done(&text);
}

void profile_print_totals(const struct profile_record *record, const struct profile *p)
{
	const struct profile_totals *t = &p->totals;
	const struct samples_reason *v;
	char bytes[32];
	size_t n;

	print_sample_counts(record, t);
	if (!t->samples)
		return;
	n = samples_cuts(record->samples, &v);
	print_share(t->cut, t->samples, "stacks are incomplete", v, n);
	n = samples_unnamed(record->samples, &v);
	print_share(t->unnamed, t->frames, "frames have no name", v, n);
	if (record->table_files)
		fprintf(stderr, "usertrace: unwind tables of %zu %s, %s\n", record->table_files,
			plural(record->table_files, "file"), human_bytes(record->table_bytes, bytes));
}

void profile_explain_empty(const struct profile_record *record, const struct profile *p)
{
	const struct profile_record_options *o = &record->options;

	if (p->totals.samples)
		return;
	if (o->nprobes)
		fputs("usertrace: no probe fired\n", stderr);
	else if (!o->waits)
		fputs("usertrace: nothing ran; --off-cpu shows waits\n", stderr);
	else
		fputs("usertrace: nothing ran, and no wait ended\n", stderr);
}

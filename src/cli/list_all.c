/* SPDX-License-Identifier: MIT */
/* `usertrace list -a`: a row for each program that runs and each provider of probes in its files. */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/list.h"

#define PIDS_SHOWN 4

static void add_pids(struct buf *out, const struct catalog_row *row)
{
	for (size_t i = 0; i < row->processes.n && i < PIDS_SHOWN; i++) {
		const struct catalog_row_process *p = &row->processes.v[i];

		buf_addf(out, "%s%d", i ? "," : "", p->pid);
		if (p->ns_pid != p->pid)
			buf_addf(out, "/%d", p->ns_pid);
	}
	if (row->processes.n > PIDS_SHOWN)
		buf_addf(out, ",+%zu", row->processes.n - PIDS_SHOWN);
}

enum { PROGRAM, RUNTIME, PROVIDER, PROBES, SITES, PIDS, FILE_COLUMN, COLUMNS };

static void add_cell(struct buf *out, const struct catalog_row *row, int column)
{
	static const char *const titles[] = { "PROGRAM", "RUNTIME", "PROVIDER", "PROBES", "SITES", "PIDS", "FILE" };
	const char *text = NULL;

	if (!row)
		buf_adds(out, titles[column]);
	else if (column == PROBES || column == SITES)
		buf_addu(out, !row->provider ? 0 : column == PROBES ? row->provider->probes : row->provider->sites);
	else if (column == PIDS)
		add_pids(out, row);
	else if (column == PROGRAM)
		text = row->program;
	else if (column == RUNTIME)
		text = row->runtime ? row->runtime->name : "-";
	else if (column == PROVIDER)
		text = row->provider ? row->provider->name : "-";
	else
		text = row->file ? row->file : "-";
	if (text)
		buf_add_escaped(out, text, strlen(text));
}

static size_t cell_width(struct buf *scratch, const struct catalog_row *row, int column)
{
	buf_reset(scratch);
	add_cell(scratch, row, column);
	return scratch->len;
}

/* @row NULL: the titles. */
static void add_text_row(struct buf *out, struct buf *scratch, const struct catalog_row *row, const size_t *widths)
{
	for (int c = 0; c < COLUMNS; c++) {
		size_t width = cell_width(scratch, row, c);
		size_t fill = width < widths[c] ? widths[c] - width : 0;
		bool right = c == PROBES || c == SITES;

		if (right)
			buf_fill(out, ' ', fill);
		add_cell(out, row, c);
		if (!right && c + 1 < COLUMNS)
			buf_fill(out, ' ', fill);
		buf_adds(out, c + 1 < COLUMNS ? "  " : "\n");
	}
}

static void add_text(struct buf *out, const struct catalog_rows *all)
{
	struct buf scratch = { 0 };
	size_t widths[COLUMNS];

	for (int c = 0; c < COLUMNS; c++) {
		widths[c] = cell_width(&scratch, NULL, c);
		for (size_t i = 0; i < all->rows.n; i++) {
			size_t width = cell_width(&scratch, &all->rows.v[i], c);

			if (width > widths[c])
				widths[c] = width;
		}
	}
	add_text_row(out, &scratch, NULL, widths);
	for (size_t i = 0; i < all->rows.n; i++)
		add_text_row(out, &scratch, &all->rows.v[i], widths);
	buf_done(&scratch);
}

static void add_json(struct buf *out, const struct catalog_row *row)
{
	buf_addc(out, '{');
	list_json_member(out, "program", row->program);
	if (row->provider) {
		list_json_member(out, "file", row->file ? row->file : row->program);
		list_json_member(out, "provider", row->provider->name);
		buf_addf(out, ",\"probes\":%zu,\"sites\":%zu,\"guarded\":%zu", row->provider->probes,
			 row->provider->sites, row->provider->guarded);
	} else {
		buf_adds(out, ",\"provider\":null,\"probes\":0,\"sites\":0");
	}
	if (row->runtime)
		list_json_runtime(out, row->runtime, !row->provider);
	buf_adds(out, ",\"processes\":[");
	for (size_t i = 0; i < row->processes.n; i++) {
		buf_adds(out, i ? ",{" : "{");
		list_json_pid(out, row->processes.v[i].pid, row->processes.v[i].ns_pid, row->processes.v[i].comm);
		buf_addc(out, '}');
	}
	buf_adds(out, "]}\n");
}

static void tell_left_out(struct list *list, const struct catalog_rows *all)
{
	bool without = false;

	for (size_t i = 0; i < all->rows.n && !without; i++)
		without = !all->rows.v[i].provider;
	if (without && !list->json)
		list_say(list, EXIT_OK,
			 "a runtime with '-' has no probes; 'usertrace list -p PID' shows what can be traced instead");
	if (all->refused)
		list_say(list, EXIT_OK, "%zu %s omitted: %s", all->refused, all->refused == 1 ? "process" : "processes",
			 geteuid() ? "run as root to see those of other users" : "the kernel denies access to them");
	if (all->unopened)
		list_say(list, EXIT_OK, "%zu %s could not be opened and may contain more", all->unopened,
			 plural(all->unopened, "file"));
	if (all->failed)
		list_say(list, EXIT_FAILED, "out of memory: some rows are missing");
	if (!all->rows.n && !list->catalog.others.v.n)
		list_say(list, EXIT_FAILED, "no accessible process has probes");
}

void list_all(struct list *list)
{
	struct ut_err err = { 0 };
	struct catalog_rows all;

	if (catalog_all(&list->catalog, &all, &err))
		list_say(list, EXIT_FAILED, "%s", err.msg);
	if (all.rows.n && !list->json)
		add_text(&list->out, &all);
	for (size_t i = 0; i < all.rows.n && list->json; i++)
		add_json(&list->out, &all.rows.v[i]);
	list_flush(list);
	tell_left_out(list, &all);
	catalog_rows_done(&all);
}

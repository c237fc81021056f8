/* SPDX-License-Identifier: MIT */
/* `usertrace list -a`: a row for each running program and each provider of probes in its files. */
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

static void add_row_cell(struct buf *out, const struct catalog_row *row, int column)
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
	add_row_cell(scratch, row, column);
	return scratch->len;
}

/* Appends a row, or the titles where @row is NULL. */
static void add_text_row(struct buf *out, struct buf *scratch, const struct catalog_row *row, const size_t *widths)
{
	for (int c = 0; c < COLUMNS; c++) {
		size_t width = cell_width(scratch, row, c);
		size_t fill = width < widths[c] ? widths[c] - width : 0;
		bool right = c == PROBES || c == SITES;

		if (right)
			buf_fill(out, ' ', fill);
		add_row_cell(out, row, c);
		if (!right && c + 1 < COLUMNS)
			buf_fill(out, ' ', fill);
		buf_adds(out, c + 1 < COLUMNS ? "  " : "\n");
	}
}

static void add_table(struct buf *out, const struct catalog_rows *all)
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

static void add_row_json(struct buf *out, const struct catalog_row *row)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", row->provider ? "provider" : "no-probes");
	json_string(&j, "program", row->program);
	if (row->provider) {
		json_string(&j, "file", row->file ? row->file : row->program);
		json_string(&j, "provider", row->provider->name);
		json_u64(&j, "probes", row->provider->probes);
		json_u64(&j, "sites", row->provider->sites);
		json_u64(&j, "semaphores", row->provider->guarded);
	}
	if (row->runtime)
		list_json_runtime(&j, row->runtime, !row->provider);
	json_array(&j, "processes");
	for (size_t i = 0; i < row->processes.n; i++) {
		json_object(&j, NULL);
		list_json_pid(&j, row->processes.v[i].pid, row->processes.v[i].ns_pid, row->processes.v[i].comm);
		json_close(&j);
	}
	json_line(&j);
}

static void report_omitted(struct list *list, const struct catalog_rows *all)
{
	bool without = false;

	for (size_t i = 0; i < all->rows.n && !without; i++)
		without = !all->rows.v[i].provider;
	if (without && !list->json)
		list_report(
			list, EXIT_OK,
			"a runtime with '-' has no probes; 'usertrace list -p PID' shows what can be traced instead");
	if (all->refused)
		list_report(list, EXIT_OK, "%zu %s omitted: %s", all->refused,
			    all->refused == 1 ? "process" : "processes",
			    geteuid() ? "run as root to see those of other users" : "the kernel denies access to them");
	if (all->unopened)
		list_report(list, EXIT_OK, "%zu %s could not be opened and may contain more", all->unopened,
			    plural(all->unopened, "file"));
	if (all->failed)
		list_report(list, EXIT_FAILED, "out of memory: some rows are missing");
	if (!all->rows.n && !list->catalog.others.v.n)
		list_report(list, EXIT_FAILED, "no accessible process has probes");
}

void list_all(struct list *list)
{
	struct ut_err err = { 0 };
	struct catalog_rows all;

	if (catalog_all(&list->catalog, &all, &err))
		list_report(list, EXIT_FAILED, "%s", err.msg);
	if (all.rows.n && !list->json)
		add_table(&list->out, &all);
	for (size_t i = 0; i < all.rows.n && list->json; i++)
		add_row_json(&list->out, &all.rows.v[i]);
	list_flush(list);
	report_omitted(list, &all);
	catalog_rows_done(&all);
}

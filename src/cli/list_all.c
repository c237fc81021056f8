/* SPDX-License-Identifier: MIT */
/* `usertrace list -a`: a row for each program that runs and each provider of probes in its files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/list_seen.h"

#define PIDS_SHOWN 4

struct row_process {
	pid_t pid, ns_pid;
	char comm[16];
};

struct row {
	struct file_id program_id;
	char *program, *file; /* owned; file is NULL when it is the program itself */
	const struct runtime *runtime;
	const struct seen_provider *provider; /* NULL: a runtime without probes */
	VEC(struct row_process) processes;
};

struct all {
	struct list *list;
	struct seen_files seen;
	VEC(struct row) rows;
	size_t refused; /* processes that we may not look at */
	bool failed; /* out of memory: some rows are missing */
};

struct one { /* a process while it is looked at */
	struct row_process process;
	struct mapped_files files;
	const struct mapping *program;
	const struct runtime *runtime;
	bool own_probes;
};

static void row_done(struct row *row)
{
	free(row->program);
	free(row->file);
	vec_done(&row->processes);
}

static struct row *find_row(struct all *all, const struct one *one, const struct seen_provider *provider)
{
	for (size_t i = 0; i < all->rows.n; i++) {
		struct row *row = &all->rows.v[i];

		if (row->provider == provider && row->runtime == one->runtime &&
		    row->program_id.ino == one->program->file.ino && row->program_id.dev == one->program->file.dev)
			return row;
	}
	return NULL;
}

static struct row *add_row(struct all *all, const struct one *one, const struct seen_provider *provider,
			   const struct mapping *file)
{
	bool is_program = file->file.ino == one->program->file.ino && file->file.dev == one->program->file.dev;
	struct row row = { .program_id = one->program->file, .runtime = one->runtime, .provider = provider };

	row.program = strdup(one->program->path);
	row.file = is_program ? NULL : strdup(file->path);
	if (!row.program || (!is_program && !row.file) || vec_push(&all->rows, row)) {
		row_done(&row);
		return NULL;
	}
	return &all->rows.v[all->rows.n - 1];
}

static void add_to_row(struct all *all, struct one *one, const struct seen_provider *provider,
		       const struct mapping *file)
{
	struct row *row = find_row(all, one, provider);

	if (!one->process.ns_pid) { /* asked only for those that have something to show */
		one->process.ns_pid = process_ns_pid(one->process.pid);
		process_comm(one->process.pid, one->process.comm);
	}
	if (!row)
		row = add_row(all, one, provider, file);
	if (!row || vec_push(&row->processes, one->process))
		all->failed = true;
}

static bool is_own(const struct one *one, const struct seen_provider *provider)
{
	for (size_t i = 0; one->runtime && i < one->runtime->provider.n; i++)
		if (!strcmp(one->runtime->provider.v[i], provider->name))
			return true;
	return false;
}

static void look_at_process(struct all *all, struct one *one)
{
	one->program = &one->files.files.v[0].first;
	one->runtime = runtime_of_process(&all->list->runtimes, one->process.pid);
	if (one->runtime && one->runtime->library)
		one->runtime = NULL;
	for (size_t i = 0; i < one->files.files.n; i++) {
		const struct mapping *m = &one->files.files.v[i].first;
		const struct seen_file *file = seen_file_get(&all->seen, all->list, one->process.pid, m);

		all->failed |= !file;
		for (size_t k = 0; file && k < file->providers.n; k++) {
			one->own_probes |= is_own(one, &file->providers.v[k]);
			add_to_row(all, one, &file->providers.v[k], m);
		}
	}
	if (one->runtime && !one->own_probes && !all->list->pattern)
		add_to_row(all, one, NULL, one->program);
}

static void look_at_all(struct all *all)
{
	AUTO_FREE struct process_id *ids = NULL;
	struct ut_err err = { 0 };
	size_t n = 0;

	if (process_list(&ids, &n, &err))
		list_say(all->list, EXIT_FAILED, "%s", err.msg);
	for (size_t i = 0; i < n; i++) {
		struct one one = { .process.pid = ids[i].pid };
		int r = ids[i].pid == getpid() ? -ESRCH : mapped_files_read(ids[i].pid, &one.files, NULL);

		all->refused += r == -EPERM || r == -EACCES;
		if (!r && one.files.files.n)
			look_at_process(all, &one);
		mapped_files_done(&one.files);
	}
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->program, y->program);

	if (!order)
		order = strcmp(x->provider ? x->provider->name : "", y->provider ? y->provider->name : "");
	return order ? order : x->processes.v[0].pid - y->processes.v[0].pid;
}

static void add_pids(struct buf *out, const struct row *row)
{
	for (size_t i = 0; i < row->processes.n && i < PIDS_SHOWN; i++) {
		const struct row_process *p = &row->processes.v[i];

		buf_addf(out, "%s%d", i ? "," : "", p->pid);
		if (p->ns_pid != p->pid)
			buf_addf(out, "/%d", p->ns_pid);
	}
	if (row->processes.n > PIDS_SHOWN)
		buf_addf(out, ",+%zu", row->processes.n - PIDS_SHOWN);
}

enum { PROGRAM, RUNTIME, PROVIDER, PROBES, SITES, PIDS, FILE_COLUMN, COLUMNS };

static void add_cell(struct buf *out, const struct row *row, int column)
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

static size_t cell_width(struct buf *scratch, const struct row *row, int column)
{
	buf_reset(scratch);
	add_cell(scratch, row, column);
	return scratch->len;
}

/* @row NULL: the titles. */
static void add_text_row(struct buf *out, struct buf *scratch, const struct row *row, const size_t *widths)
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

static void add_text(struct all *all)
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
	add_text_row(&all->list->out, &scratch, NULL, widths);
	for (size_t i = 0; i < all->rows.n; i++)
		add_text_row(&all->list->out, &scratch, &all->rows.v[i], widths);
	buf_done(&scratch);
}

static void add_json(struct buf *out, const struct row *row)
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

static void tell_left_out(const struct all *all)
{
	bool without = false;

	for (size_t i = 0; i < all->rows.n && !without; i++)
		without = !all->rows.v[i].provider;
	if (without && !all->list->json)
		list_say(all->list, EXIT_OK,
			 "a runtime with '-' has no probes; 'usertrace list -p PID' says what can be traced instead");
	if (all->refused)
		list_say(all->list, EXIT_OK, "%zu %s left out: %s", all->refused,
			 all->refused == 1 ? "process" : "processes",
			 geteuid() ? "run as root to see those of other users"
				   : "the kernel lets nobody look into them");
	if (all->seen.unopened)
		list_say(all->list, EXIT_OK, "%zu %s could not be opened and may hold more", all->seen.unopened,
			 plural(all->seen.unopened, "file"));
	if (all->failed)
		list_say(all->list, EXIT_FAILED, "out of memory: some rows are missing");
	if (!all->rows.n && !all->list->others.v.n)
		list_say(all->list, EXIT_FAILED, "no process that can be looked at has probes");
}

void list_all(struct list *list)
{
	struct all all = { .list = list };

	look_at_all(&all);
	if (all.rows.n) {
		qsort(all.rows.v, all.rows.n, sizeof(*all.rows.v), compare_rows);
		if (!list->json)
			add_text(&all);
	}
	for (size_t i = 0; i < all.rows.n && list->json; i++)
		add_json(&list->out, &all.rows.v[i]);
	list->shown += all.rows.n;
	list_flush(list);
	tell_left_out(&all);
	for (size_t i = 0; i < all.rows.n; i++)
		row_done(&all.rows.v[i]);
	vec_done(&all.rows);
	seen_files_done(&all.seen);
}

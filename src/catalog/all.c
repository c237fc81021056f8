/* SPDX-License-Identifier: MIT */
/* Everything that runs: a row for each program and each provider of probes in its files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "catalog/catalog_priv.h"
#include "catalog/seen.h"

struct all {
	struct catalog *catalog;
	struct catalog_rows *to;
};

struct one { /* a process while it is looked at */
	struct catalog_row_process process;
	struct mapped_files files;
	const struct mapping *program;
	const struct runtime *runtime;
	bool own_probes;
};

static void row_done(struct catalog_row *row)
{
	free(row->program);
	free(row->file);
	vec_done(&row->processes);
}

static struct catalog_row *find_row(struct all *all, const struct one *one, const struct catalog_provider *provider)
{
	for (size_t i = 0; i < all->to->rows.n; i++) {
		struct catalog_row *row = &all->to->rows.v[i];

		if (row->provider == provider && row->runtime == one->runtime &&
		    row->program_id.ino == one->program->file.ino && row->program_id.dev == one->program->file.dev)
			return row;
	}
	return NULL;
}

static struct catalog_row *add_row(struct all *all, const struct one *one, const struct catalog_provider *provider,
				   const struct mapping *file)
{
	bool is_program = file->file.ino == one->program->file.ino && file->file.dev == one->program->file.dev;
	struct catalog_row row = { .program_id = one->program->file, .runtime = one->runtime, .provider = provider };

	row.program = strdup(one->program->path);
	row.file = is_program ? NULL : strdup(file->path);
	if (!row.program || (!is_program && !row.file) || vec_push(&all->to->rows, row)) {
		row_done(&row);
		return NULL;
	}
	return &all->to->rows.v[all->to->rows.n - 1];
}

static void add_to_row(struct all *all, struct one *one, const struct catalog_provider *provider,
		       const struct mapping *file)
{
	struct catalog_row *row = find_row(all, one, provider);

	if (!one->process.ns_pid) { /* asked only for those that have something to show */
		one->process.ns_pid = process_ns_pid(one->process.pid);
		process_comm(one->process.pid, one->process.comm);
	}
	if (!row)
		row = add_row(all, one, provider, file);
	if (!row || vec_push(&row->processes, one->process))
		all->to->failed = true;
}

static void look_at_process(struct all *all, struct one *one)
{
	one->program = &one->files.files.v[0].first;
	one->runtime = runtime_of_process(&all->catalog->runtimes, one->process.pid);
	if (one->runtime && one->runtime->library)
		one->runtime = NULL;
	for (size_t i = 0; i < one->files.files.n; i++) {
		const struct mapping *m = &one->files.files.v[i].first;
		const struct seen_file *file = seen_file_get(all->to->seen, all->catalog, one->process.pid, m);

		all->to->failed |= !file;
		for (size_t k = 0; file && k < file->providers.n; k++) {
			one->own_probes |= catalog_is_own(one->runtime, file->providers.v[k].name);
			add_to_row(all, one, &file->providers.v[k], m);
		}
	}
	if (one->runtime && !one->own_probes && !all->catalog->pattern)
		add_to_row(all, one, NULL, one->program);
}

static int compare_rows(const void *a, const void *b)
{
	const struct catalog_row *x = a, *y = b;
	int order = strcmp(x->program, y->program);

	if (!order)
		order = strcmp(x->provider ? x->provider->name : "", y->provider ? y->provider->name : "");
	return order ? order : x->processes.v[0].pid - y->processes.v[0].pid;
}

static int look_at_all(struct all *all, struct ut_err *err)
{
	AUTO_FREE struct process_id *ids = NULL;
	size_t n = 0;
	int ret = process_list(&ids, &n, err);

	for (size_t i = 0; !ret && i < n; i++) {
		struct one one = { .process.pid = ids[i].pid };
		int r = ids[i].pid == getpid() ? -ESRCH : mapped_files_read(ids[i].pid, &one.files, NULL);

		all->to->refused += r == -EPERM || r == -EACCES;
		if (!r && one.files.files.n)
			look_at_process(all, &one);
		mapped_files_done(&one.files);
	}
	return ret;
}

int catalog_all(struct catalog *c, struct catalog_rows *ret, struct ut_err *err)
{
	struct all all = { .catalog = c, .to = ret };
	int r;

	*ret = (struct catalog_rows){ .seen = calloc(1, sizeof(*ret->seen)) };
	if (!ret->seen)
		return ut_err_nomem(err);
	r = look_at_all(&all, err);
	if (ret->rows.n)
		qsort(ret->rows.v, ret->rows.n, sizeof(*ret->rows.v), compare_rows);
	ret->unopened = ret->seen->unopened;
	c->shown += ret->rows.n;
	return r;
}

void catalog_rows_done(struct catalog_rows *rows)
{
	for (size_t i = 0; i < rows->rows.n; i++)
		row_done(&rows->rows.v[i]);
	vec_done(&rows->rows);
	if (rows->seen)
		seen_files_done(rows->seen);
	free(rows->seen);
}

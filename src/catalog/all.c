/* SPDX-License-Identifier: MIT */
/* All processes: a row for each program and each provider of probes in its files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/index.h"
#include "catalog/catalog_priv.h"

/* A mapped file, read once for all processes: its probes that match, by provider. */
struct seen_file {
	struct file_id id;
	VEC(struct catalog_provider) providers;
};

struct seen_files {
	VEC(struct seen_file *) all;
	struct index index; /* by device and inode */
	size_t unopened; /* files that could not be opened */
};

struct all {
	struct catalog *catalog;
	struct catalog_rows *to;
};

struct one { /* a process while it is examined */
	struct catalog_row_process process;
	struct mapped_files files;
	const struct mapping *program;
	const struct runtime *runtime;
	bool own_probes;
};

/* Probes come sorted by provider. */
static void count_probe(struct seen_file *file, const struct catalog_probe *probe)
{
	const char *name = probe->sites[0]->provider;
	struct catalog_provider *p = file->providers.n ? &file->providers.v[file->providers.n - 1] : NULL;

	if (!p || strcmp(p->name, name)) {
		struct catalog_provider fresh = { .name = strdup(name) };

		if (!fresh.name || vec_push(&file->providers, fresh)) {
			free(fresh.name);
			return;
		}
		p = &file->providers.v[file->providers.n - 1];
	}
	p->probes++;
	p->sites += probe->n;
	p->guarded += probe->guarded;
}

/* A file that is no program for this machine has no probes. */
static void count_probes(struct seen_files *seen, struct catalog *c, struct seen_file *to, pid_t pid,
			 const struct mapping *m)
{
	AUTO(catalog_file_done) struct catalog_file file = { .path = m->path };
	struct catalog_probe probe = { 0 };
	AUTO_CLOSE int fd = mapping_open(pid, m, NULL);

	if (fd < 0) {
		seen->unopened++;
		return;
	}
	if (catalog_file_read(c, &file, fd, NULL))
		return;
	while (catalog_next(&file, &probe))
		count_probe(to, &probe);
}

/* The file behind a mapping; NULL: out of memory. It lives until seen_files_done. */
static const struct seen_file *get_seen_file(struct seen_files *seen, struct catalog *c, pid_t pid,
					     const struct mapping *m)
{
	uint64_t hash = file_id_hash(&m->file);
	uint32_t found = index_find(&seen->index, hash, i, file_id_equal(&seen->all.v[i]->id, &m->file));
	struct seen_file *file;

	if (found != INDEX_NONE)
		return seen->all.v[found];
	file = calloc(1, sizeof(*file));
	if (!file || vec_reserve(&seen->all, seen->all.n + 1) || index_add(&seen->index, hash, (uint32_t)seen->all.n)) {
		free(file);
		return NULL;
	}
	file->id = m->file;
	seen->all.v[seen->all.n++] = file;
	count_probes(seen, c, file, pid, m);
	return file;
}

static void seen_files_done(struct seen_files *seen)
{
	for (size_t i = 0; i < seen->all.n; i++) {
		for (size_t k = 0; k < seen->all.v[i]->providers.n; k++)
			free(seen->all.v[i]->providers.v[k].name);
		vec_done(&seen->all.v[i]->providers);
		free(seen->all.v[i]);
	}
	vec_done(&seen->all);
	index_done(&seen->index);
}

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
		    file_id_equal(&row->program_id, &one->program->file))
			return row;
	}
	return NULL;
}

static struct catalog_row *add_catalog_row(struct all *all, const struct one *one,
					   const struct catalog_provider *provider, const struct mapping *file)
{
	bool is_program = file_id_equal(&file->file, &one->program->file);
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

	if (!one->process.ns_pid) { /* only for processes with rows */
		one->process.ns_pid = process_ns_pid(one->process.pid);
		process_comm(one->process.pid, one->process.comm);
	}
	if (!row)
		row = add_catalog_row(all, one, provider, file);
	if (!row || vec_push(&row->processes, one->process))
		all->to->failed = true;
}

static void add_process_rows(struct all *all, struct one *one)
{
	one->program = &one->files.files.v[0].first;
	one->runtime = runtime_of_process(&all->catalog->runtimes, one->process.pid);
	if (one->runtime && one->runtime->library)
		one->runtime = NULL;
	for (size_t i = 0; i < one->files.files.n; i++) {
		const struct mapping *m = &one->files.files.v[i].first;
		const struct seen_file *file = get_seen_file(all->to->seen, all->catalog, one->process.pid, m);

		all->to->failed |= !file;
		for (size_t k = 0; file && k < file->providers.n; k++) {
			one->own_probes |= catalog_is_own(one->runtime, file->providers.v[k].name);
			add_to_row(all, one, &file->providers.v[k], m);
		}
	}
	if (one->runtime && !one->own_probes && !all->catalog->pattern)
		add_to_row(all, one, NULL, one->program);
}

static int compare_catalog_rows(const void *a, const void *b)
{
	const struct catalog_row *x = a, *y = b;
	int order = strcmp(x->program, y->program);

	if (!order)
		order = strcmp(x->provider ? x->provider->name : "", y->provider ? y->provider->name : "");
	return order ? order : x->processes.v[0].pid - y->processes.v[0].pid;
}

static int add_all_rows(struct all *all, struct ut_err *err)
{
	AUTO_FREE struct process_id *ids = NULL;
	size_t n = 0;
	int ret = process_list(&ids, &n, err);

	for (size_t i = 0; !ret && i < n; i++) {
		struct one one = { .process.pid = ids[i].pid };
		int r = ids[i].pid == getpid() ? -ESRCH : mapped_files_read(ids[i].pid, &one.files, NULL);

		all->to->refused += r == -EPERM || r == -EACCES;
		if (!r && one.files.files.n)
			add_process_rows(all, &one);
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
	r = add_all_rows(&all, err);
	if (ret->rows.n)
		qsort(ret->rows.v, ret->rows.n, sizeof(*ret->rows.v), compare_catalog_rows);
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

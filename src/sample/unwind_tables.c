/* SPDX-License-Identifier: MIT */
/* Tables of files: made once, rules of all files in one set, rows into chunks of the kernel's arrays. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/hash.h"
#include "bpf/sample.h"
#include "proc/vdso.h"
#include "sample/unwind_priv.h"

int unwind_tables_open(struct unwind_tables *t, const struct unwind_fds *fds)
{
	*t = (struct unwind_tables){ .fds = *fds };
	t->rules = calloc(UT_UNWIND_RULES_MAX, sizeof(*t->rules));
	if (!t->rules || ranges_open(&t->chunks, SAMPLE_SEGMENTS * SAMPLE_SEGMENT_CHUNKS) ||
	    ranges_open(&t->directory, SAMPLE_DIRECTORY_MAX))
		return -ENOMEM;
	t->nrules = 1; /* rule 0: nothing is known */
	return 0;
}

static void file_free(struct unwind_file *f)
{
	free(f->segments);
	free(f);
}

void unwind_tables_done(struct unwind_tables *t)
{
	for (size_t i = 0; i < t->files.n; i++)
		file_free(t->files.v[i]);
	vec_done(&t->files);
	for (size_t i = 0; i < t->segments.n; i++)
		close(t->segments.v[i]);
	vec_done(&t->segments);
	ranges_done(&t->chunks);
	ranges_done(&t->directory);
	free(t->rules);
	index_done(&t->rule_index);
}

/* Its number among the rules of all files; 0, the unknown rule, when there is no room left. */
static uint32_t rule_number(struct unwind_tables *t, const struct ut_unwind_rule *rule)
{
	static const struct ut_unwind_rule unknown;
	uint64_t words[2], hash;
	uint32_t known;

	if (!memcmp(rule, &unknown, sizeof(unknown)))
		return 0;
	memcpy(words, rule, sizeof(words));
	hash = hash_pair(words[0], words[1]);
	known = index_find(&t->rule_index, hash, i, !memcmp(&t->rules[i], rule, sizeof(*rule)));
	if (known != INDEX_NONE)
		return known;
	if (t->nrules >= UT_UNWIND_RULES_MAX || bpf_map_update_elem(t->fds.rules, &t->nrules, rule, BPF_ANY) ||
	    index_add(&t->rule_index, hash, t->nrules))
		return 0;
	t->rules[t->nrules] = *rule;
	return t->nrules++;
}

/* The inner array with a chunk, created when it is needed. */
static int segment_of(struct unwind_tables *t, uint32_t chunk)
{
	uint32_t wanted = chunk / SAMPLE_SEGMENT_CHUNKS;

	while (t->segments.n <= wanted) {
		uint32_t number = (uint32_t)t->segments.n;
		int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ut_rows", 4, SAMPLE_CHUNK_ROWS * 4, SAMPLE_SEGMENT_CHUNKS,
					NULL);

		if (fd < 0)
			return fd;
		if (bpf_map_update_elem(t->fds.rows, &number, &fd, BPF_ANY) || vec_push(&t->segments, fd)) {
			close(fd);
			return -ENOMEM;
		}
	}
	return t->segments.v[wanted];
}

static int write_rows(struct unwind_tables *t, const struct unwind_file *f, const struct unwind_table *table)
{
	AUTO_FREE uint32_t *number = calloc(table->nrules + 1, sizeof(*number));
	uint32_t chunk[SAMPLE_CHUNK_ROWS];
	int r = number ? 0 : -ENOMEM;

	for (uint32_t i = 0; !r && i < table->nrules; i++)
		number[i] = rule_number(t, &table->rules[i]);
	for (uint32_t i = 0; !r && i < table->nrows; i += SAMPLE_CHUNK_ROWS) {
		uint32_t n = table->nrows - i < SAMPLE_CHUNK_ROWS ? table->nrows - i : SAMPLE_CHUNK_ROWS;
		uint32_t to = f->first_chunk + i / SAMPLE_CHUNK_ROWS, key = to % SAMPLE_SEGMENT_CHUNKS;
		int fd = segment_of(t, to);

		memset(chunk, 0, sizeof(chunk));
		for (uint32_t k = 0; k < n; k++) {
			uint32_t row = table->rows[i + k], rule = UT_UNWIND_ROW_RULE(row);

			chunk[k] = UT_UNWIND_ROW(UT_UNWIND_ROW_LOW(row), rule < table->nrules ? number[rule] : 0);
		}
		r = fd < 0 ? fd : bpf_map_update_elem(fd, &key, chunk, BPF_ANY);
	}
	return r;
}

static int write_directory(struct unwind_tables *t, const struct unwind_file *f, const struct unwind_table *table)
{
	int r = 0;

	for (uint32_t i = 0; !r && i <= table->pages; i++) {
		uint32_t key = f->directory + i, row = f->first_chunk * SAMPLE_CHUNK_ROWS + table->directory[i];

		r = bpf_map_update_elem(t->fds.directory, &key, &row, BPF_ANY);
	}
	return r;
}

static void free_ranges(struct unwind_tables *t, struct unwind_file *f)
{
	ranges_free(&t->chunks, f->first_chunk, f->chunks);
	ranges_free(&t->directory, f->directory, f->pages + 1);
	f->chunks = f->pages = 0;
}

/*
 * Waits until no walk reads rows of an evicted file any more: the kernel waits for running programs when an array of maps
 * changes (maybe_wait_bpf_programs in its syscall.c).
 */
static void wait_for_walks(struct unwind_tables *t)
{
	uint32_t first = 0;

	if (t->segments.n)
		bpf_map_update_elem(t->fds.rows, &first, &t->segments.v[0], BPF_ANY);
}

/* Makes room by evicting a file with a table, or a copy of one, that no process has mapped, nor a copy of it. */
static bool evict_file(struct unwind_tables *t)
{
	for (size_t i = 0; i < t->files.n; i++) {
		struct unwind_file *f = t->files.v[i];
		bool is_used = f->users || !f->has_table;

		for (size_t k = 0; k < t->files.n && !is_used; k++)
			is_used = t->files.v[k]->same == f;
		if (is_used)
			continue;
		if (!f->same) {
			wait_for_walks(t);
			free_ranges(t, f);
			t->with_table--;
		}
		t->files.v[i] = t->files.v[--t->files.n];
		file_free(f);
		return true;
	}
	return false;
}

static uint32_t alloc_range(struct unwind_tables *t, struct ranges *from, uint32_t n)
{
	uint32_t first = ranges_alloc(from, n);

	while (first == UINT32_MAX && evict_file(t))
		first = ranges_alloc(from, n);
	return first;
}

/* Writes the table to the kernel. Without room there, the file is treated as one without a table. */
static void write_table(struct unwind_tables *t, struct unwind_file *f, const struct unwind_table *table)
{
	uint32_t chunks = (table->nrows + SAMPLE_CHUNK_ROWS - 1) / SAMPLE_CHUNK_ROWS;

	f->first_chunk = alloc_range(t, &t->chunks, chunks);
	f->directory = alloc_range(t, &t->directory, table->pages + 1);
	f->chunks = f->first_chunk == UINT32_MAX ? 0 : chunks;
	f->first_page = table->first_page;
	f->pages = f->directory == UINT32_MAX ? 0 : table->pages;
	if (!f->chunks || !f->pages || write_rows(t, f, table) || write_directory(t, f, table)) {
		if (f->chunks)
			ranges_free(&t->chunks, f->first_chunk, f->chunks);
		if (f->pages)
			ranges_free(&t->directory, f->directory, f->pages + 1);
		return;
	}
	f->code = UT_CODE_TABLE;
	f->has_table = true;
	t->with_table++;
}

static bool use_copy(struct unwind_tables *t, struct unwind_file *f)
{
	for (size_t i = 0; f->build_id.size && i < t->files.n; i++) {
		struct unwind_file *g = t->files.v[i];

		if (g->same || !g->has_table || g->build_id.size != f->build_id.size ||
		    memcmp(g->build_id.bytes, f->build_id.bytes, f->build_id.size) != 0)
			continue;
		f->same = g;
		f->has_table = true;
		f->code = UT_CODE_TABLE;
		f->directory = g->directory;
		f->first_page = g->first_page;
		f->pages = g->pages;
		return true;
	}
	return false;
}

static int read_image(struct unwind_tables *t, struct unwind_file *f, struct elf_image *img)
{
	const struct elf_segment *segments;
	struct unwind_table table = { 0 };

	f->is_elf = true;
	f->code = UT_CODE_FILE;
	f->nsegments = elf_image_segments(img, &segments);
	f->segments = calloc(f->nsegments + 1, sizeof(*segments));
	if (!f->segments)
		return -ENOMEM;
	for (size_t i = 0; i < f->nsegments; i++)
		f->segments[i] = segments[i];
	f->build_id = *elf_image_build_id(img);
	if (!elf_image_is_x86_64(img) || use_copy(t, f))
		return 0;
	if (!unwind_table_build(img, &table, NULL) && table.pages && table.nrows)
		write_table(t, f, &table);
	unwind_table_done(&table);
	return 0;
}

/* A file that may not be opened is most likely a program or library, not memory of a JIT compiler, which has no path. */
static bool is_program_text(const struct mapping *m, int r)
{
	size_t n = strlen(m->path), suffix = strlen(" (deleted)");

	return (r == -EPERM || r == -EACCES) && m->path[0] == '/' && strncmp(m->path, "/dev/", 5) != 0 &&
	       (n < suffix || strcmp(m->path + n - suffix, " (deleted)") != 0);
}

struct unwind_file *unwind_tables_get(struct unwind_tables *t, pid_t pid, const struct mapping *m)
{
	struct ut_err err = { 0 };
	bool is_vdso = strcmp(m->path, "[vdso]") == 0;
	AUTO_CLOSE int fd = is_vdso ? -1 : mapping_open(pid, m, &err);
	struct elf_image *img = NULL;
	struct unwind_file *f;
	struct stat st = { 0 };
	int r = 0;

	if (fd >= 0)
		fstat(fd, &st);
	for (size_t i = 0; i < t->files.n; i++) {
		f = t->files.v[i];
		if (file_id_equal(&f->id, &m->file) && f->changed_ns == timespec_ns(&st.st_mtim) &&
		    f->size == (uint64_t)st.st_size)
			return f;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->id = m->file;
	f->changed_ns = timespec_ns(&st.st_mtim);
	f->size = (uint64_t)st.st_size;
	f->code = fd < 0 && is_program_text(m, err.code) ? UT_CODE_FILE : UT_CODE_RUNTIME;
	if (is_vdso)
		img = vdso_open();
	else if (fd >= 0)
		elf_image_open(fd, &img, NULL);
	if (img)
		r = read_image(t, f, img);
	elf_image_free(img);
	if (r || vec_push(&t->files, f)) {
		file_free(f);
		return NULL;
	}
	return f;
}

bool unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t page_offset = s->offset & ~4095ull; /* the kernel maps whole pages */

		if (m->offset < page_offset || m->offset >= s->offset + s->filesz || !s->exec)
			continue;
		*ret = m->start - m->offset - s->vaddr + s->offset;
		return true;
	}
	return false;
}

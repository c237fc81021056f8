/* SPDX-License-Identifier: MIT */
/* Compares a process's code maps with its mappings and its resident pages. */
#include "sym/code_check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "sym/code_priv.h"
#include "sym/history.h"

#define RANGES_MAX (4u << 20) /* entries that are compared with each other: 64 MiB */
#define PAGES_AT_ONCE 2048

struct range {
	uint64_t start, end;
};
struct ranges {
	VEC(struct range) v;
};

struct check {
	pid_t pid;
	struct code_maps *maps;
	struct mappings mappings;
	bool *runtime; /* for each mapping: it contains JIT code */
	struct ranges resident; /* JIT code */
	struct ranges named; /* of all files */
	struct ranges here; /* of this file */
	struct code_file_report *file;
};

static int compare_code_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void sort_ranges(struct ranges *r)
{
	if (r->v.n)
		qsort(r->v.v, r->v.n, sizeof(*r->v.v), compare_code_ranges);
}

/* Sorts the ranges and joins those that touch. */
static void unite_ranges(struct ranges *r)
{
	size_t n = 0;

	sort_ranges(r);
	for (size_t i = 0; i < r->v.n; i++)
		if (n && r->v.v[i].start <= r->v.v[n - 1].end) {
			if (r->v.v[i].end > r->v.v[n - 1].end)
				r->v.v[n - 1].end = r->v.v[i].end;
		} else {
			r->v.v[n++] = r->v.v[i];
		}
	r->v.n = n;
}

static void add_range(struct ranges *r, uint64_t start, uint64_t end)
{
	struct range range = { start, end };

	if (r->v.n && r->v.v[r->v.n - 1].end == start)
		r->v.v[r->v.n - 1].end = end;
	else
		vec_push(&r->v, range);
}

/* A file that is no program: a runtime's saved heap, including code. */
static bool is_heap_file(pid_t pid, const struct mapping *m)
{
	AUTO_CLOSE int fd = mapping_open(pid, m, NULL);
	char magic[SELFMAG];

	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG);
}

/* Which mappings contain JIT code: executable memory, or a file that is no program. */
static int find_runtime(struct check *c)
{
	const struct mapping *last = NULL, *m;
	bool last_is = false;

	c->runtime = calloc(c->mappings.maps.n + 1, sizeof(*c->runtime));
	for (size_t i = 0; c->runtime && i < c->mappings.maps.n; i++) {
		m = &c->mappings.maps.v[i];
		if (!m->exec || place_is_dump(m))
			continue;
		if (!m->file.ino || place_is_named_memory(m)) {
			c->runtime[i] = m->file.ino || place_kind_of(m, NULL) == PLACE_MEMORY;
			continue;
		}
		if (!last || last->file.ino != m->file.ino ||
		    last->file.dev != m->file.dev) /* neighbours are one file's */
			last_is = is_heap_file(c->pid, m);
		last = m;
		c->runtime[i] = last_is;
	}
	return c->runtime ? 0 : -ENOMEM;
}

static bool is_runtime(const struct check *c, const struct mapping *m) { return c->runtime[m - c->mappings.maps.v]; }

/* The resident pages of a mapping; all of it where the kernel does not report them. */
static void add_resident(struct check *c, int pagemap, const struct mapping *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	static const uint64_t there = 3ull << 62; /* in memory, or in swap */
	uint64_t flags[PAGES_AT_ONCE];

	for (uint64_t at = m->start; at < m->end;) {
		ssize_t n = pread(pagemap, flags, sizeof(flags), (off_t)(at / page * sizeof(*flags)));

		if (n <= 0) {
			add_range(&c->resident, at, m->end);
			return;
		}
		for (size_t i = 0; i < (size_t)n / sizeof(*flags) && at < m->end; i++, at += page)
			if (flags[i] & there)
				add_range(&c->resident, at, at + page);
	}
}

static void find_resident(struct check *c)
{
	char path[64];
	AUTO_CLOSE int pagemap = -1;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)c->pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < c->mappings.maps.n; i++)
		if (c->runtime[i])
			add_resident(c, pagemap, &c->mappings.maps.v[i]);
}

/* Mappings are in order of address. */
static const struct mapping *mapping_at(const struct check *c, uint64_t addr)
{
	size_t low = search_first_not(i, 0, c->mappings.maps.n, c->mappings.maps.v[i].end <= addr);

	return low < c->mappings.maps.n && c->mappings.maps.v[low].start <= addr ? &c->mappings.maps.v[low] : NULL;
}

static void add_entry(struct check *c, uint64_t start, uint64_t size)
{
	const struct mapping *m = mapping_at(c, start);
	struct range range = { start, start + size };

	if (!m)
		c->file->nowhere++;
	else if (is_runtime(c, m))
		c->file->in_runtime++;
	else if (m->exec)
		c->file->in_files++;
	else
		c->file->in_data++;
	if (c->here.v.n >= RANGES_MAX || vec_push(&c->here.v, range))
		c->file->counted = false;
}

static void count_line(void *ctx, const struct perfmap_line *line) { add_entry(ctx, line->start, line->size); }

static void count_record(void *ctx, const struct jitdump_record *rec)
{
	struct check *c = ctx;

	c->file->bad += rec->type == JITDUMP_BAD;
	if (rec->type != JITDUMP_LOAD && rec->type != JITDUMP_MOVE)
		return;
	c->file->entries++;
	add_entry(c, rec->addr, rec->code_size);
}

/* Counts the overlaps within one file, and adds its ranges to those of all files. */
static void end_file(struct check *c)
{
	uint64_t end = 0;

	sort_ranges(&c->here);
	for (size_t i = 0; i < c->here.v.n; i++) {
		c->file->again += c->here.v.v[i].start < end;
		if (c->here.v.v[i].end > end)
			end = c->here.v.v[i].end;
	}
	unite_ranges(&c->here);
	for (size_t i = 0; i < c->here.v.n; i++)
		vec_push(&c->named.v, c->here.v.v[i]);
	vec_done(&c->here.v);
}

static struct code_file_report *begin_file(struct check *c, struct code_report *ret, const char *path, bool is_dump)
{
	struct code_file_report f = { .path = strdup(path), .is_dump = is_dump, .counted = true };

	if (!f.path || vec_push(&ret->files, f)) {
		free(f.path);
		return NULL;
	}
	c->file = &ret->files.v[ret->files.n - 1];
	return c->file;
}

static void check_map(struct check *c, const struct code_map *m, struct code_report *ret)
{
	struct code_file_report *f = begin_file(c, ret, m->shown, false);
	struct perfmap read;

	if (!f)
		return;
	code_map_each(m, !process_is_alive(&c->maps->owner.id), count_line, c, &read, &c->maps->notes);
	f->bytes = m->size;
	f->entries = read.lines;
	f->bad = read.bad;
	f->first_bad = read.first_bad;
	end_file(c);
}

static void check_dump(struct check *c, struct code_dump *d, struct code_report *ret)
{
	struct code_file_report *f = begin_file(c, ret, d->shown, true);
	struct stat st;

	if (!f)
		return;
	code_dump_each(d, !process_is_alive(&c->maps->owner.id), count_record, c, &c->maps->notes);
	if (!fstat(d->fd, &st))
		f->bytes = (uint64_t)st.st_size;
	if (d->refused || (d->strange + d->others && !d->good)) { /* nothing of it is used: it names nothing */
		f->entries = 0;
		vec_done(&c->here.v);
	}
	end_file(c);
}

/* How much of the resident JIT code has a name. */
static void measure_named(struct check *c, struct code_report *ret)
{
	size_t i = 0;

	unite_ranges(&c->named);
	unite_ranges(&c->resident);
	for (size_t k = 0; k < c->resident.v.n; k++) {
		const struct range *r = &c->resident.v.v[k];

		ret->runtime_bytes += r->end - r->start;
		while (i < c->named.v.n && c->named.v.v[i].end <= r->start)
			i++;
		for (size_t at = i; at < c->named.v.n && c->named.v.v[at].start < r->end; at++) {
			const struct range *n = &c->named.v.v[at];

			ret->named_bytes +=
				(n->end < r->end ? n->end : r->end) - (n->start > r->start ? n->start : r->start);
		}
	}
}

static void check_files(struct check *c, struct code_report *ret)
{
	find_resident(c);
	for (size_t i = 0; i < c->maps->maps.n; i++)
		check_map(c, c->maps->maps.v[i], ret);
	for (size_t i = 0; i < c->maps->dumps.n; i++)
		check_dump(c, c->maps->dumps.v[i], ret);
	measure_named(c, ret);
	for (size_t i = 0; i < c->maps->notes.n; i++) {
		char *copy = strdup(c->maps->notes.v[i]);

		if (copy && vec_push(&ret->notes, copy))
			free(copy);
	}
}

int code_check(pid_t pid, struct code_report *ret, struct ut_err *err)
{
	struct check c = { .pid = pid };
	struct process_id id;
	int r = process_identify(pid, &id, err);

	*ret = (struct code_report){ 0 };
	if (!r)
		r = mappings_read(pid, &c.mappings, err);
	if (r)
		return r;
	c.maps = code_maps_new(pid, 0);
	if (!c.maps || find_runtime(&c))
		r = ut_err_nomem(err);
	else
		check_files(&c, ret);
	code_maps_free(c.maps);
	mappings_done(&c.mappings);
	free(c.runtime);
	vec_done(&c.named.v);
	vec_done(&c.here.v);
	vec_done(&c.resident.v);
	return r;
}

void code_report_done(struct code_report *r)
{
	for (size_t i = 0; i < r->files.n; i++)
		free(r->files.v[i].path);
	for (size_t i = 0; i < r->notes.n; i++)
		free(r->notes.v[i]);
	vec_done(&r->files);
	vec_done(&r->notes);
}

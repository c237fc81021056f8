/* SPDX-License-Identifier: MIT */
/* The program files of a process: one row per file that is mapped for execution, the main program first. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/maps.h"
#include "proc/procfs.h"

struct lines {
	VEC(struct maps_line) lines;
}; /* they point into the text */

static void lines_done(struct lines *l) { vec_done(&l->lines); }

static int collect_executable(const struct buf *text, struct lines *ret)
{
	const char *p = text->data, *end = p + text->len;
	struct maps_line line;
	int r;

	while ((r = maps_next(&p, end, &line)) > 0)
		if (line.m.exec && !maps_line_is_memory(&line) && vec_push(&ret->lines, line))
			return -ENOMEM;
	return r;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct maps_line *x = a, *y = b;

	return (x->m.start > y->m.start) - (x->m.start < y->m.start);
}

static int compare_files(const void *a, const void *b)
{
	const struct maps_line *x = a, *y = b;

	if (x->m.file.dev != y->m.file.dev)
		return x->m.file.dev < y->m.file.dev ? -1 : 1;
	if (x->m.file.ino != y->m.file.ino)
		return x->m.file.ino < y->m.file.ino ? -1 : 1;
	return compare_addresses(a, b);
}

/* Leaves the lowest mapping of every file, in address order. By sorting: a process can map 65,000 files. */
static void keep_first_of_each(struct lines *l)
{
	size_t kept = 0;

	if (!l->lines.n)
		return;
	qsort(l->lines.v, l->lines.n, sizeof(*l->lines.v), compare_files);
	for (size_t i = 0; i < l->lines.n; i++)
		if (!kept || !file_id_equal(&l->lines.v[kept - 1].m.file, &l->lines.v[i].m.file))
			l->lines.v[kept++] = l->lines.v[i];
	l->lines.n = kept;
	qsort(l->lines.v, kept, sizeof(*l->lines.v), compare_addresses);
}

/* Moves the main program to the front; false when it is not among @l. By identity; where maps and stat give different device
 * numbers, the path has to agree. */
static bool program_to_front(pid_t pid, struct lines *l)
{
	char link[64], path[PATH_MAX];
	struct stat st;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (stat(link, &st))
		return false;
	len = readlink(link, path, sizeof(path));
	for (size_t i = 0; i < l->lines.n; i++) {
		struct maps_line line = l->lines.v[i];

		if (line.m.file.ino != st.st_ino ||
		    (line.m.file.dev != st.st_dev &&
		     (len < (ssize_t)line.path_len || memcmp(path, line.path, line.path_len) != 0)))
			continue;
		memmove(l->lines.v + 1, l->lines.v, i * sizeof(line));
		l->lines.v[0] = line;
		return true;
	}
	return false;
}

static int copy_files(const struct lines *l, bool first_is_program, struct mapped_files *ret)
{
	for (size_t i = 0; i < l->lines.n; i++) {
		struct mapped_file f = { .is_program = i == 0 && first_is_program };
		int r = maps_line_copy(&l->lines.v[i], &f.first);

		if (!r && vec_push(&ret->files, f)) {
			free(f.first.path);
			r = -ENOMEM;
		}
		if (r)
			return r;
	}
	return 0;
}

int mapped_files_read(pid_t pid, struct mapped_files *ret, struct ut_err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO(lines_done) struct lines lines = { 0 };
	struct mapped_files found = { 0 };
	int r = maps_text(pid, &text, err);

	if (r)
		return r;
	r = collect_executable(&text, &lines);
	if (!r) {
		keep_first_of_each(&lines);
		r = copy_files(&lines, program_to_front(pid, &lines), &found);
	}
	if (r) {
		mapped_files_done(&found);
		return maps_error(pid, r, err);
	}
	*ret = found;
	return 0;
}

void mapped_files_done(struct mapped_files *m)
{
	for (size_t i = 0; i < m->files.n; i++)
		free(m->files.v[i].first.path);
	vec_done(&m->files);
}

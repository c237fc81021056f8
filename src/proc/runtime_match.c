/* SPDX-License-Identifier: MIT */
/* Which runtime a process or file is: by names of files and, where a runtime is part of the program it runs, by functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "elf/image.h"
#include "proc/process.h"
#include "proc/runtime_priv.h"

#define LOOKED 256 /* programs; one takes the place of another now and then */
#define NO_RUNTIME SIZE_MAX

struct looked_at {
	bool valid;
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	size_t runtime; /* index, or NO_RUNTIME */
};

struct runtime_looked {
	struct looked_at at[LOOKED];
};

void runtime_looked_reset(struct runtimes *r)
{
	if (r->looked)
		memset(r->looked, 0, sizeof(*r->looked));
	else
		r->looked = calloc(1, sizeof(*r->looked));
}

static bool has_symbol_of(struct elf_image *img, const struct runtime *r)
{
	for (size_t k = 0; k < r->symbol.n; k++) {
		struct elf_symbol s;
		int found = elf_symbol_find(img, r->symbol.v[k], &s);

		if ((found == 1 || found == -EEXIST) && s.is_func)
			return true;
	}
	return false;
}

const struct runtime *runtime_of_symbols(const struct runtimes *r, int fd)
{
	const struct runtime *found = NULL;
	struct elf_image *img = NULL;
	struct ut_err err = { 0 };

	if (elf_image_open(fd, &img, &err))
		return NULL;
	for (size_t i = 0; i < r->all.n && !found; i++)
		if (has_symbol_of(img, &r->all.v[i]))
			found = &r->all.v[i];
	elf_image_free(img);
	return found;
}

static bool is_program(int pid, const struct mapping *m)
{
	char exe[64];
	struct stat st;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	return !stat(exe, &st) && mapping_is_of(m, &st);
}

static bool is_file(const struct looked_at *l, const struct stat *st)
{
	return l->valid && l->dev == st->st_dev && l->ino == st->st_ino && l->size == st->st_size &&
	       l->changed.tv_sec == st->st_ctim.tv_sec && l->changed.tv_nsec == st->st_ctim.tv_nsec;
}

/* runtime_of_symbols, once for each program. */
static const struct runtime *runtime_of_program(const struct runtimes *r, int fd)
{
	struct looked_at *l;
	const struct runtime *found;
	struct stat st;

	if (!r->looked || fstat(fd, &st))
		return runtime_of_symbols(r, fd);
	l = &r->looked->at[(st.st_ino ^ st.st_dev) % LOOKED];
	if (is_file(l, &st))
		return l->runtime == NO_RUNTIME ? NULL : &r->all.v[l->runtime];
	found = runtime_of_symbols(r, fd);
	*l = (struct looked_at){ true,	     st.st_dev,	 st.st_ino,
				 st.st_size, st.st_ctim, found ? (size_t)(found - r->all.v) : NO_RUNTIME };
	return found;
}

const struct runtime *runtime_of_mapping(const struct runtimes *r, int pid, const struct mapping *m)
{
	const struct runtime *found = runtime_of_file(r, m->path);
	AUTO_CLOSE int fd = -1;

	if (found || !is_program(pid, m))
		return found;
	fd = mapping_open(pid, m, NULL);
	return fd < 0 ? NULL : runtime_of_program(r, fd);
}

/* --- by names of files ------------------------------------------------------------------------------------ */

/* What fits best so far: the longest pattern, and of equal ones the last: the user's files come behind ours. */
struct candidate {
	const struct runtime *runtime;
	size_t pattern_len;
};

static void consider(const struct runtimes *r, const char *path, bool libraries, struct candidate *best)
{
	const char *base = path_base(path);

	for (size_t i = 0; i < r->all.n; i++) {
		const struct runtime *runtime = &r->all.v[i];

		if (runtime->library != libraries)
			continue;
		for (size_t k = 0; k < runtime->match.n; k++) {
			size_t len = strlen(runtime->match.v[k]);

			if (len >= best->pattern_len && glob_match(runtime->match.v[k], base))
				*best = (struct candidate){ runtime, len };
		}
	}
}

const struct runtime *runtime_of_file(const struct runtimes *r, const char *path)
{
	struct candidate best = { 0 };

	consider(r, path, false, &best);
	if (!best.runtime)
		consider(r, path, true, &best);
	return best.runtime;
}

/* The program itself decides before the libraries it has loaded, and runtimes before what they are made of. */
static const struct runtime *runtime_of_files(const struct runtimes *r, int pid, const struct mapped_files *files)
{
	struct candidate best = { 0 };

	if (files->files.n && files->files.v[0].is_program)
		best.runtime = runtime_of_mapping(r, pid, &files->files.v[0].first);
	for (int libraries = 0; libraries <= 1 && !best.runtime; libraries++)
		for (size_t i = 0; i < files->files.n; i++)
			consider(r, files->files.v[i].first.path, libraries, &best);
	return best.runtime;
}

const struct runtime *runtime_of_process(const struct runtimes *r, int pid)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };

	return mapped_files_read(pid, &files, NULL) ? NULL : runtime_of_files(r, pid, &files);
}

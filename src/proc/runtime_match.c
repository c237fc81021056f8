/* SPDX-License-Identifier: MIT */
/* Identifies the runtime of a process or file by file names or, where a program
 * has another name or contains the runtime, by functions and probes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/text.h"
#include "elf/image.h"
#include "elf/usdt.h"
#include "proc/process.h"
#include "proc/runtime_priv.h"

#define CACHED_MAX 256 /* programs; one takes the place of another now and then */
#define NO_RUNTIME SIZE_MAX

struct cached_program {
	bool valid;
	dev_t dev;
	ino_t ino;
	off_t size;
	uint64_t changed_ns;
	size_t runtime; /* index, or NO_RUNTIME */
};

struct runtime_cache {
	struct cached_program at[CACHED_MAX];
};

void runtime_cache_reset(struct runtimes *r)
{
	if (r->cached)
		memset(r->cached, 0, sizeof(*r->cached));
	else
		r->cached = calloc(1, sizeof(*r->cached));
}

/* The runtime that has a provider of the file's USDT probes: a program may have any name. */
static const struct runtime *runtime_of_probes(const struct runtimes *r, int fd)
{
	const struct runtime *found = NULL;
	struct elf_image *img = NULL;
	struct usdt_notes notes = { 0 };

	if (elf_image_open(fd, &img, NULL))
		return NULL;
	if (usdt_has_notes(img))
		usdt_notes_read(img, &notes, NULL); /* unreadable: none */
	for (size_t i = 0; i < notes.notes.n && !found; i++) {
		found = runtime_of_provider(r, notes.notes.v[i].provider);
		if (found && found->library)
			found = NULL; /* linked into programs that are no runtime of it */
	}
	usdt_notes_done(&notes);
	elf_image_free(img);
	return found;
}

const struct runtime *runtime_of_symbols(const struct runtimes *r, int fd)
{
	const struct runtime *found = NULL;
	struct elf_image *img = NULL;
	struct ut_err err = { 0 };

	if (elf_image_open(fd, &img, &err))
		return NULL;
	for (size_t i = 0; i < r->all.n && !found; i++)
		for (size_t k = 0; k < r->all.v[i].symbol.n && !found; k++) {
			struct elf_symbol s;
			int n = elf_symbol_find(img, r->all.v[i].symbol.v[k], &s);

			if ((n == 1 || n == -EEXIST) && s.is_func)
				found = &r->all.v[i];
		}
	elf_image_free(img);
	return found;
}

static bool is_program_of(int pid, const struct mapping *m)
{
	char exe[64];
	struct stat st;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	return !stat(exe, &st) && mapping_is_of(m, &st);
}

static const struct runtime *runtime_of_content(const struct runtimes *r, int fd)
{
	const struct runtime *found = runtime_of_symbols(r, fd);

	return found ? found : runtime_of_probes(r, fd);
}

/* runtime_of_content, once for each program. */
static const struct runtime *runtime_of_program(const struct runtimes *r, int fd)
{
	struct cached_program *l;
	const struct runtime *found;
	struct stat st;

	if (!r->cached || fstat(fd, &st))
		return runtime_of_content(r, fd);
	l = &r->cached->at[(st.st_ino ^ st.st_dev) % CACHED_MAX];
	if (l->valid && l->dev == st.st_dev && l->ino == st.st_ino && l->size == st.st_size &&
	    l->changed_ns == timespec_ns(&st.st_ctim))
		return l->runtime == NO_RUNTIME ? NULL : &r->all.v[l->runtime];
	found = runtime_of_content(r, fd);
	*l = (struct cached_program){ true,
				      st.st_dev,
				      st.st_ino,
				      st.st_size,
				      timespec_ns(&st.st_ctim),
				      found ? (size_t)(found - r->all.v) : NO_RUNTIME };
	return found;
}

const struct runtime *runtime_of_mapping(const struct runtimes *r, int pid, const struct mapping *m)
{
	const struct runtime *found = runtime_of_file(r, m->path);
	AUTO_CLOSE int fd = -1;

	if (found || !is_program_of(pid, m))
		return found;
	fd = mapping_open(pid, m, NULL);
	return fd < 0 ? NULL : runtime_of_program(r, fd);
}

/* The best match so far: the longest pattern, and of equal ones the last, since the user's files come after ours. */
struct candidate {
	const struct runtime *runtime;
	size_t pattern_len;
};

static void match_runtimes(const struct runtimes *r, const char *path, bool libraries, struct candidate *best)
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

	match_runtimes(r, path, false, &best);
	if (!best.runtime)
		match_runtimes(r, path, true, &best);
	return best.runtime;
}

/* The program itself precedes its libraries, and runtimes precede the libraries that they use. */
const struct runtime *runtime_of_process(const struct runtimes *r, int pid)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	struct candidate best = { 0 };

	if (mapped_files_read(pid, &files, NULL))
		return NULL;
	if (files.files.n && files.files.v[0].is_program)
		best.runtime = runtime_of_mapping(r, pid, &files.files.v[0].first);
	for (int libraries = 0; libraries <= 1 && !best.runtime; libraries++)
		for (size_t i = 0; i < files.files.n; i++)
			match_runtimes(r, files.files.v[i].first.path, libraries, &best);
	return best.runtime;
}

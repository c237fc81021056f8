/* SPDX-License-Identifier: MIT */
/* Runtimes that are part of the program they run: known by functions that the program has, not by its name. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "elf/image.h"
#include "proc/process.h"
#include "proc/runtime.h"

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
	struct ut_err err = {0};

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

	snprintf(exe, sizeof exe, "/proc/%d/exe", pid);
	return !stat(exe, &st) && mapping_is_of(m, &st);
}

const struct runtime *runtime_of_mapping(const struct runtimes *r, int pid, const struct mapping *m)
{
	const struct runtime *found = runtime_of_file(r, m->path);
	AUTO_CLOSE int fd = -1;

	if (found || !is_program(pid, m))
		return found;
	fd = mapping_open(pid, m, NULL);
	return fd < 0 ? NULL : runtime_of_symbols(r, fd);
}

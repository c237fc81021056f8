/* SPDX-License-Identifier: MIT */
/* The cache of program files, keyed by device and inode: while a file is open here, its inode cannot be reused. */
#include "sym/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

static void file_free(struct sym_file *f)
{
	if (!f)
		return;
	elf_image_free(f->img);
	free(f->name);
	free(f);
}

static struct sym_file *find(const struct sym_files *files, const struct file_id *id)
{
	for (size_t i = 0; i < files->all.n; i++) {
		struct sym_file *f = files->all.v[i];

		if (f->img && f->id.dev == id->dev && f->id.ino == id->ino)
			return f;
	}
	return NULL;
}

static struct elf_image *open_image(pid_t pid, const struct mapping *m)
{
	AUTO_CLOSE int fd = mapping_open(pid, m, NULL);
	struct elf_image *img;

	if (fd < 0 || elf_image_open(fd, &img, NULL))
		return NULL;
	return img;
}

struct sym_file *sym_files_get(struct sym_files *files, pid_t pid, const struct mapping *m)
{
	struct sym_file *f = find(files, &m->file);
	const char *slash = strrchr(m->path, '/');

	if (f) {
		f->refs++;
		return f;
	}
	f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->id = m->file;
	f->refs = 1;
	f->name = strdup(slash ? slash + 1 : m->path);
	if (!f->name || vec_push(&files->all, f)) {
		file_free(f);
		return NULL;
	}
	f->img = open_image(pid, m);
	return f;
}

void sym_files_put(struct sym_files *files, struct sym_file *file)
{
	if (!file || --file->refs)
		return;
	for (size_t i = 0; i < files->all.n; i++)
		if (files->all.v[i] == file) {
			files->all.v[i] = files->all.v[--files->all.n];
			break;
		}
	file_free(file);
}

void sym_files_done(struct sym_files *files)
{
	for (size_t i = 0; i < files->all.n; i++)
		file_free(files->all.v[i]);
	vec_done(&files->all);
}

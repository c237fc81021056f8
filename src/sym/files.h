/* SPDX-License-Identifier: MIT */
/* Program files that are kept open for their symbols, each once, whoever has mapped it. For this layer only. */
#ifndef UT_SYM_FILES_H
#define UT_SYM_FILES_H

#include "base/vec.h"
#include "elf/image.h"
#include "proc/process.h"

struct sym_file {
	struct file_id id;
	char *name;		/* base name of the path it was first seen under */
	struct elf_image *img;	/* NULL: could not be opened, or is no ELF file */
	unsigned refs;
};

struct sym_files { VEC(struct sym_file *) all; };

/* The file behind a mapping, opened now unless it is known; one reference for the caller. NULL: out of memory. */
struct sym_file *sym_files_get(struct sym_files *files, pid_t pid, const struct mapping *m);
/* Gives a reference back; the last one closes the file. */
void sym_files_put(struct sym_files *files, struct sym_file *file);
void sym_files_done(struct sym_files *files);

#endif

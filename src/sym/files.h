/* SPDX-License-Identifier: MIT */
/* Program files that are kept open for their symbols, each once, whoever has mapped it. For this layer only. */
#ifndef UT_SYM_FILES_H
#define UT_SYM_FILES_H

#include "base/index.h"
#include "base/vec.h"
#include "elf/image.h"
#include "proc/process.h"

enum sym_file_state {
	SYM_FILE_OPEN,
	SYM_FILE_NOT_ELF,
	SYM_FILE_BROKEN, /* an ELF file that contradicts itself */
	SYM_FILE_GONE, /* it, or the process it was to be reached through */
	SYM_FILE_DENIED,
	SYM_FILE_TOO_MANY, /* no more descriptors */
};

struct sym_file {
	struct file_id id;
	uint64_t size, mtime_ns; /* when it was opened: a file that was written to since is another one */
	char *path; /* it was first seen under */
	const char *name; /* its base name, in path */
	struct elf_image *img; /* NULL unless state is SYM_FILE_OPEN */
	enum sym_file_state state;
	uint32_t number; /* never given twice */
	struct elf_lines *lines; /* NULL: not asked for, or there are none */
	bool lines_tried;
};

struct sym_files {
	VEC(struct sym_file *) all;
	struct index index; /* by device and inode */
	uint32_t last_number;
};

/*
 * The file behind a mapping, opened now unless it is known; it belongs to @files. NULL: out of memory. @err gets a
 * sentence when the file is new and could not be opened.
 */
struct sym_file *sym_files_get(struct sym_files *files, pid_t pid, const struct mapping *m, struct ut_err *err);
void sym_files_done(struct sym_files *files);

#endif

/* SPDX-License-Identifier: MIT */
/* Shared by unwind_maps.c (processes) and unwind_tables.c (files and their rows). */
#ifndef UT_SAMPLE_UNWIND_PRIV_H
#define UT_SAMPLE_UNWIND_PRIV_H

#include "base/index.h"
#include "elf/unwind.h"
#include "sample/ranges.h"
#include "sample/unwind_maps.h"
#include "wire/unwind.h"

/* A mapped file. The build ID, if it has one, identifies copies of the file, which share a table. */
struct unwind_file {
	struct file_id id;
	uint64_t changed_ns, size; /* with the id, they tell a reused inode number apart */
	struct elf_build_id build_id;
	bool is_elf, has_table;
	uint32_t code; /* enum ut_unwind_code */
	uint32_t directory, first_page, pages;
	uint32_t first_chunk, chunks;
	struct elf_segment *segments; /* owned: file offsets to addresses */
	size_t nsegments;
	unsigned users; /* processes */
	struct unwind_file *same; /* the file with the same build ID whose table it uses; NULL: its own */
};

struct unwind_tables {
	struct unwind_fds fds;
	struct ranges chunks, directory;
	VEC(int) segments; /* descriptors of the inner arrays made so far */
	VEC(struct unwind_file *) files;
	struct ut_unwind_rule *rules; /* as the kernel has them */
	uint32_t nrules;
	struct index rule_index;
	size_t with_table;
};

int unwind_tables_open(struct unwind_tables *t, const struct unwind_fds *fds);
void unwind_tables_done(struct unwind_tables *t);
/* The file behind a mapping, its table in the kernel. NULL: out of memory. Counts no user. */
struct unwind_file *unwind_tables_get(struct unwind_tables *t, pid_t pid, const struct mapping *m);
/* Address minus vaddr for a mapping of @f at file offset m->offset; false: no segment lies there. */
bool unwind_file_bias(const struct unwind_file *f, const struct mapping *m, uint64_t *ret);

#endif

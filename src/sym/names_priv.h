/* SPDX-License-Identifier: MIT */
/* Shared by the files behind sym/names.h. For this layer only. */
#ifndef UT_SYM_NAMES_PRIV_H
#define UT_SYM_NAMES_PRIV_H

#include "base/hash.h"
#include "base/index.h"
#include "base/intern.h"
#include "sym/code.h"
#include "sym/files.h"
#include "sym/history.h"
#include "sym/kallsyms.h"
#include "sym/names.h"

#define NAMES_NOTES_MAX 64 /* sentences */

/* One program that a process ran: from its start, or an exec, to its end, or the next exec. */
struct incarnation {
	pid_t pid;
	uint64_t begin, end; /* end: UINT64_MAX while it lives */
	uint64_t read_ns; /* when its mappings were last read; before that, its begin */
	bool was_read;
	uint64_t again_ns; /* pause before its mappings are read again for an address that is in none */
	struct history history;
	struct code_maps *code; /* NULL: no JIT code is known */
	struct incarnation *parent; /* its code from before the fork is mapped here as well */
	uint64_t forked_ns;
	const char *hint, *frame_hint; /* flags that would give names, and stacks */
	unsigned children; /* incarnations with this parent */
};

struct known_process {
	pid_t pid;
	VEC(struct incarnation *) all; /* by begin */
};

/* The frames at an address of a file. */
struct known_place {
	uint64_t file, vaddr; /* file: its number */
	uint32_t first; /* of names.frames */
};

struct known_symbol {
	uint64_t file, vaddr;
	const char *name;
};

/* Strings that live as long as the object, in blocks that do not move. */
struct text_block {
	struct text_block *next;
	size_t used, size;
	char bytes[];
};

struct names {
	struct names_options options;
	struct sym_files files;
	VEC(struct known_process) processes;
	struct index process_index; /* by pid */
	VEC(struct incarnation *) with_code; /* all that have code maps */
	int watch_fd; /* inotify, -1: none */
	uint64_t looked_ns; /* when all maps were last polled */

	struct text_block *blocks;
	struct strings strings;
	VEC(struct frame) frames; /* of all places */
	VEC(struct known_place) places; /* resolved already: the frames of each end where those of the next begin */
	struct index place_index;
	VEC(struct known_symbol) symbols; /* whose names were demangled */
	struct index symbol_index;
	struct elf_image *vdso;
	bool vdso_tried;

	VEC(pid_t) missed; /* of names_missed */

	struct kallsyms kernel;
	bool kernel_tried, kernel_hidden;

	VEC(const char *) notes;
	VEC(const char *) all_notes; /* with those of code maps; made by names_notes */
};

/* A copy of @text, the same pointer for equal ones. "" when out of memory. */
const char *names_intern(struct names *n, const char *text);
const char *names_internf(struct names *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A sentence for names_notes; a bounded number is kept, each once. */
void names_note(struct names *n, const char *sentence);

/* The incarnation that lived at @time_ns; NULL: none is known. */
struct incarnation *names_incarnation(struct names *n, pid_t pid, uint64_t time_ns);
/* The living incarnation, or the last one. */
struct incarnation *names_latest(struct names *n, pid_t pid);
void names_processes_done(struct names *n);
/*
 * With `live`: reads the mappings of a process again, for an address that is in none. As long as that finds nothing it
 * reads ever less often, since broken stacks have such addresses; the caller resets again_ns when it did. False: not read.
 */
bool names_reread(struct names *n, pid_t pid);

/* Appends the frames at @vaddr of @file, exactly there. */
void names_in_file(struct names *n, struct sym_file *file, uint64_t vaddr, struct frames *ret);
/* Does @file know a function there? */
bool names_file_knows(struct names *n, struct sym_file *file, uint64_t vaddr);
/* Address in the file's own numbering of @addr in @p; false: no segment of the file is mapped there. */
bool names_vaddr(const struct place *p, uint64_t addr, uint64_t *ret);
struct frame names_in_vdso(struct names *n, const struct place *p, uint64_t addr);

/* Polls all maps and dumps. */
void names_poll_all(struct names *n, uint64_t time_ns);

#endif

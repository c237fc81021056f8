/* SPDX-License-Identifier: MIT */
/* The executable mappings of a process over time. For this layer only. Pure: no files, no processes. */
#ifndef UT_SYM_HISTORY_H
#define UT_SYM_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "sym/files.h"

enum place_kind {
	PLACE_FILE, /* a program file, or one that could not be opened */
	PLACE_DATA, /* a file that is no program: a runtime's saved heap */
	PLACE_MEMORY, /* written by the program itself: JIT code */
	PLACE_VDSO,
	PLACE_VSYSCALL,
	PLACE_UPROBES,
	PLACE_DUMP, /* a jitdump, which its writer maps for tracers to find */
};

/* Memory with a path: mapped twice, once writable and once executable. */
bool place_is_named_memory(const struct mapping *m);
/* jit-PID.dump: its writer maps it executable, for tracers to see. */
bool place_is_dump(const struct mapping *m);
/* @file is the file of @m, NULL for memory. */
enum place_kind place_kind_of(const struct mapping *m, const struct sym_file *file);

struct place {
	uint64_t start, end, offset; /* addresses; file offset of start */
	uint64_t from, to; /* mapped at times t, from <= t < to; UINT64_MAX: still mapped */
	struct sym_file *file; /* for all that have a file; borrowed */
	enum place_kind kind;
};

/* Past places of the same addresses, neighbours in history.past, by time. */
struct past_run {
	uint64_t start, end;
	uint64_t reach; /* the highest end of this run and all before it */
	size_t first, n;
};

struct history {
	VEC(struct place) now; /* by address, without overlaps */
	VEC(struct place) past;
	VEC(struct past_run) runs; /* of past, by address; built at the first lookup */
	bool indexed;
};

/* The mapping at @addr at @time_ns; NULL: none is known. Valid until the next change. */
const struct place *history_at(struct history *h, uint64_t addr, uint64_t time_ns);
/* Adds a mapping from p->from on and ends those that it overlaps. Additions may be late: mappings that are known to be newer
 * stay. 0 or -ENOMEM. */
int history_add(struct history *h, const struct place *p);
/* Ends all mappings in the range at @time_ns. */
int history_remove(struct history *h, uint64_t start, uint64_t end, uint64_t time_ns);
/* The current mapping at @addr; NULL: none. */
const struct place *history_now(const struct history *h, uint64_t addr);
/* Does a current mapping overlap @p that is not part of the same mapping of its file, or of memory? */
bool history_contradicts(const struct history *h, const struct place *p);
/* Adds the mappings of @from at @time_ns to @h, which is empty. */
int history_copy(struct history *h, const struct history *from, uint64_t time_ns);
void history_done(struct history *h);

#endif

/* SPDX-License-Identifier: MIT */
/* What lay where in a process's memory, and when: code only. For this layer only. Pure: no files, no processes. */
#ifndef UT_SYM_HISTORY_H
#define UT_SYM_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "sym/files.h"

enum place_kind {
	PLACE_FILE, /* a program file, or one that could not be opened */
	PLACE_DATA, /* a file that is no program: a runtime's saved heap */
	PLACE_MEMORY, /* written by the program itself: compiled at run time */
	PLACE_VDSO,
	PLACE_VSYSCALL,
	PLACE_UPROBES,
	PLACE_DUMP, /* a jitdump, mapped by its writer to announce it */
};

/* Memory that bears a name: shared between two views of it, so that one can be written and the other executed. */
bool place_is_named_memory(const struct mapping *m);
/* jit-PID.dump: its writer maps it executable, for tracers to see. */
bool place_is_dump(const struct mapping *m);
/* @file is the one behind @m, NULL for memory. */
enum place_kind place_kind_of(const struct mapping *m, const struct sym_file *file);

struct place {
	uint64_t start, end, offset; /* addresses; file offset of start */
	uint64_t from, to; /* it was there at times t, from <= t < to; UINT64_MAX: it still is */
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
	VEC(struct past_run) runs; /* of past, by address; made when first asked for */
	bool indexed;
};

/* What was at @addr at @time_ns; NULL: nothing that is known. Valid until the next change. */
const struct place *history_at(struct history *h, uint64_t addr, uint64_t time_ns);
/* From p->from on @p is there, and what it overlaps is there no longer. News may be late: what is known to have come
 * after it stays. 0 or -ENOMEM. */
int history_add(struct history *h, const struct place *p);
/* Nothing is there from @time_ns on. */
int history_remove(struct history *h, uint64_t start, uint64_t end, uint64_t time_ns);
/* What is at @addr now; NULL: nothing. */
const struct place *history_now(const struct history *h, uint64_t addr);
/* True when something else is there now: not the same file at the same place, nor memory as well. */
bool history_contradicts(const struct history *h, const struct place *p);
/* Adds all that is in @from at @time_ns to @h, which is empty. */
int history_copy(struct history *h, const struct history *from, uint64_t time_ns);
void history_done(struct history *h);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files behind collect.h share: open spans, their processes, what values say. Nobody else includes this. */
#ifndef UT_MODEL_COLLECT_PRIV_H
#define UT_MODEL_COLLECT_PRIV_H

#include <sys/queue.h>

#include "base/vec.h"
#include "model/collect.h"
#include "wire/record.h"

#define COLLECT_BUCKETS 4096 /* of open spans; a power of two */
#define COLLECT_PROC_BUCKETS 1024
#define COLLECT_VALUES_MAX 32 /* of a begin, kept until its end */
#define COLLECT_VALUE_TEXT 1024 /* bytes of one of them */

TAILQ_HEAD(collect_items, collect_item);

/* An open span. Those that «only» leaves out are kept to find their ends; they are in no list of_def and of_kind. */
struct collect_item {
	LIST_ENTRY(collect_item) of_bucket; /* the newest first */
	TAILQ_ENTRY(collect_item) of_proc, of_def, of_kind; /* the oldest first */
	struct collect_proc *proc;
	unsigned def;
	bool left_out, has_state;
	bool undecided; /* left out, unless what comes later says that it is one of these */
	uint64_t key;
	struct ut_rec_state state;
	struct collect_span span; /* as far as it is known */
	size_t nvalues;
	struct collect_value *values; /* behind the item, with their names and texts */
};

struct collect_proc_def {
	struct collect_items items; /* of all threads */
	uint64_t numbered;
	uint64_t inherited; /* open in the parent when it forked */
	bool seen; /* a begin or an end */
};

struct collect_proc {
	LIST_ENTRY(collect_proc) of_bucket;
	TAILQ_ENTRY(collect_proc) of_all;
	uint32_t pid;
	bool started; /* at started_ns; nothing earlier is its own */
	uint64_t started_ns;
	struct collect_items items;
	size_t nitems;
	struct collect_items *kinds; /* behind the definitions */
	struct collect_proc_def defs[];
};

struct collect {
	const struct collect_def *defs;
	size_t ndefs, nkinds;
	unsigned *kind_of; /* of a definition */
	bool *nests; /* two of a definition were open at once where one end would close either */
	uint64_t start_ns, base_ns;
	bool lost;
	uint64_t lost_since_ns, lost_until_ns; /* the latest */
	int (*fn)(void *ctx, const struct collect_span *span);
	void *ctx;
	struct collect_counts counts;
	VEC(struct collect_value) joined; /* values of the span that is handed out */
	TAILQ_HEAD(, collect_proc) procs;
	LIST_HEAD(, collect_proc) proc_bucket[COLLECT_PROC_BUCKETS];
	LIST_HEAD(, collect_item) bucket[COLLECT_BUCKETS];
};

/* collect_value.c: what values mean. */
enum collect_fit { COLLECT_FITS, COLLECT_FITS_NOT, COLLECT_FIT_UNKNOWN }; /* unknown: a value is not there */

const struct collect_value *collect_value_of(const struct collect_event *e, const char *name);
enum collect_fit collect_only_fits(const struct collect_def *def, const struct collect_event *e);
/* What an event of this role adds to what is known of the span. */
void collect_learn(struct collect_span *span, const struct collect_event *e);
/* All has been learned: what follows of it, and how it is called. */
void collect_conclude(struct collect_span *span);

/* collect_open.c: processes and their open spans. */
struct collect_proc *collect_proc_find(const struct collect *c, uint32_t pid);
struct collect_proc *collect_proc_get(struct collect *c, uint32_t pid); /* NULL: no memory */
void collect_proc_drop(struct collect *c, struct collect_proc *proc); /* with its items, told to nobody */
uint64_t collect_key(const struct collect *c, const struct collect_event *e);
/* An open span that begins with this event; @fit: what its values say on «only». NULL: no memory. */
struct collect_item *collect_item_new(struct collect *c, struct collect_proc *proc, const struct collect_event *e,
				      enum collect_fit fit);
/* It is one of these: from now on it is not left out. */
void collect_item_decide(struct collect *c, struct collect_item *item);
void collect_item_drop(struct collect *c, struct collect_item *item);
/* The newest that an end of this key closes; @fit: what its own values say on «only». */
struct collect_item *collect_item_find(const struct collect *c, const struct collect_proc *proc, unsigned def,
				       uint64_t key, enum collect_fit fit);

#endif

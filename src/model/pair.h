/* SPDX-License-Identifier: MIT */
/*
 * The pairing engine under user spans (span.h) and spans of runtimes (collect.h): which begin an end closes, what else closes
 * one, and what an end without a begin is. docs/spans.md has the rules. Pure: fed in time order. Knows nothing of rings,
 * processes or output. One thread.
 *
 * Memory is bounded: of more open pairs than the limits allow, the oldest of the process that has most is evicted. What an
 * event costs does not depend on how many are open.
 */
#ifndef UT_MODEL_PAIR_H
#define UT_MODEL_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/span.h"

enum pair_by { PAIR_BY_THREAD, PAIR_BY_PROCESS, PAIR_BY_ID }; /* PAIR_BY_ID: by id within the process */

/* What an end must have in common with its begin, beside the process: all but the time, and but the thread where by says so. */
struct pair_event {
	uint64_t time_ns;
	uint32_t pid, tid;
	enum pair_by by;
	uint64_t id; /* 0 without one */
	uint64_t what; /* whatever the owner tells spans apart by */
	const void *name; /* any bytes; copied */
	size_t name_len;
};

struct pair_limits {
	size_t per_process, all; /* open pairs */
	size_t idle; /* processes, threads and names without open pairs that are remembered, each */
	size_t heritage, all_heritage; /* pairs that a child knows of its parent, and all children */
};

struct pair; /* an open begin */
struct pairs;

struct pairs_options {
	struct pair_limits limits;
	size_t process_room; /* bytes of pairs_process() */
	/* A process is watched from its start on, if that is seen: then an end without a begin is an orphan. */
	bool sees_starts;
	/*
	 * For each pair that ends, by its own end too; it must not call back. The first negative result is that of the call
	 * in which pairs end. @span is NULL after it: the others go and are not told.
	 */
	int (*ended)(void *ctx, struct pair *pair, struct span *span);
	void *ctx;
};

struct pairs *pairs_new(const struct pairs_options *options); /* NULL: out of memory */
struct pairs *pairs_free(struct pairs *p);

/*
 * The new pair with @room zeroed bytes for its owner (pair_data), who fills them and then calls pairs_trim(). NULL: out of
 * memory, and nothing has changed.
 */
struct pair *pairs_begin(struct pairs *p, const struct pair_event *e, size_t room);
/* Evicts one pair if @pair made it too many; it may be @pair. The result of ended(), here and below. */
int pairs_trim(struct pairs *p, struct pair *pair);
/* The newest open pair that @e as an end closes; NULL. */
struct pair *pairs_newest(const struct pairs *p, const struct pair_event *e);
/* Its own end, from the thread @tid. */
int pairs_end(struct pairs *p, struct pair *pair, uint64_t time_ns, uint32_t tid);
/* The end by something else. */
int pairs_close(struct pairs *p, struct pair *pair, uint64_t time_ns, enum span_end how);
/* What an end is that closes nothing. *@ret_since_ns: earlier its begin cannot have been, as far as is known. */
enum span_end pairs_without(struct pairs *p, const struct pair_event *e, uint64_t *ret_since_ns);

int pairs_fork(struct pairs *p, uint64_t time_ns, uint32_t pid, uint32_t child);
int pairs_exec(struct pairs *p, uint64_t time_ns, uint32_t pid);
int pairs_thread_exit(struct pairs *p, uint64_t time_ns, uint32_t pid, uint32_t tid);
int pairs_process_exit(struct pairs *p, uint64_t time_ns, uint32_t pid, bool code_known, int code);
/* Events are missing between the two times: of @pid, or with 0 of nobody knows whom. */
void pairs_lost(struct pairs *p, uint32_t pid, uint64_t since_ns, uint64_t until_ns);
/* Were any lost after @ns that may be of @pair's process? */
bool pairs_lost_after(const struct pairs *p, const struct pair *pair, uint64_t ns, uint64_t *ret_until_ns);
/* The stream ends: closes all as SPAN_OPEN. */
int pairs_stop(struct pairs *p, uint64_t time_ns);

/* The owner's bytes of a process: zeroed at the first call for its program. @create false: NULL where there are none. */
void *pairs_process(struct pairs *p, uint32_t pid, bool create);

void *pair_data(struct pair *pair);
void *pair_process(const struct pair *pair); /* as pairs_process() */
struct pair *pair_older(const struct pair *pair); /* the next older one that the same end would close; NULL */
bool pair_is_newer(const struct pair *a, const struct pair *b);
struct pair_event pair_begun(const struct pair *pair); /* its begin; the name is the pair's copy */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The pairing engine under user spans (span.h) and spans of runtimes (collect.h): it determines which begin an end closes,
 * which begins other events close, and the cause of an end without a begin, by the rules of docs/spans.md. Pure: fed in
 * time order, independent of rings, processes and output. One thread.
 *
 * Memory is bounded: beyond the limits, the oldest open pair of the process with the most is evicted. The cost of an event
 * does not depend on the number of open pairs.
 */
#ifndef UT_MODEL_PAIR_H
#define UT_MODEL_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/span.h"

/* An end closes a begin that is equal in all but the time, and the thread unless it is PAIR_BY_THREAD. */
struct pair_event {
	uint64_t time_ns;
	uint32_t pid, tid;
	enum pair_by by;
	uint64_t id; /* 0 without one */
	uint64_t what; /* the owner's: spans with different values never pair */
	const void *name; /* any bytes; copied */
	size_t name_len;
};

struct pair_limits {
	size_t per_process, all; /* open pairs */
	size_t idle; /* remembered processes, threads and names without open pairs, each */
	size_t heritage, all_heritage; /* inherited pairs, of a child and of all children */
};

struct pair; /* an open begin */
struct pairs;

struct pairs_options {
	struct pair_limits limits;
	size_t process_room; /* bytes of pairs_process() */
	/* Processes whose start is seen are watched from then on: an end without a begin is an orphan. */
	bool sees_starts;
	/*
	 * Called for each pair that ends, also by its own end; must not call back. The call in which pairs end returns the
	 * first negative result. After it @span is NULL: the remaining pairs end without a report.
	 */
	int (*ended)(void *ctx, struct pair *pair, struct span *span);
	void *ctx;
};

struct pairs *pairs_new(const struct pairs_options *options); /* NULL: out of memory */
struct pairs *pairs_free(struct pairs *p);

/*
 * The new pair with @room zeroed bytes for its owner (pair_data), which fills them and then calls pairs_trim(). NULL: out
 * of memory, and nothing has changed.
 */
struct pair *pairs_begin(struct pairs *p, const struct pair_event *e, size_t room);
/* Evicts one pair, possibly @pair, if there are now too many. Returns the result of ended(), also below. */
int pairs_trim(struct pairs *p, struct pair *pair);
/* The newest open pair that @e as an end closes; NULL: none. */
struct pair *pairs_newest(const struct pairs *p, const struct pair_event *e);
/* @pair ends by its own end, in the thread @tid. */
int pairs_end(struct pairs *p, struct pair *pair, uint64_t time_ns, uint32_t tid);
/* Another event ends @pair. */
int pairs_close(struct pairs *p, struct pair *pair, uint64_t time_ns, enum span_end how);
/* The cause of an end without a begin. *@ret_since_ns: the earliest possible time of its begin. */
enum span_end pairs_without(struct pairs *p, const struct pair_event *e, uint64_t *ret_since_ns);

int pairs_fork(struct pairs *p, uint64_t time_ns, uint32_t pid, uint32_t child);
int pairs_exec(struct pairs *p, uint64_t time_ns, uint32_t pid);
int pairs_thread_exit(struct pairs *p, uint64_t time_ns, uint32_t pid, uint32_t tid);
int pairs_process_exit(struct pairs *p, uint64_t time_ns, uint32_t pid, bool code_known, int code);
/* Events of @pid, with 0 of unknown processes, were lost between the two times. */
void pairs_lost(struct pairs *p, uint32_t pid, uint64_t since_ns, uint64_t until_ns);
/* Were events lost after @ns that may be of the process of @pair? */
bool pairs_lost_after(const struct pairs *p, const struct pair *pair, uint64_t ns, uint64_t *ret_until_ns);
/* The stream ends: closes all as SPAN_OPEN. */
int pairs_stop(struct pairs *p, uint64_t time_ns);

/* The owner's bytes of a process, zeroed at the first call for its program. NULL: out of memory, or none without @create. */
void *pairs_process(struct pairs *p, uint32_t pid, bool create);

void *pair_data(struct pair *pair);
void *pair_process(const struct pair *pair); /* as pairs_process() */
struct pair *pair_older(const struct pair *pair); /* the next older one that the same end would close; NULL: none */
bool pair_is_newer(const struct pair *a, const struct pair *b);
struct pair_event pair_begun(const struct pair *pair); /* its begin; the name is the pair's copy */

#endif

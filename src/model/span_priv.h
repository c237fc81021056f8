/* SPDX-License-Identifier: MIT */
/* What the files of the pairing of spans share: the open spans and the indexes over them. Nobody else includes this. */
#ifndef UT_MODEL_SPAN_PRIV_H
#define UT_MODEL_SPAN_PRIV_H

#include "model/span.h"

/* A doubly linked ring; a member that is in none points to itself. */
struct link {
	struct link *prev, *next;
};

#define link_of(l, type, member) ((type *)((char *)(l)-offsetof(type, member)))

static inline void link_init(struct link *l) { l->prev = l->next = l; }
static inline bool link_is_alone(const struct link *l) { return l->next == l; }

static inline void link_push(struct link *head, struct link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void link_drop(struct link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	link_init(l);
}

/*
 * Tables of what has open spans, and of what had some until lately: of members without users the latest @max_idle are
 * kept. A member begins with its node.
 */
struct node {
	uint64_t hash;
	struct node *next; /* with the same bucket */
	struct link idle;
	size_t users;
};

#define TABLE_FIRST 64 /* buckets; a power of two */

struct table {
	struct node **bucket;
	size_t n_buckets, n, n_idle, max_idle;
	struct link idle; /* the longest idle first */
	void (*drop)(void *ctx, struct node *n); /* frees a member that has left */
	void *ctx;
	struct node *first[TABLE_FIRST];
};

void table_init(struct table *t, size_t max_idle, void (*drop)(void *ctx, struct node *n), void *ctx);
/* The new member is idle until it is used; the longest idle other one may be dropped. */
void table_add(struct table *t, struct node *n, uint64_t hash);
void table_use(struct table *t, struct node *n);
void table_unuse(struct table *t, struct node *n);
/* Drops all, used or not, and gives the memory back. */
void table_clear(struct table *t);

static inline struct node *table_bucket(const struct table *t, uint64_t hash)
{
	return t->bucket[hash & (t->n_buckets - 1)];
}

/* Times between which events are missing; only the latest end matters, as the stream is in order. */
struct loss {
	bool any;
	uint64_t until_ns;
};

/* What a process brought from its parent: how many spans of each name and id, by hash. */
struct heritage;

struct span_proc {
	struct node node;
	uint32_t pid;
	bool started; /* its program was seen to start, at started_ns; earlier events are not its own */
	uint64_t started_ns;
	struct loss loss;
	struct link items; /* the oldest first */
	size_t open;
	struct span_proc *busy_prev, *busy_next; /* with as many open */
	struct heritage *heritage;
	struct link heir;
};

struct span_thread {
	struct node node;
	uint32_t pid, tid;
	bool started;
	uint64_t started_ns;
	struct link all, plain, straight; /* of items: all; without id; of these not crossed yet. The oldest first */
	size_t n_plain;
};

/* What an end looks for: a name in a thread, or a name with an id in a process. */
struct span_key {
	struct node node;
	uint64_t inner; /* hash of name and id alone */
	uint32_t pid, tid; /* tid: 0 with an id */
	bool has_id;
	uint64_t id;
	uint64_t begun_ns; /* the latest begin */
	struct link items; /* the oldest first */
	size_t name_len;
	char name[];
};

/* An open span. */
struct span_item {
	struct span_key *key;
	struct span_proc *proc;
	struct span_thread *thread; /* NULL: it has ended meanwhile */
	struct link of_all, of_key, of_proc, of_thread, of_plain, of_straight;
	uint64_t seq;
	uint32_t tid;
	unsigned depth;
	bool crossed;
	int64_t value;
	uint64_t begin_ns;
	uint64_t inner_ns, inner_until_ns; /* time of spans directly inside, and the end of the last of them */
};

struct span_limits {
	size_t per_process, all, idle, heritage, all_heritage;
};

struct spans {
	void (*closed)(void *ctx, const struct span *span);
	void *ctx;
	struct span_limits limits;
	struct span_counts counts;
	uint64_t seed[2];
	struct table procs, threads, keys;
	struct link items; /* all that are open, the oldest first */
	size_t open;
	uint64_t seq;
	struct loss loss; /* of nobody knows whom */
	struct span_proc **busy; /* by number of open spans; the latest change first */
	size_t most;
	struct link heirs; /* processes with a heritage, the oldest first */
	size_t n_heritage;
};

/* For tests: spans_new with other limits. */
struct spans *spans_new_limited(void (*closed)(void *ctx, const struct span *span), void *ctx,
				const struct span_limits *limits);

/* span_close.c. How a span ends: its times, its flags, and what of it belongs to the spans around it. */
struct span_ending {
	uint64_t time_ns;
	enum span_end how;
	bool exit_known;
	int exit_code;
};

void span_count_open(struct spans *s, struct span_proc *proc, bool more);
/* Takes the item out of all indexes and frees it. */
void span_remove(struct spans *s, struct span_item *item);
/* The item's own end, from the thread @tid. */
void span_finish(struct spans *s, struct span_item *item, uint64_t time_ns, uint32_t tid, struct span *ret);
/* Something else's end: told to the owner of @s. */
void span_close(struct spans *s, struct span_item *item, const struct span_ending *ending);
void span_close_process(struct spans *s, struct span_proc *proc, const struct span_ending *ending);
/* Those without id; the others go on without a thread. */
void span_close_thread(struct spans *s, struct span_thread *thread, const struct span_ending *ending);

/* span_inherit.c */
void heritage_give(struct spans *s, const struct span_proc *parent, struct span_proc *child);
/* True once for each span that came with the process. */
bool heritage_take(struct span_proc *proc, uint64_t inner);
void heritage_free(struct spans *s, struct span_proc *proc);

#endif

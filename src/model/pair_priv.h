/* SPDX-License-Identifier: MIT */
/* Private to the pairing engine: the open pairs and their indexes. */
#ifndef UT_MODEL_PAIR_PRIV_H
#define UT_MODEL_PAIR_PRIV_H

#include "base/index.h"
#include "base/vec.h"
#include "model/pair.h"

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
 * Tables of members with open pairs, and of the latest @max_idle members without. A member begins with its node.
 */
struct node {
	uint64_t hash;
	uint32_t number; /* in members */
	size_t users;
	struct link idle;
};

struct table {
	struct index index;
	VEC(struct node *) members; /* by number; NULL: the number is free */
	VEC(uint32_t) free; /* as much room as members has */
	size_t n_idle, max_idle;
	struct link idle; /* the longest idle first */
	void (*drop)(void *ctx, struct node *n); /* frees a member that has left */
	void *ctx;
};

void table_init(struct table *t, size_t max_idle, void (*drop)(void *ctx, struct node *n), void *ctx);
/* The new member is idle until it is used; the longest idle other one may be dropped. 0 or -ENOMEM. */
int table_add(struct table *t, struct node *n, uint64_t hash);
void table_use(struct table *t, struct node *n);
void table_unuse(struct table *t, struct node *n);
/* Drops all members, used or not, and frees the memory of the table. */
void table_clear(struct table *t);

/* The member under @hash for which @condition holds of @n, a pointer to it; NULL. */
#define table_find(table_, hash_, type, n, condition) \
	({ \
		const struct table *find_table_ = (table_); \
		type *n = NULL; \
		uint32_t found_ = index_find(&find_table_->index, hash_, number_, \
					     (n = (type *)find_table_->members.v[number_], condition)); \
		found_ == INDEX_NONE ? NULL : n; \
	})

/* The latest time span in which events were lost. */
struct loss {
	bool any;
	uint64_t since_ns, until_ns;
};

/* The pairs that were open in the parent at the fork: how many of each key, by hash. */
struct heritage;

struct pair_proc {
	struct node node;
	uint32_t pid;
	bool started; /* its program was seen to start, at started_ns; earlier events are of another program */
	uint64_t started_ns;
	struct loss loss;
	struct link pairs; /* the oldest first */
	size_t open;
	struct pair_proc *busy_prev, *busy_next; /* with as many open */
	struct heritage *heritage;
	struct link heir;
	void *data; /* the owner's; NULL: not asked for */
};

struct pair_thread {
	struct node node;
	uint32_t pid, tid;
	bool started;
	uint64_t started_ns;
	struct link all, plain, straight; /* of pairs: all; by thread; of these not crossed yet. The oldest first */
	size_t n_plain;
};

/* Begins that the same end closes. */
struct pair_key {
	struct node node;
	uint64_t inner; /* hash without process and thread */
	uint32_t pid, tid; /* tid: 0 where it does not matter */
	enum pair_by by;
	uint64_t id, what;
	uint64_t begun_ns; /* the latest begin */
	struct link pairs; /* the oldest first */
	size_t name_len;
	char name[];
};

struct pair {
	struct pair_key *key;
	struct pair_proc *proc;
	struct pair_thread *thread; /* NULL: it has ended meanwhile */
	/* Members that neighbors in these lists access come first, for few cache misses. by_thread: as key->by. */
	struct link of_all, of_proc, of_thread;
	uint64_t begin_ns;
	uint64_t inner_ns, inner_until_ns; /* time of pairs directly inside, and the end of the last of them */
	bool by_thread, crossed;
	uint32_t tid;
	struct link of_key, of_plain, of_straight;
	uint64_t seq;
	unsigned depth;
	_Alignas(max_align_t) char data[];
};

struct pairs {
	struct pairs_options options;
	struct table procs, threads, keys;
	struct link pairs; /* all that are open, the oldest first */
	size_t open;
	uint64_t seq;
	struct loss loss; /* of unknown processes */
	struct pair_proc **busy; /* by number of open pairs; the latest change first */
	size_t most;
	struct link heirs; /* processes with a heritage, the oldest first */
	size_t n_heritage;
	int r; /* the first negative result of ended() in this call */
};

/* pair_close.c: how a pair ends. */
struct pair_ending {
	uint64_t time_ns;
	enum span_end how;
	uint32_t tid; /* SPAN_COMPLETE */
	bool exit_known;
	int exit_code;
};

void pair_count(struct pairs *p, struct pair_proc *proc, bool more);
/* Removes the pair from all lists and frees it. */
void pair_remove(struct pairs *p, struct pair *pair);
void pair_finish(struct pairs *p, struct pair *pair, const struct pair_ending *ending);
void pair_finish_process(struct pairs *p, struct pair_proc *proc, const struct pair_ending *ending);
/* Ends those by thread; the others stay open without a thread. */
void pair_finish_thread(struct pairs *p, struct pair_thread *thread, const struct pair_ending *ending);

/* pair_inherit.c */
void heritage_create(struct pairs *p, const struct pair_proc *parent, struct pair_proc *child);
/* True once for each inherited pair. */
bool heritage_consume(struct pair_proc *proc, uint64_t inner);
void heritage_free(struct pairs *p, struct pair_proc *proc);

#endif

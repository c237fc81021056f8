/* SPDX-License-Identifier: MIT */
/*
 * The heap: an old space that is marked and swept and, with the generational collector, a nursery, from which live
 * objects are copied into the old space. Threads allocate from areas of their own, so that they rarely need the lock.
 */
#ifndef MINIVM_HEAP_H
#define MINIVM_HEAP_H

#include <pthread.h>

#include "value.h"

struct vm;
struct mutator;

#define SMALL_MAX 512 /* bytes; larger objects are allocated in the old space */
#define AREA_BYTES 4096 /* size of a thread's area */

struct heap {
	char *old, *old_end;
	struct object *holes; /* free list of the old space, unordered */
	_Atomic size_t old_used; /* areas that threads hold count as used */
	/* Lower bound of the bytes that can be promoted into holes, as objects of at most SMALL_MAX. */
	size_t room;
	pthread_mutex_t lock; /* protects holes and room */
	char *nursery, *nursery_end; /* both NULL without one */
	_Atomic(char *) nursery_top;
};

/* A growing list of objects: a mark stack, or old objects that point into the nursery. */
struct object_list {
	struct object **items;
	size_t count, size;
};

void list_add(struct object_list *l, struct object *o);
void list_done(struct object_list *l);

/* Returns 0, or -1 if out of memory. */
int heap_init(struct heap *h, size_t old_bytes, size_t nursery_bytes);
void heap_done(struct heap *h);
size_t heap_used(struct heap *h);

static inline bool in_nursery(const struct heap *h, value v)
{
	return v - (value)h->nursery < (value)(h->nursery_end - h->nursery) && !(v & 1);
}

/* Allocates a zeroed object. May collect: objects that are on no stack of the machine may be moved or freed. */
struct object *heap_new(struct mutator *m, enum kind kind, uint64_t length);
/* Stores to a field, with the write barrier: records old objects that point to young ones. */
void heap_store(struct mutator *m, struct object *o, uint64_t i, value v);

/* Makes room for an object of that size in the thread's area. False: a collection is necessary. */
bool heap_refill(struct mutator *m, size_t size);
/* Releases the thread's area; the rest of it becomes a hole. */
void heap_retire(struct mutator *m);
/* Allocates a hole of at least @least bytes, split at @most. */
struct object *heap_take_hole(struct heap *h, size_t least, size_t most);
/* Turns bytes of the old space into a hole; @listed: it can be allocated before the next sweep. */
void heap_give_hole(struct heap *h, char *start, size_t bytes, bool listed);

/* collect.c: stops the world, collects, and makes room for @size bytes (0: none) or fails. */
void collect(struct mutator *m, const char *cause, bool full, size_t size);
/* check.c: aborts if the heap is corrupt. The world is stopped. */
void check_before(struct vm *vm);
void check_after(struct vm *vm);

#endif

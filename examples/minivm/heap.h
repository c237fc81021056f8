/* SPDX-License-Identifier: MIT */
/*
 * The heap. An old space that is marked and swept; with the generational collector also a nursery, from which what
 * lives is copied into the old space. Threads allocate from areas of their own, so that they seldom need the lock.
 */
#ifndef MINIVM_HEAP_H
#define MINIVM_HEAP_H

#include <pthread.h>

#include "value.h"

struct vm;
struct mutator;

#define SMALL_MAX 512 /* bytes; larger objects are born old */
#define AREA_BYTES 4096 /* what a thread takes at a time */

struct heap {
	char *old, *old_end;
	struct object *holes; /* of the old space, in no order */
	_Atomic size_t old_used; /* areas that threads hold count as used */
	/* What surely fits into the holes in objects of at most SMALL_MAX: that much may be promoted. */
	size_t room;
	pthread_mutex_t lock; /* over holes and room */
	char *nursery, *nursery_end; /* both NULL without one */
	_Atomic(char *) nursery_top;
};

/* A growing list of objects: marked ones whose fields are still to be seen, or old ones that point into the nursery. */
struct object_list {
	struct object **items;
	size_t count, size;
};

void list_add(struct object_list *l, struct object *o);
void list_done(struct object_list *l);

/* 0, or -1 when there is no such memory. */
int heap_init(struct heap *h, size_t old_bytes, size_t nursery_bytes);
void heap_done(struct heap *h);
size_t heap_used(struct heap *h);

static inline bool in_nursery(const struct heap *h, value v)
{
	return v - (value)h->nursery < (value)(h->nursery_end - h->nursery) && !(v & 1);
}

/* A new object, its fields nil, its bytes 0. May collect: what is on no stack of the machine may have moved or gone. */
struct object *heap_new(struct mutator *m, enum kind kind, uint64_t length);
/* The only way to change a field: tells the collector of old objects that come to hold young ones. */
void heap_store(struct mutator *m, struct object *o, uint64_t i, value v);

/* Makes sure that the thread can allocate an object of that size at once. False: not without collecting. */
bool heap_refill(struct mutator *m, size_t size);
/* Gives up the thread's area; what is left of it becomes a hole. */
void heap_retire(struct mutator *m);
/* A hole of at least @least bytes, cut to @most. */
struct object *heap_take_hole(struct heap *h, size_t least, size_t most);
/* Turns bytes of the old space into a hole; @listed: one that can be taken before the next sweep. */
void heap_give_hole(struct heap *h, char *start, size_t bytes, bool listed);

/* collect.c: stops the world, collects, and refills for @size bytes (0: nothing) or fails. */
void collect(struct mutator *m, const char *cause, bool full, size_t size);
/* check.c: aborts when the heap is not as it must be. The world is stopped. */
void check_before(struct vm *vm);
void check_after(struct vm *vm);

#endif

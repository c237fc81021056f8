// SPDX-License-Identifier: MIT
/* Allocation and the write barrier; collecting is in collect.c. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vm.h"

void list_add(struct object_list *l, struct object *o)
{
	if (l->count == l->size) {
		l->size = l->size ? 2 * l->size : 64;
		l->items = realloc(l->items, l->size * sizeof(*l->items));
		if (!l->items)
			vm_broken("out of memory for a list of %zu objects", l->size);
	}
	l->items[l->count++] = o;
}

void list_done(struct object_list *l)
{
	free(l->items);
	*l = (struct object_list){ 0 };
}

static char *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int heap_init(struct heap *h, size_t old_bytes, size_t nursery_bytes)
{
	*h = (struct heap){ .old = map(old_bytes) };
	if (!h->old)
		return -1;
	h->old_end = h->old + old_bytes;
	if (nursery_bytes) {
		h->nursery = map(nursery_bytes);
		if (!h->nursery) {
			munmap(h->old, old_bytes);
			return -1;
		}
		h->nursery_end = h->nursery + nursery_bytes;
		h->nursery_top = h->nursery;
	}
	pthread_mutex_init(&h->lock, NULL);
	heap_give_hole(h, h->old, old_bytes, true);
	return 0;
}

void heap_done(struct heap *h)
{
	munmap(h->old, (size_t)(h->old_end - h->old));
	if (h->nursery)
		munmap(h->nursery, (size_t)(h->nursery_end - h->nursery));
	pthread_mutex_destroy(&h->lock);
}

/* Threads that find the nursery full move its top beyond its end. */
static size_t nursery_used(struct heap *h)
{
	char *top = h->nursery_top;

	return (size_t)((top < h->nursery_end ? top : h->nursery_end) - h->nursery);
}

size_t heap_used(struct heap *h) { return h->old_used + (h->nursery ? nursery_used(h) : 0); }

static size_t room_of(const struct object *hole) { return hole->size > SMALL_MAX ? hole->size - SMALL_MAX : 0; }

void heap_give_hole(struct heap *h, char *start, size_t bytes, bool listed)
{
	struct object *hole = (struct object *)start;

	if (!bytes)
		return;
	*hole = (struct object){ .size = (uint32_t)bytes, .kind = KIND_FREE };
	if (!listed)
		return;
	hole->next = h->holes;
	h->holes = hole;
	h->room += room_of(hole);
}

struct object *heap_take_hole(struct heap *h, size_t least, size_t most)
{
	struct object **at = &h->holes, *hole;

	while ((hole = *at) && hole->size < least) {
		/* A hole too small for this object is useless until the next sweep. */
		if (least <= SMALL_MAX)
			*at = hole->next;
		else
			at = &hole->next;
	}
	if (!hole)
		return NULL;
	*at = hole->next;
	h->room -= room_of(hole);
	if (hole->size > most) {
		heap_give_hole(h, (char *)hole + most, hole->size - most, true);
		hole->size = (uint32_t)most;
	}
	h->old_used += hole->size;
	return hole;
}

void heap_retire(struct mutator *m)
{
	struct heap *h = &m->vm->heap;
	size_t rest = (size_t)(m->limit - m->free);

	/* The old space is walked object by object and must have no gaps; the nursery is not. */
	if (rest && !h->nursery) {
		heap_give_hole(h, m->free, rest, false);
		h->old_used -= rest;
	}
	m->free = m->limit = NULL;
}

static bool refill_young(struct mutator *m)
{
	struct heap *h = &m->vm->heap;
	char *area = atomic_fetch_add(&h->nursery_top, AREA_BYTES);

	if (area >= h->nursery_end)
		return false;
	m->free = area;
	m->limit = area + AREA_BYTES;
	return true;
}

static bool refill_old(struct mutator *m, size_t size)
{
	struct heap *h = &m->vm->heap;
	struct object *hole;

	pthread_mutex_lock(&h->lock);
	hole = heap_take_hole(h, size, size > SMALL_MAX ? size : AREA_BYTES);
	pthread_mutex_unlock(&h->lock);
	if (!hole)
		return false;
	if (size > SMALL_MAX) {
		m->large = hole;
	} else {
		m->free = (char *)hole;
		m->limit = m->free + hole->size;
	}
	return true;
}

bool heap_refill(struct mutator *m, size_t size)
{
	if (size > SMALL_MAX)
		return m->large || refill_old(m, size);
	if ((size_t)(m->limit - m->free) >= size)
		return true;
	heap_retire(m);
	return m->vm->heap.nursery ? refill_young(m) : refill_old(m, size);
}

static const char *why_full(const struct heap *h, size_t size)
{
	if (!h->nursery)
		return "heap full";
	return size > SMALL_MAX ? "old space full" : "nursery full";
}

static struct object *take(struct mutator *m, size_t size)
{
	struct object *o;

	if (size > SMALL_MAX) {
		o = m->large;
		m->large = NULL;
	} else {
		o = (struct object *)m->free;
		m->free += size;
	}
	return o;
}

struct object *heap_new(struct mutator *m, enum kind kind, uint64_t length)
{
	struct heap *h = &m->vm->heap;
	uint64_t bytes = sizeof(struct object);
	struct object *o;
	size_t size;

	if (length > (uint64_t)(h->old_end - h->old))
		vm_fail(m, "an object of length %llu does not fit into the heap", (unsigned long long)length);
	bytes += kind == KIND_TEXT ? length : length * sizeof(value);
	size = (bytes + OBJECT_ALIGN - 1) / OBJECT_ALIGN * OBJECT_ALIGN;
	while (!heap_refill(m, size))
		collect(m, why_full(h, size), size > SMALL_MAX, size);
	o = take(m, size);
	memset(o, 0, size);
	o->size = (uint32_t)size;
	o->kind = (uint8_t)kind;
	o->length = length;
	return o;
}

void heap_store(struct mutator *m, struct object *o, uint64_t i, value v)
{
	const struct heap *h = &m->vm->heap;

	__atomic_store_n(&o->fields[i], v, __ATOMIC_RELEASE);
	if (!in_nursery(h, v) || in_nursery(h, from_object(o)))
		return;
	/* If two threads race, one of them adds it to its list, before the world can be stopped. */
	if (!__atomic_exchange_n(&o->remembered, 1, __ATOMIC_RELAXED))
		list_add(&m->remembered, o);
}

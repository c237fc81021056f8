// SPDX-License-Identifier: MIT
/*
 * Both collectors. They run while the world is stopped, on the thread whose allocation failed.
 *
 * Full: marks everything reachable from the stacks, in both spaces, and then sweeps the old space.
 * Minor: copies nursery objects that are reachable from the stacks or from remembered old objects into the old space.
 */
#include <string.h>

#include "events.h"
#include "vm.h"

struct collection {
	struct vm *vm;
	struct mutator *by;
	struct object_list grey; /* marked, fields not scanned yet */
	size_t young_live; /* bytes marked in the nursery */
	char *free, *limit; /* hole that objects are promoted into */
};

static void mark(struct collection *c, value v)
{
	struct object *o = to_object(v);

	if (!is_object(v) || o->marked)
		return;
	o->marked = 1;
	if (in_nursery(&c->vm->heap, v))
		c->young_live += o->size;
	if (has_fields(o))
		list_add(&c->grey, o);
}

static void mark_all(struct collection *c)
{
	struct log_entry *e = emit_begin(c->by, "gc-mark", NULL, heap_used(&c->vm->heap));

	for (struct mutator *m = c->vm->world.first; m; m = m->next) {
		for (const value *v = m->stack; v < m->sp; v++)
			mark(c, *v);
		mark(c, m->result);
	}
	while (c->grey.count) {
		const struct object *o = c->grey.items[--c->grey.count];

		for (uint64_t i = 0; i < o->length; i++)
			mark(c, o->fields[i]);
	}
	emit_end(c->by, e, heap_used(&c->vm->heap));
}

/* Removes dead objects from the remembered sets before the sweep frees them. */
static void drop_dead_remembered(struct vm *vm)
{
	for (struct mutator *m = vm->world.first; m; m = m->next) {
		struct object_list *l = &m->remembered;
		size_t kept = 0;

		for (size_t i = 0; i < l->count; i++) {
			if (l->items[i]->marked)
				l->items[kept++] = l->items[i];
		}
		l->count = kept;
	}
}

static void sweep(struct collection *c)
{
	struct heap *h = &c->vm->heap;
	struct log_entry *e = emit_begin(c->by, "gc-sweep", NULL, heap_used(h));
	char *hole = h->old;
	size_t used = 0;

	drop_dead_remembered(c->vm);
	h->holes = NULL;
	h->room = 0;
	for (char *at = h->old; at < h->old_end;) {
		struct object *o = (struct object *)at;

		at += o->size;
		if (!o->marked)
			continue;
		o->marked = 0;
		used += o->size;
		heap_give_hole(h, hole, (size_t)((char *)o - hole), true);
		hole = at;
	}
	heap_give_hole(h, hole, (size_t)(h->old_end - hole), true);
	h->old_used = used;
	emit_end(c->by, e, heap_used(h));
}

static char *promote_to(struct collection *c, size_t size)
{
	struct heap *h = &c->vm->heap;
	struct object *hole;
	char *at;

	if ((size_t)(c->limit - c->free) < size) {
		h->old_used -= (size_t)(c->limit - c->free);
		heap_give_hole(h, c->free, (size_t)(c->limit - c->free), false);
		hole = heap_take_hole(h, size, SIZE_MAX);
		if (!hole)
			vm_broken("no room to promote %zu bytes", size);
		c->free = (char *)hole;
		c->limit = c->free + hole->size;
	}
	at = c->free;
	c->free += size;
	return at;
}

/* Updates a slot to point to the copy of a young object, and copies it first if necessary. */
static void promote(struct collection *c, value *slot)
{
	struct object *o = to_object(*slot), *copy;

	if (!in_nursery(&c->vm->heap, *slot) || *slot == NIL)
		return;
	if (o->kind != KIND_MOVED) {
		copy = memcpy(promote_to(c, o->size), o, o->size);
		copy->marked = 0;
		o->kind = KIND_MOVED;
		o->moved = copy;
		if (has_fields(copy))
			list_add(&c->grey, copy);
	}
	*slot = from_object(o->moved);
}

static void promote_fields(struct collection *c, struct object *o)
{
	for (uint64_t i = 0; i < o->length; i++)
		promote(c, &o->fields[i]);
}

static void promote_roots(struct collection *c)
{
	for (struct mutator *m = c->vm->world.first; m; m = m->next) {
		for (value *v = m->stack; v < m->sp; v++)
			promote(c, v);
		promote(c, &m->result);
		for (size_t i = 0; i < m->remembered.count; i++) {
			m->remembered.items[i]->remembered = 0;
			promote_fields(c, m->remembered.items[i]);
		}
		m->remembered.count = 0;
	}
}

static void scavenge(struct collection *c)
{
	struct heap *h = &c->vm->heap;
	struct log_entry *e = emit_begin(c->by, "gc-scavenge", NULL, heap_used(h));
	size_t rest;

	promote_roots(c);
	while (c->grey.count)
		promote_fields(c, c->grey.items[--c->grey.count]);
	rest = (size_t)(c->limit - c->free);
	h->old_used -= rest;
	heap_give_hole(h, c->free, rest, true);
	c->free = c->limit = NULL;
	if (c->vm->opt.check_heap)
		memset(h->nursery, 0xdb, (size_t)(h->nursery_end - h->nursery));
	h->nursery_top = h->nursery;
	emit_end(c->by, e, heap_used(h));
}

static void minor(struct collection *c)
{
	size_t before = heap_used(&c->vm->heap);

	emit_minor_begin(before);
	scavenge(c);
	emit_minor_end(before - heap_used(&c->vm->heap));
}

/* Returns false if the live objects do not fit. */
static bool full(struct collection *c)
{
	struct heap *h = &c->vm->heap;
	size_t before = heap_used(h);
	bool fits;

	emit_full_begin(before);
	c->young_live = 0;
	mark_all(c);
	sweep(c);
	fits = c->young_live <= h->room;
	if (h->nursery && fits)
		scavenge(c);
	emit_full_end(before - heap_used(h));
	return fits;
}

/* The collection itself, while the world is stopped. */
static bool collect_stopped(struct collection *c, bool want_full, size_t size)
{
	struct vm *vm = c->vm;
	struct heap *h = &vm->heap;

	for (struct mutator *m = vm->world.first; m; m = m->next)
		heap_retire(m);
	if (vm->opt.check_heap)
		check_before(vm);
	if (!want_full && h->nursery && h->room >= heap_used(h) - h->old_used) {
		minor(c);
		if (heap_refill(c->by, size))
			return true;
	}
	return full(c) && heap_refill(c->by, size);
}

void collect(struct mutator *m, const char *cause, bool want_full, size_t size)
{
	struct collection c = { .vm = m->vm, .by = m };
	struct heap *h = &m->vm->heap;
	struct log_entry *e;
	bool enough;

	if (!world_claim(m))
		return;
	e = emit_gc_begin(m, cause, heap_used(h));
	world_stop(m);
	enough = collect_stopped(&c, want_full, size);
	if (m->vm->opt.move_code)
		code_heap_move(m);
	if (enough && m->vm->opt.check_heap)
		check_after(m->vm);
	m->vm->collections++;
	list_done(&c.grey);
	emit_gc_end(m, e, heap_used(h));
	if (!enough)
		vm_fail(m, "out of memory: %zu bytes do not fit into a heap of %zu, of which %zu are in use", size,
			(size_t)(h->old_end - h->old), heap_used(h));
	world_resume(m);
}

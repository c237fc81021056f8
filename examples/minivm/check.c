// SPDX-License-Identifier: MIT
/* Checks the whole heap for errors of the collectors and the write barrier: --check-heap. */
#include <stdlib.h>

#include "vm.h"

/* One bit for each address in the old space at which an object can begin. */
struct starts {
	const struct heap *heap;
	uint64_t *bits;
};

static size_t index_of(const struct heap *h, const void *at)
{
	return (size_t)((const char *)at - h->old) / OBJECT_ALIGN;
}

static bool is_start(const struct starts *s, value v)
{
	size_t index;

	if (v < (value)s->heap->old || v >= (value)s->heap->old_end || v % OBJECT_ALIGN)
		return false;
	index = index_of(s->heap, to_object(v));
	return s->bits[index / 64] >> index % 64 & 1;
}

static bool is_valid(const struct heap *h, const struct object *o)
{
	size_t left = (size_t)(h->old_end - (const char *)o);
	uint64_t payload = o->size - sizeof(*o);

	if (o->size < sizeof(*o) || o->size % OBJECT_ALIGN || o->size > left || o->marked)
		return false;
	if (o->kind == KIND_FREE)
		return true;
	return has_fields(o) ? o->length <= payload / sizeof(value) : o->kind == KIND_TEXT && o->length <= payload;
}

/* Checks that the old space is a sequence of valid objects, and records their addresses. Returns the bytes in use. */
static size_t find_starts(struct starts *s)
{
	const struct heap *h = s->heap;
	size_t used = 0;

	for (const char *at = h->old; at < h->old_end; at += ((const struct object *)at)->size) {
		const struct object *o = (const struct object *)at;

		if (!is_valid(h, o))
			vm_broken("heap check: invalid object at offset %zu: kind %#x, size %u, marked %u",
				  (size_t)(at - h->old), o->kind, o->size, o->marked);
		if (o->kind == KIND_FREE)
			continue;
		s->bits[index_of(h, at) / 64] |= (uint64_t)1 << index_of(h, at) % 64;
		used += o->size;
	}
	return used;
}

static void check_value(const struct starts *s, value v, const char *where)
{
	if (is_object(v) && !is_start(s, v))
		vm_broken("heap check: %s contains %#llx, which is not an object", where, (unsigned long long)v);
}

static void check_values(const struct starts *s, const struct vm *vm)
{
	const struct heap *h = s->heap;

	for (const char *at = h->old; at < h->old_end; at += ((const struct object *)at)->size) {
		const struct object *o = (const struct object *)at;

		for (uint64_t i = 0; has_fields(o) && i < o->length; i++)
			check_value(s, o->fields[i], "a field");
		if (has_fields(o) && o->remembered)
			vm_broken("heap check: an object is still in a remembered set after the nursery was emptied");
	}
	for (const struct mutator *m = vm->world.first; m; m = m->next) {
		for (const value *v = m->stack; v < m->sp; v++)
			check_value(s, *v, "a stack");
		check_value(s, m->result, "the result of a thread");
	}
}

/* Bytes that the collecting thread has already reserved for its next allocation. */
static size_t reserved_bytes(const struct vm *vm)
{
	size_t bytes = 0;

	for (const struct mutator *m = vm->world.first; m; m = m->next) {
		bytes += m->large ? m->large->size : 0;
		bytes += vm->heap.nursery ? 0 : (size_t)(m->limit - m->free);
	}
	return bytes;
}

void check_after(struct vm *vm)
{
	struct heap *h = &vm->heap;
	struct starts s = { .heap = h, .bits = calloc(index_of(h, h->old_end) / 64 + 1, sizeof(uint64_t)) };
	size_t used;

	if (!s.bits)
		vm_broken("heap check: out of memory");
	used = find_starts(&s) + reserved_bytes(vm);
	if (used != h->old_used)
		vm_broken("heap check: %zu bytes are in use, but the count is %zu", used, (size_t)h->old_used);
	check_values(&s, vm);
	free(s.bits);
}

void check_before(struct vm *vm)
{
	const struct heap *h = &vm->heap;

	for (const char *at = h->old; at < h->old_end; at += ((const struct object *)at)->size) {
		const struct object *o = (const struct object *)at;

		for (uint64_t i = 0; has_fields(o) && !o->remembered && i < o->length; i++) {
			if (in_nursery(h, o->fields[i]))
				vm_broken(
					"heap check: an old object points to a young one and is in no remembered set");
		}
	}
}

// SPDX-License-Identifier: MIT
/*
 * The memory for compiled code: two halves, one of them in use. With --move-code each collection copies the code in use
 * to the other half, contiguously, and frees the rest.
 *
 * Pages are writable while code is written to them, executable afterwards, and never both. New code is written while
 * other threads run code in neighboring pages, so it begins on a page of its own; code copied by a collection does not.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events.h"
#include "vm.h"

#define HALF ((size_t)16 << 20)
#define ALIGNMENT 16

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static char *code_of(const struct function *f) { return (char *)(uintptr_t)f->native; }

void code_heap_init(struct code_heap *h)
{
	char *memory = mmap(NULL, 2 * HALF, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*h = (struct code_heap){ .lock = PTHREAD_MUTEX_INITIALIZER };
	if (memory != MAP_FAILED) {
		h->memory = h->half = memory;
		h->top = h->end = memory;
	}
}

void code_heap_done(struct code_heap *h)
{
	if (!h->memory)
		return;
	emit_code_freed(h->half, (size_t)(h->top - h->half));
	munmap(h->memory, 2 * HALF);
	pthread_mutex_destroy(&h->lock);
}

void *code_heap_add(struct code_heap *h, const void *code, size_t len)
{
	size_t size = round_up(len, page());
	char *ret = NULL;

	if (!h->memory)
		return NULL;
	pthread_mutex_lock(&h->lock);
	if (size <= HALF - (size_t)(h->end - h->half) && !mprotect(h->end, size, PROT_READ | PROT_WRITE)) {
		memcpy(h->end, code, len);
		if (!mprotect(h->end, size, PROT_READ | PROT_EXEC)) {
			ret = h->end;
			h->top = ret + len;
			h->end += size;
		}
	}
	pthread_mutex_unlock(&h->lock);
	return ret;
}

/* ---- Moving code, while the world is stopped ---- */

/* Words of a frame of compiled code: see prologue() in jit.c. All frames of a stopped thread are inside a call. */
#define FRAME_LINK (-3)
#define FRAME_RETURN (-5)

/* Does any thread return into this code? If @to is not NULL, redirects these returns to the copy there. */
static bool returns_into(const struct vm *vm, const char *code, size_t len, const char *to)
{
	bool ret = false;

	for (const struct mutator *m = vm->world.first; m; m = m->next) {
		for (uintptr_t *frame = m->native_frame; frame; frame = (uintptr_t *)frame[FRAME_LINK]) {
			/* A call can be the last instruction of the code. */
			uintptr_t offset = frame[FRAME_RETURN] - (uintptr_t)code;

			if (offset == 0 || offset > len)
				continue;
			ret = true;
			if (to)
				frame[FRAME_RETURN] = (uintptr_t)to + offset;
		}
	}
	return ret;
}

static void forget(struct function *f)
{
	emit_code_freed(code_of(f), f->native_bytes);
	f->native = NULL;
	f->heat = 0;
}

/* Assigns offsets in the other half to code in use, and frees the rest. Returns the number of bytes in use. */
static size_t discard_unused(struct vm *vm, size_t *offsets)
{
	struct program *p = vm->program;
	size_t used = 0;

	for (unsigned i = 0; i < p->function_count; i++) {
		struct function *f = &p->functions[i];

		if (f->native && !f->entered && !returns_into(vm, code_of(f), f->native_bytes, NULL))
			forget(f);
		f->entered = false;
		offsets[i] = used;
		if (f->native)
			used = round_up(used + f->native_bytes, ALIGNMENT);
	}
	return used;
}

/* Code refers to itself only by relative addresses, so it can be copied. */
static void move_one(struct vm *vm, struct function *f, char *to)
{
	char *from = code_of(f);

	memcpy(to, from, f->native_bytes);
	returns_into(vm, from, f->native_bytes, to);
	f->native = (native_code)(uintptr_t)to;
	emit_code_moved(from, to, f->native_bytes);
}

void code_heap_move(struct mutator *by)
{
	struct vm *vm = by->vm;
	struct code_heap *h = &vm->code;
	size_t offsets[FUNCTIONS_MAX], used, size;
	char *other = h->half == h->memory ? h->memory + HALF : h->memory;

	if (!h->memory)
		return;
	used = discard_unused(vm, offsets);
	size = round_up(used, page());
	if (size && mprotect(other, size, PROT_READ | PROT_WRITE))
		return; /* out of memory: do not move it */
	for (unsigned i = 0; i < vm->program->function_count; i++) {
		if (vm->program->functions[i].native)
			move_one(vm, &vm->program->functions[i], other + offsets[i]);
	}
	if (size && mprotect(other, size, PROT_READ | PROT_EXEC))
		vm_broken("the copied code cannot be made executable");
	/* A stale jump into the old half crashes. */
	mmap(h->half, HALF, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	h->half = other;
	h->top = other + used;
	h->end = other + size;
	vm->moves++;
}

/* SPDX-License-Identifier: MIT */
/* The walker of src/bpf/walk.h on the host: memory is a few saved ranges, code a few places with their tables. */
#ifndef UT_TESTS_WALK_HOST_H
#define UT_TESTS_WALK_HOST_H

#include <stdint.h>
#include <string.h>

#include "elf/unwind.h"

#define HOST_RANGES 64

struct host_memory {
	uint64_t start, end;
	const uint8_t *bytes;
};

struct host_place { /* an executable mapping */
	uint64_t start, end, bias;
	enum ut_unwind_code code;
	const struct unwind_table *table; /* or NULL: */
	struct ut_unwind_rule rule; /* the same all over */
};

struct host_return {
	uint64_t place, address;
}; /* what the kernel has taken away from a place of the stack */

struct host {
	struct host_return returns[2];
	size_t nreturns;
	struct host_memory memory[HOST_RANGES];
	struct host_place places[HOST_RANGES];
	size_t nmemory, nplaces;
};

static struct host host;

static inline int host_read(void *to, size_t size, uint64_t address)
{
	for (size_t i = 0; i < host.nmemory; i++) {
		const struct host_memory *m = &host.memory[i];

		if (address >= m->start && address < m->end && size <= m->end - address) {
			memcpy(to, m->bytes + (address - m->start), size);
			return 0;
		}
	}
	return -1;
}

static inline int host_find(uint64_t pc, struct ut_unwind_rule *rule)
{
	for (size_t i = 0; i < host.nplaces; i++) {
		const struct host_place *p = &host.places[i];

		if (pc < p->start || pc >= p->end)
			continue;
		if (p->code == UT_CODE_TABLE)
			*rule = p->table ? *unwind_table_find(p->table, pc - p->bias) : p->rule;
		return p->code;
	}
	return 0;
}

static inline int host_return(uint64_t place, uint64_t *ret)
{
	for (size_t i = 0; i < host.nreturns; i++) {
		if (host.returns[i].place != place)
			continue;
		*ret = host.returns[i].address;
		return 0;
	}
	return 1;
}

static inline void host_add_memory(uint64_t start, const void *bytes, size_t size)
{
	host.memory[host.nmemory++] = (struct host_memory){ start, start + size, bytes };
}

#define WALK_READ(w, to, size, address) ((void)(w), host_read(to, size, address))
#define WALK_FIND(w, pc, rule) ((void)(w), host_find(pc, rule))
#define WALK_RETURN(w, place, ret) ((void)(w), host_return(place, ret))

#include "bpf/walk.h"

static inline void host_walk(struct walk *w)
{
	walk_begin(w);
	while (!walk_step(w))
		;
}

/* Of the registers only rsp and rip are believed. */
static inline void host_walk_bare(struct walk *w)
{
	walk_begin_bare(w);
	while (!walk_step(w))
		;
}

#endif

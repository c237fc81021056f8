/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For sample.bpf.c alone: the walker in the kernel. Reads memory of the current process, finds rules in the maps, and
 * keeps what a walk needs for each processor.
 */
#ifndef UT_BPF_SAMPLE_WALK_H
#define UT_BPF_SAMPLE_WALK_H

#include "bpf/sample_maps.h"

struct walk;
static int sample_find(struct walk *w, uint64_t pc, struct ut_unwind_rule *rule);
static int sample_read(struct walk *w, void *to, uint32_t size, uint64_t address);

/* The kernel's list of the returns that it probes, of the current thread; the innermost call comes first. */
struct returns {
	const void *at;
	uint64_t place, address;
};

static long return_step(uint64_t i, struct returns *r)
{
	const void *at = r->at;

	if (!at)
		return 1;
	if (read_kernel64(at, options.at.return_stack) == r->place && !read_kernel8(at, options.at.return_chained)) {
		r->address = read_kernel64(at, options.at.return_address);
		return 1;
	}
	r->at = (const void *)read_kernel64(at, options.at.return_next);
	return 0;
}

static __noinline int sample_return(uint64_t place, uint64_t *ret)
{
	const void *utask = (const void *)read_kernel64((void *)bpf_get_current_task(), options.at.task_utask);
	struct returns r = { .place = place };

	if (!ret || !utask)
		return 1;
	r.at = (const void *)read_kernel64(utask, options.at.utask_returns);
	bpf_loop(SAMPLE_RETURNS, return_step, &r, 0);
	*ret = r.address;
	return !r.address;
}

#define WALK_READ(w, to, size, address) sample_read((w), (to), (size), (address))
#define WALK_RETURN(w, place, ret) sample_return((place), (ret))
#define WALK_FIND(w, pc, rule) sample_find((w), (pc), (rule))
#include "bpf/walk.h"

/* What a processor needs for a walk in one context; too large for the stack. */
struct scratch {
	uint32_t busy;
	uint32_t reserved;
	struct ut_unwind_process process; /* as it was when the walk began */
	struct sample_cached cache[SAMPLE_CACHE];
	uint64_t window_at; /* of the stack; 0: none */
	uint64_t window[SAMPLE_WINDOW];
	struct walk walk;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct scratch);
	__uint(max_entries, SAMPLE_CONTEXTS); /* times the processors */
} ut_scratch SEC(".maps");

/* One of a file's rows. */
static __always_inline int row_at(uint32_t number, uint32_t *ret)
{
	uint32_t segment = number / (SAMPLE_CHUNK_ROWS * SAMPLE_SEGMENT_CHUNKS);
	uint32_t chunk = number / SAMPLE_CHUNK_ROWS % SAMPLE_SEGMENT_CHUNKS, at = number % SAMPLE_CHUNK_ROWS;
	void *rows = bpf_map_lookup_elem(&ut_rows, &segment);
	uint32_t *v = rows ? bpf_map_lookup_elem(rows, &chunk) : 0;

	if (!v)
		return 1;
	*ret = v[at & (SAMPLE_CHUNK_ROWS - 1)];
	return 0;
}

struct search {
	uint32_t low, high, wanted, row;
	uint64_t pc;
	uint32_t process, reserved;
};

/* The last row of low…high whose address is not above `wanted`; the one at low never is. */
static long row_step(uint64_t i, struct search *s)
{
	uint32_t middle = s->low + (s->high - s->low) / 2, row;

	if (s->high - s->low < 2 || row_at(middle, &row))
		return 1;
	if (UT_UNWIND_ROW_LOW(row) <= s->wanted)
		s->low = middle;
	else
		s->high = middle;
	return 0;
}

static __always_inline void read_rule(const struct ut_unwind_mapping *m, uint64_t pc, struct ut_unwind_rule *rule)
{
	uint64_t vaddr = pc - m->bias;
	uint64_t page = (vaddr >> UT_UNWIND_PAGE_SHIFT) - m->first_page;
	uint32_t at = m->directory + (uint32_t)page, next = at + 1, row = 0, number;
	const uint32_t *from, *to;
	const struct ut_unwind_rule *found;
	struct search s = { .wanted = (uint32_t)vaddr & 0xffff };

	if (page >= m->pages)
		return;
	from = bpf_map_lookup_elem(&ut_directory, &at);
	to = bpf_map_lookup_elem(&ut_directory, &next);
	if (!from || !to || *from >= *to)
		return;
	s.low = *from;
	s.high = *to;
	bpf_loop(17, row_step, &s, 0); /* a page has at most 2^16 rows */
	if (row_at(s.low, &row))
		return;
	number = UT_UNWIND_ROW_RULE(row);
	found = bpf_map_lookup_elem(&ut_rules, &number);
	if (found)
		*rule = *found;
}

/* The first mapping of low…high that does not end before pc. */
static long mapping_step(uint64_t i, struct search *s)
{
	uint32_t middle = s->low + (s->high - s->low) / 2;
	const struct ut_unwind_mapping *m;

	if (s->low >= s->high)
		return 1;
	m = bpf_map_lookup_elem(&ut_mappings, &middle);
	if (!m || m->process != s->process)
		return 1;
	if (s->pc >= m->end)
		s->low = middle + 1;
	else
		s->high = middle;
	return 0;
}

static __always_inline const struct ut_unwind_mapping *mapping_of(const struct ut_unwind_process *p, uint64_t pc)
{
	struct search s = { .low = p->first, .high = p->first + p->n, .pc = pc, .process = p->owner };
	const struct ut_unwind_mapping *m;

	bpf_loop(20, mapping_step, &s, 0);
	m = s.low < p->first + p->n ? bpf_map_lookup_elem(&ut_mappings, &s.low) : 0;
	return m && m->process == p->owner && pc >= m->start && pc < m->end ? m : 0;
}

#define SCRATCH_OF(w) ((struct scratch *)((char *)(w) - __builtin_offsetof(struct scratch, walk)))

/*
 * Words of the stack come in windows, as a read of one costs as much as one of many and frames lie close together. What
 * lies behind the last window of a page that is not in memory is read by itself.
 */
static __always_inline int sample_read(struct walk *w, void *to, uint32_t size, uint64_t address)
{
	struct scratch *s = SCRATCH_OF(w);
	uint64_t at = address - s->window_at, *words = to;

	if ((size != 8 && size != 16) || (address & 7) || address - w->sp >= SAMPLE_NEAR)
		return bpf_probe_read_user(to, size, (void *)address) != 0;
	if (at > sizeof(s->window) - size) {
		if (bpf_probe_read_user(s->window, sizeof(s->window), (void *)address)) {
			s->window_at = 0;
			return bpf_probe_read_user(to, size, (void *)address) != 0;
		}
		s->window_at = address;
		at = 0;
	}
	at /= 8;
	words[0] = s->window[at & (SAMPLE_WINDOW - 1)];
	if (size == 16)
		words[1] = s->window[(at + 1) & (SAMPLE_WINDOW - 1)];
	return 0;
}

static __noinline int sample_find(struct walk *w, uint64_t pc, struct ut_unwind_rule *rule)
{
	struct scratch *s = SCRATCH_OF(w);
	const struct ut_unwind_process *p = &s->process;
	uint32_t process = w->process;
	const struct ut_unwind_mapping *m;
	struct sample_cached *c;

	c = &s->cache[(pc ^ pc >> 10 ^ process * 31u) & (SAMPLE_CACHE - 1)];
	if (c->pc == pc && c->process == process && c->stamp == p->stamp) {
		*rule = c->rule;
		return c->code;
	}
	m = mapping_of(p, pc);
	if (!m)
		return 0;
	if (m->code == UT_CODE_TABLE)
		read_rule(m, pc, rule);
	c->pc = pc;
	c->process = process;
	c->stamp = p->stamp;
	c->code = m->code;
	c->rule = *rule;
	return m->code;
}

#endif

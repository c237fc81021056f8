/* SPDX-License-Identifier: MIT */
/* Unwinds stacks of other processes' blocked threads. Tables that were read are kept for the threads of one process. */
#include "sample/blocked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "bpf/sample.h"

struct walk;
static int blocked_read(const struct walk *w, void *to, size_t size, uint64_t address);
static int blocked_find(struct walk *w, uint64_t pc, struct ut_unwind_rule *rule);

#define WALK_READ(w, to, size, address) blocked_read((w), (to), (size), (address))
#define WALK_FIND(w, pc, rule) blocked_find((w), (pc), (rule))
#define WALK_INLINE static
#include "bpf/walk.h"

#define PATIENCE_NS 300000000u /* for all threads together: nobody reads the rings meanwhile */
#define CHUNKS 64u /* cached chunks of rows: a power of two */
#define TRIES 2

struct thread {
	pid_t pid, tid;
	uint64_t stack; /* 0: none, or already used */
	uint64_t walked_ns;
};

struct chunk {
	uint32_t number;
	bool known;
	uint32_t rows[SAMPLE_CHUNK_ROWS];
};

struct blocked {
	VEC(struct thread) threads; /* by tid when they are walked */
	bool walked;
	const struct unwind_maps *maps;
	pid_t pid; /* of these mappings */
	struct ut_unwind_mapping *mappings;
	size_t nmappings;
	struct chunk *chunks;
	struct walk walk;
};

#define BLOCKED_OF(w) ((struct blocked *)(void *)((char *)(w)-offsetof(struct blocked, walk)))

struct blocked *blocked_new(void) { return calloc(1, sizeof(struct blocked)); }

static void drop_tables(struct blocked *s)
{
	free(s->mappings);
	free(s->chunks);
	s->mappings = NULL;
	s->chunks = NULL;
	s->nmappings = 0;
	s->pid = 0;
}

struct blocked *blocked_free(struct blocked *s)
{
	if (!s)
		return NULL;
	drop_tables(s);
	vec_done(&s->threads);
	free(s);
	return NULL;
}

void blocked_add(struct blocked *s, pid_t pid, pid_t tid)
{
	if (!s->walked)
		vec_push(&s->threads, ((struct thread){ .pid = pid, .tid = tid })); /* without memory: no stack */
}

static int blocked_read(const struct walk *w, void *to, size_t size, uint64_t address)
{
	struct iovec here = { to, size }, there = { (void *)(uintptr_t)address, size };

	return process_vm_readv((pid_t)w->process, &here, 1, &there, 1, 0) != (ssize_t)size;
}

static bool row_at(struct blocked *s, uint32_t number, uint32_t *ret)
{
	uint32_t at = number / SAMPLE_CHUNK_ROWS;
	struct chunk *c = &s->chunks[at & (CHUNKS - 1)];

	if (!c->known || c->number != at) {
		c->known = unwind_maps_chunk(s->maps, at, c->rows);
		c->number = at;
	}
	*ret = c->rows[number % SAMPLE_CHUNK_ROWS];
	return c->known;
}

static const struct ut_unwind_rule *find_rule(struct blocked *s, const struct ut_unwind_mapping *m, uint64_t pc)
{
	uint64_t vaddr = pc - m->bias, page = (vaddr >> UT_UNWIND_PAGE_SHIFT) - m->first_page;
	uint32_t range[2], row;

	if (page >= m->pages || !unwind_maps_page(s->maps, m->directory + (uint32_t)page, range) ||
	    range[0] >= range[1])
		return NULL;
	while (range[1] - range[0] > 1) { /* the last row that is not above; the first never is */
		uint32_t middle = range[0] + (range[1] - range[0]) / 2;

		if (!row_at(s, middle, &row))
			return NULL;
		range[UT_UNWIND_ROW_LOW(row) > (vaddr & 0xffff)] = middle;
	}
	return row_at(s, range[0], &row) ? unwind_maps_rule(s->maps, UT_UNWIND_ROW_RULE(row)) : NULL;
}

static int compare_mapping(const void *key, const void *element)
{
	uint64_t pc = *(const uint64_t *)key;
	const struct ut_unwind_mapping *m = element;

	return pc < m->start ? -1 : pc >= m->end;
}

static int blocked_find(struct walk *w, uint64_t pc, struct ut_unwind_rule *rule)
{
	struct blocked *s = BLOCKED_OF(w);
	const struct ut_unwind_mapping *m = bsearch(&pc, s->mappings, s->nmappings, sizeof(*m), compare_mapping);
	const struct ut_unwind_rule *found;

	if (!m)
		return 0;
	found = m->code == UT_CODE_TABLE ? find_rule(s, m, pc) : NULL;
	if (found)
		*rule = *found;
	return (int)m->code;
}

bool blocked_parse(const char *text, uint64_t *ret_sp, uint64_t *ret_ip)
{
	uint64_t last[2] = { 0, 0 };
	size_t n = 0;

	for (; *text && *text != '\n'; n++) {
		char *end;
		uint64_t v = strtoull(text, &end, 0);

		if (end == text || (*end && *end != ' ' && *end != '\n'))
			return false;
		last[0] = last[1];
		last[1] = v;
		text = end + strspn(end, " ");
	}
	if (n < 3 || !last[0] || !last[1])
		return false;
	*ret_sp = last[0];
	*ret_ip = last[1];
	return true;
}

/* Stack and instruction pointer of a blocked thread; false: it is running. */
static bool read_location(const struct thread *t, uint64_t *ret_sp, uint64_t *ret_ip)
{
	char path[64], text[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", t->pid, t->tid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return blocked_parse(text, ret_sp, ret_ip);
}

static bool read_tables(struct blocked *s, pid_t pid)
{
	if (s->pid == pid)
		return s->nmappings && s->chunks;
	drop_tables(s);
	s->pid = pid;
	s->nmappings = unwind_maps_mappings(s->maps, pid, &s->mappings);
	s->chunks = calloc(CHUNKS, sizeof(*s->chunks));
	return s->nmappings && s->chunks;
}

/* Unwinds once. False: the thread was not blocked at one place all the time. */
static bool walk_thread(struct blocked *s, struct thread *t)
{
	struct walk *w = &s->walk;
	uint64_t sp, ip;

	if (!read_location(t, &w->reg[WALK_RSP], &w->ip))
		return false;
	sp = w->reg[WALK_RSP];
	ip = w->ip;
	w->process = (uint32_t)t->pid;
	w->hash = walk_hash(w->process);
	walk_begin_bare(w);
	w->end = UT_END_DEPTH;
	for (unsigned i = 0; i <= UT_WALK_FRAMES && !walk_step(w); i++)
		;
	w->hash = walk_mix(w->hash, w->end) | 1;
	if (!read_location(t, &w->reg[WALK_RSP], &w->ip) || w->reg[WALK_RSP] != sp || w->ip != ip)
		return false;
	t->walked_ns = monotonic_ns();
	t->stack = w->hash;
	return true;
}

static int emit_stack(struct blocked *s, const struct thread *t,
		      int (*fn)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips), void *ctx)
{
	const struct walk *w = &s->walk;
	struct ut_rec_stack rec = {
		.head = { .time_ns = t->walked_ns,
			  .site = UT_SITE_STACK,
			  .pid = (uint32_t)t->pid,
			  .tid = (uint32_t)t->tid },
		.id = t->stack,
		.end = w->end,
		.end_addr = w->end_addr,
		.user = (uint16_t)w->n,
	};

	thread_comm(t->pid, t->tid, rec.head.comm);
	return fn(ctx, &rec, w->ips);
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int blocked_walk(struct blocked *s, const struct unwind_maps *maps,
		 int (*fn)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips), void *ctx)
{
	uint64_t until = monotonic_ns() + PATIENCE_NS;
	int r = 0;

	s->maps = maps;
	for (size_t i = 0; r >= 0 && i < s->threads.n && monotonic_ns() < until; i++) {
		struct thread *t = &s->threads.v[i];

		for (int k = 0; k < TRIES && !t->stack && read_tables(s, t->pid); k++)
			walk_thread(s, t);
		if (t->stack)
			r = emit_stack(s, t, fn, ctx);
	}
	drop_tables(s);
	s->walked = true;
	if (s->threads.n)
		qsort(s->threads.v, s->threads.n, sizeof(*s->threads.v), compare_threads);
	return r < 0 ? r : 0;
}

void blocked_fill_wait(struct blocked *s, struct ut_rec_wait *rec)
{
	struct thread key = { .tid = (pid_t)rec->head.tid };
	struct thread *t;

	if (rec->from_ns || rec->stack || !s->walked || !s->threads.n)
		return;
	t = bsearch(&key, s->threads.v, s->threads.n, sizeof(key), compare_threads);
	if (!t || t->pid != (pid_t)rec->head.pid)
		return;
	if (rec->head.time_ns >= t->walked_ns) /* else it ran before the walk, which saw a later wait */
		rec->stack = t->stack;
	t->stack = 0;
}

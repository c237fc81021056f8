/* SPDX-License-Identifier: MIT */
/* From made-up records to a profile: what becomes of stacks, waits, threads and times. The names are made up too: an
 * address is called by its number, and by who owns it at that time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "model/samples_priv.h"
#include "unit.h"
#include "wire/sample.h"

#define MS 1000000ull
#define START (1000 * MS)
#define KERNEL 0xffffffff81000000ull
#define RUNTIME 0x700000ull /* from here on code is JIT-compiled */
#define UNNAMED 0x600000ull /* and here nothing has a name */
#define INLINED 0x500000ull

/* The names: the linker puts these in the place of sym's (--wrap). */
typeof(names_is_jit) __wrap_names_is_jit;
typeof(names_request) __wrap_names_request;
typeof(names_resolve) __wrap_names_resolve;
typeof(names_user) __wrap_names_user;
typeof(names_kernel) __wrap_names_kernel;
typeof(names_end) __wrap_names_end;

struct names {
	uint64_t mapped_ns; /* from then on, what lies below RUNTIME is another file's; 0: never */
	uint64_t wanted, settled, lookups;
	VEC(char *) texts;
};

bool __wrap_names_is_jit(struct names *n, pid_t pid, uint64_t addr, uint64_t time_ns)
{
	(void)n;
	(void)pid;
	(void)time_ns;
	return addr >= RUNTIME;
}

void __wrap_names_request(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns)
{
	(void)pid;
	(void)exact;
	(void)time_ns;
	assert_true(addr >= RUNTIME);
	n->wanted++;
}

void __wrap_names_resolve(struct names *n, uint64_t time_ns)
{
	(void)time_ns;
	n->settled++;
}

static void add(struct names *n, struct frames *ret, enum frame_kind kind, bool unnamed, const char *fmt, ...)
{
	va_list ap;
	char *text;
	struct frame f = { .module = "", .kind = kind, .unnamed = unnamed };

	va_start(ap, fmt);
	assert_true(vasprintf(&text, fmt, ap) > 0);
	va_end(ap);
	assert_int_equal(vec_push(&n->texts, text), 0);
	f.name = text;
	assert_int_equal(vec_push(&ret->v, f), 0);
}

void __wrap_names_user(struct names *n, pid_t pid, uint64_t addr, bool exact, uint64_t time_ns, struct frames *ret)
{
	unsigned long long a = addr;

	n->lookups++;
	if (addr >= RUNTIME) /* the owner changes each 10 ms */
		add(n, ret, FRAME_COMPILED, false, "jit%llu", (unsigned long long)(time_ns - START) / (10 * MS));
	else if (addr >= UNNAMED)
		add(n, ret, FRAME_NATIVE, true, "[no symbols: lib.so 0x%llx]", a);
	else if (addr >= INLINED)
		add(n, ret, FRAME_INLINED, false, "inlined");
	if (addr < UNNAMED)
		add(n, ret, FRAME_NATIVE, false, "%s%llu%s",
		    addr == 77	 ? "__GI_epoll_wait@@V"
		    : addr == 78 ? "___pthread_mutex_lock@@V"
		    : exact	 ? "here"
				 : "f",
		    a,
		    pid == 8				      ? "of8"
		    : n->mapped_ns && time_ns >= n->mapped_ns ? "new"
							      : "");
}

void __wrap_names_kernel(struct names *n, uint64_t addr, struct frames *ret)
{
	if (addr == KERNEL + 5)
		add(n, ret, FRAME_KERNEL, false, "do_epoll_wait");
	else if (addr == KERNEL + 6)
		add(n, ret, FRAME_KERNEL, false, "bpf_trace_run4");
	else
		add(n, ret, FRAME_KERNEL, false, "k%llu", (unsigned long long)(addr - KERNEL));
}

const char *__wrap_names_end(struct names *n, pid_t pid, unsigned end, uint64_t end_addr, uint64_t time_ns)
{
	(void)n;
	(void)pid;
	(void)end_addr;
	(void)time_ns;
	switch (end) {
	case UT_END_DEPTH: return "[truncated]";
	case UT_END_NO_INFO: return "[no unwind info: lib.so at 0x1234]";
	case UT_END_RUNTIME: return "[no map: php -d opcache.jit_debug=0x10]";
	default: return NULL;
	}
}

/* The records. */
struct made {
	struct names names;
	struct samples *s;
	struct profile *p;
};

static int set_up(void **state)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->s = samples_new(&m->names);
	assert_non_null(m->s);
	samples_start(m->s, START);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct made *m = *state;

	profile_free(m->p);
	samples_free(m->s);
	for (size_t i = 0; i < m->names.texts.n; i++)
		free(m->names.texts.v[i]);
	vec_done(&m->names.texts);
	free(m);
	return 0;
}

static struct ut_rec_event head(uint32_t pid, uint32_t tid, uint64_t ms)
{
	struct ut_rec_event e = { .time_ns = START + ms * MS, .pid = pid, .tid = tid };

	snprintf(e.comm, sizeof(e.comm), "t%u", tid);
	return e;
}

/* @ips end with 0. */
static void stack(struct made *m, uint32_t pid, uint64_t id, unsigned end, const uint64_t *kernel, const uint64_t *user)
{
	struct ut_rec_stack rec = { .head = head(pid, pid, 0), .id = id, .end = end };
	uint64_t ips[64];

	for (; kernel && kernel[rec.kernel]; rec.kernel++)
		ips[rec.kernel] = kernel[rec.kernel];
	for (; user && user[rec.user]; rec.user++)
		ips[rec.kernel + rec.user] = user[rec.user];
	assert_int_equal(samples_stack(m->s, &rec, ips), 0);
}

#define IPS(...) ((const uint64_t[]){ __VA_ARGS__, 0 })

/* It stands for the millisecond before it; at @ms 0 that was before the recording. */
static void sample(struct made *m, uint32_t pid, uint32_t tid, uint64_t ms, uint64_t id, bool in_gc)
{
	struct ut_rec_sample rec = { .head = head(pid, tid, ms), .stack = id, .weight_ns = MS };

	assert_int_equal(samples_sample(m->s, &rec, in_gc), 0);
}

static void wait(struct made *m, uint32_t tid, uint64_t from_ms, uint64_t runnable_ms, uint64_t to_ms, uint64_t id,
		 uint32_t kernel_state)
{
	struct ut_rec_wait rec = { .head = head(7, tid, to_ms), .stack = id, .state = kernel_state };

	rec.from_ns = from_ms == UINT64_MAX ? 0 : START + from_ms * MS;
	rec.runnable_ns = runnable_ms == UINT64_MAX ? 0 : START + runnable_ms * MS;
	assert_int_equal(samples_wait(m->s, &rec), 0);
}

#define NEVER UINT64_MAX

static void put_stack(const struct profile *p, uint32_t node, struct buf *out)
{
	if (!node)
		return;
	put_stack(p, p->nodes.v[node].parent, out);
	buf_addf(out, "%s%s", p->nodes.v[node].parent ? ";" : "", p->frames.v[p->nodes.v[node].frame].name);
}

static int compare_lines(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Lines "STATE TID STACK COUNT MS", sorted. */
static char *text_of(struct made *m, const struct samples_options *o)
{
	static const char letters[] = "CRBE";
	struct buf out = { 0 };
	VEC(char *) lines = { 0 };

	assert_int_equal(samples_build(m->s, o, &m->p), 0);
	for (size_t i = 0; i < m->p->weights.n; i++) {
		const struct profile_weight *w = &m->p->weights.v[i];
		struct buf line = { 0 };

		buf_addf(&line, "%c %d ", letters[w->state], m->p->threads.v[w->thread].tid);
		put_stack(m->p, w->node, &line);
		buf_addf(&line, " %llu %llu\n", (unsigned long long)w->count, (unsigned long long)(w->value_ns / MS));
		assert_int_equal(vec_push(&lines, buf_take(&line)), 0);
	}
	if (lines.n)
		qsort(lines.v, lines.n, sizeof(*lines.v), compare_lines);
	for (size_t i = 0; i < lines.n; i++) {
		buf_adds(&out, lines.v[i]);
		free(lines.v[i]);
	}
	vec_done(&lines);
	return buf_take(&out);
}

static void check(struct made *m, const struct samples_options *o, const char *want)
{
	AUTO_FREE char *got = text_of(m, o);

	assert_string_equal(got, want);
}

static const struct samples_options usual = { .stop_ns = START + 100 * MS, .period_ns = MS };

static void order_of_frames(void **state)
{
	struct made *m = *state;

	stack(m, 7, 1, UT_END_START, IPS(KERNEL + 2, KERNEL + 1), IPS(3 | UT_IP_EXACT, 2, INLINED, 1));
	sample(m, 7, 7, 1, 1, false);
	sample(m, 7, 7, 2, 1, false);
	sample(m, 7, 9, 3, 1, false);
	sample(m, 7, 9, 4, 1, true);
	assert_int_equal(samples_count(m->s), 4);
	check(m, &usual,
	      "C 7 f1;f5242880;inlined;f2;here3;k1;k2 2 2\n"
	      "C 9 [GC];f1;f5242880;inlined;f2;here3;k1;k2 1 1\n"
	      "C 9 f1;f5242880;inlined;f2;here3;k1;k2 1 1\n");
	assert_int_equal(m->p->totals.samples, 4);
	assert_int_equal(m->p->totals.frames, 4 * 7);
	assert_int_equal(m->p->totals.unnamed, 0);
	assert_int_equal(m->p->totals.cut, 0);
	assert_int_equal(m->p->totals.duration_ns, 100 * MS);
	assert_int_equal(m->p->totals.period_ns, MS);
	assert_string_equal(m->p->threads.v[0].process, "t7");
	assert_string_equal(m->p->threads.v[1].comm, "t9");
	assert_string_equal(m->p->threads.v[1].process, "t7");
	assert_int_equal(m->names.lookups, 4); /* each place once */
	assert_int_equal(m->names.wanted, 0);
}

/* Every kind of address comes back from the arena as it went in. */
static void extreme_addresses(void **state)
{
	struct made *m = *state;
	uint64_t top = (1ull << 47) - 1;

	stack(m, 7, 1, UT_END_START, IPS(UINT64_MAX, KERNEL, UINT64_MAX), IPS(1 | UT_IP_EXACT, 4, 1, 4));
	stack(m, 7, 2, UT_END_START, NULL, IPS(top | UT_IP_EXACT, top, 1));
	sample(m, 7, 7, 1, 1, false);
	sample(m, 7, 7, 2, 2, false);
	check(m, &usual, "C 7 f1;jit0;jit0 1 1\nC 7 f4;f1;f4;here1;k2130706431;k0;k2130706431 1 1\n");
	assert_int_equal(m->names.wanted, 2);
	assert_int_equal(m->names.settled, 1);
}

/* JIT-compiled code has the owner of its moment; other code is one row. */
static void owners_change(void **state)
{
	struct made *m = *state;

	stack(m, 7, 1, UT_END_START, NULL, IPS(RUNTIME, 1));
	stack(m, 7, 2, UT_END_START, NULL, IPS(2, 1));
	for (uint64_t ms = 0; ms < 30; ms++) {
		sample(m, 7, 7, ms, 1, false);
		sample(m, 7, 7, ms, 2, false);
	}
	check(m, &usual, "C 7 f1;f2 30 29\nC 7 f1;jit0 10 9\nC 7 f1;jit1 10 10\nC 7 f1;jit2 10 10\n");
	assert_int_equal(samples_new_runtime(m->s, 7), 1);
	assert_int_equal(samples_new_runtime(m->s, 7), 0);
	assert_int_equal(samples_new_runtime(m->s, 1), 0);
}

static void other_things_mapped(void **state)
{
	struct made *m = *state;

	m->names.mapped_ns = START + 5 * MS;
	stack(m, 7, 1, UT_END_START, NULL, IPS(2, 1));
	sample(m, 7, 7, 1, 1, false);
	sample(m, 7, 7, 2, 1, false);
	assert_int_equal(samples_mapped(m->s, 7, START + 5 * MS), 0);
	assert_int_equal(samples_mapped(m->s, 99, START + 5 * MS), 0);
	sample(m, 7, 7, 6, 1, false);
	check(m, &usual, "C 7 f1;f2 2 2\nC 7 f1new;f2new 1 1\n");
}

/* The reader knows of a mapping before it has read the samples of the time before, and of one CPU's before another's. */
static void mappings_told_early(void **state)
{
	struct made *m = *state;

	m->names.mapped_ns = START + 5 * MS;
	assert_int_equal(samples_mapped(m->s, 7, START + 5 * MS), 0);
	assert_int_equal(samples_mapped(m->s, 7, START + 3 * MS), 0);
	stack(m, 7, 1, UT_END_START, NULL, IPS(2, 1));
	for (uint64_t ms = 1; ms < 10; ms++)
		sample(m, 7, 7, ms, 1, false);
	check(m, &usual, "C 7 f1;f2 4 4\nC 7 f1new;f2new 5 5\n");
}

/* After an exec, or in another process of the number, threads are others. */
static void exec_and_exit(void **state)
{
	struct made *m = *state;
	struct ut_rec_sample rec = { .head = head(7, 7, 3), .stack = 1 };

	stack(m, 7, 1, UT_END_START, NULL, IPS(1));
	samples_process(m->s, 7, "sixteen bytes...");
	sample(m, 7, 9, 1, 1, false);
	sample(m, 7, 9, 1, 1, false);
	samples_exit(m->s, 7, 9, false);
	sample(m, 7, 9, 2, 1, false);
	samples_exec(m->s, 7);
	strcpy(rec.head.comm, "other");
	assert_int_equal(samples_sample(m->s, &rec, false), 0);
	samples_exit(m->s, 7, 7, true);
	samples_exit(m->s, 7, 7, true);
	samples_exit(m->s, 5, 5, true);
	check(m, &usual, "C 7 f1 1 0\nC 9 f1 3 3\n");
	assert_int_equal(m->p->threads.n, 2);
	assert_string_equal(m->p->threads.v[0].process, "sixteen bytes..");
	assert_string_equal(m->p->threads.v[1].comm, "other");
	assert_string_equal(m->p->threads.v[1].process, "other");
}

static void why_cut(void **state)
{
	struct made *m = *state;
	const struct samples_reason *cuts, *unnamed;

	stack(m, 7, 1, UT_END_DEPTH, NULL, IPS(2, 1));
	stack(m, 7, 2, UT_END_NO_INFO, NULL, IPS(UNNAMED, 1));
	stack(m, 7, 3, UT_END_NO_INFO, NULL, IPS(UNNAMED + 1, 1));
	stack(m, 7, 4, UT_END_NONE, IPS(KERNEL + 1), NULL);
	sample(m, 7, 7, 1, 1, false);
	sample(m, 7, 7, 1, 2, true);
	sample(m, 7, 7, 1, 3, false);
	sample(m, 7, 7, 1, 4, false);
	sample(m, 7, 7, 1, 99, false);
	check(m, &usual,
	      "C 7 [GC];[no unwind info: lib.so at 0x1234];f1;[no symbols: lib.so 0x600000] 1 1\n"
	      "C 7 [no unwind info: lib.so at 0x1234];f1;[no symbols: lib.so 0x600001] 1 1\n"
	      "C 7 [stack not known] 1 1\n"
	      "C 7 [truncated];f1;f2 1 1\n"
	      "C 7 k1 1 1\n");
	assert_int_equal(m->p->totals.cut, 4);
	assert_int_equal(m->p->totals.frames, 7);
	assert_int_equal(m->p->totals.unnamed, 2);
	assert_int_equal(samples_cuts(m->s, &cuts), 3);
	assert_string_equal(cuts[0].text, "[no unwind info: lib.so]");
	assert_int_equal(cuts[0].count, 2);
	assert_int_equal(samples_unnamed(m->s, &unnamed), 1);
	assert_string_equal(unnamed[0].text, "[no symbols: lib.so]");
	assert_int_equal(unnamed[0].count, 2);
}

/* Numbers in flags are no addresses. */
static void why_cut_with_flag(void **state)
{
	struct made *m = *state;
	const struct samples_reason *cuts;

	stack(m, 7, 1, UT_END_RUNTIME, NULL, IPS(1));
	sample(m, 7, 7, 1, 1, false);
	check(m, &usual, "C 7 [no map: php -d opcache.jit_debug=0x10];f1 1 1\n");
	assert_int_equal(samples_cuts(m->s, &cuts), 1);
	assert_string_equal(cuts[0].text, "[no map: php -d opcache.jit_debug=0x10]");
}

/* The stack comes after its sample, and once more. */
static void late_stack(void **state)
{
	struct made *m = *state;

	sample(m, 7, 7, 1, 1, false);
	sample(m, 7, 7, 12, 2, false);
	stack(m, 7, 1, UT_END_START, NULL, IPS(2, 1));
	stack(m, 7, 2, UT_END_START, NULL, IPS(RUNTIME));
	stack(m, 7, 1, UT_END_START, NULL, IPS(2, 1));
	sample(m, 7, 7, 3, 1, false);
	check(m, &usual, "C 7 f1;f2 2 2\nC 7 jit1 1 1\n");
}

static void waits(void **state)
{
	struct made *m = *state;

	stack(m, 7, 1, UT_END_START, NULL, IPS(2, 1));
	wait(m, 7, 10, 15, 17, 1, 1); /* slept 5, then 2 without a processor */
	wait(m, 7, 20, NEVER, 23, 1, 1); /* until the stop */
	wait(m, 7, 30, 30, 34, 1, 0); /* another took its processor */
	wait(m, 7, 40, 39, 41, 1, 2); /* clocks that do not fit */
	wait(m, 7, 50, 60, 53, 1, 4);
	wait(m, 7, 60, NEVER, 60, 1, 1); /* nothing */
	wait(m, 7, 70, 75, 75, 1, 0x40);
	check(m, &usual,
	      "B 7 f1;f2;[sleeping] 2 8\n"
	      "B 7 f1;f2;[stopped] 1 3\n"
	      "B 7 f1;f2;[waiting] 1 5\n"
	      "R 7 f1;f2;[waiting for a CPU] 3 7\n");
	assert_int_equal(m->p->totals.samples, 7);
}

/* What takes the stack is no part of it; threads that have ended do not wait. */
static void waits_without_ourselves(void **state)
{
	struct made *m = *state;

	stack(m, 7, 1, UT_END_START, IPS(KERNEL + 8, KERNEL + 6, KERNEL + 2, KERNEL + 1), IPS(2, 1));
	stack(m, 7, 2, UT_END_START, IPS(KERNEL + 6, KERNEL + 1), IPS(2, 1));
	wait(m, 7, 10, 15, 17, 1, 1);
	wait(m, 7, 20, NEVER, 23, 1, 0x80);
	wait(m, 7, 20, NEVER, 23, 1, 0x10);
	sample(m, 7, 7, 30, 2, false);
	check(m, &usual,
	      "B 7 f1;f2;k1;k2;[sleeping] 1 5\n"
	      "C 7 f1;f2;k1;bpf_trace_run4 1 1\n"
	      "R 7 f1;f2;k1;k2;[waiting for a CPU] 1 2\n");
}

/* From before the recording: clipped to it. */
static void waits_before(void **state)
{
	struct made *m = *state;
	struct ut_rec_wait rec = {
		.head = head(7, 7, 5), .state = 2, .from_ns = START - 50 * MS, .runnable_ns = START - MS, .stack = 1
	};
	struct ut_rec_wait over = { .head = head(7, 7, 0), .state = 1 };

	stack(m, 7, 1, UT_END_START, NULL, IPS(1));
	over.head.time_ns = START - MS;
	assert_int_equal(samples_wait(m->s, &over), 0);
	assert_int_equal(samples_wait(m->s, &rec), 0);
	wait(m, 7, NEVER, 10, 12, 0, 1);
	wait(m, 7, NEVER, NEVER, 12, 0, 2);
	wait(m, 7, 30, 31, 31, 0, 1); /* its stack was lost */
	check(m, &usual,
	      "B 7 [stack not known];[sleeping] 1 1\n"
	      "B 7 [waiting since before the recording];[sleeping] 1 10\n"
	      "B 7 [waiting since before the recording];[uninterruptible wait] 1 12\n"
	      "R 7 [waiting since before the recording];[waiting for a CPU] 1 2\n"
	      "R 7 f1;[waiting for a CPU] 1 5\n");
	assert_int_equal(m->p->totals.cut, 1);
}

/* A new thread waits for its first turn, and has no stack that could be cut. */
static void waits_of_new(void **state)
{
	struct made *m = *state;

	wait(m, 8, 10, 10, 12, 0, UT_STATE_NEW);
	wait(m, 9, 10, 10, 13, 0, UT_STATE_NEW);
	wait(m, 9, NEVER, NEVER, 14, 0, 1);
	check(m, &usual,
	      "B 9 [waiting since before the recording];[sleeping] 1 14\n"
	      "R 8 [not started yet];[waiting for a CPU] 1 2\n"
	      "R 9 [not started yet];[waiting for a CPU] 1 3\n");
	assert_int_equal(m->p->totals.cut, 0);
}

/* Of a thread that has ended nothing can be asked any more: it keeps its name. */
static void name_is_kept(void **state)
{
	struct made *m = *state;
	struct ut_rec_wait rec = { .head = head(7, 7, 20), .state = 1, .stack = 1, .from_ns = START + 12 * MS };

	stack(m, 7, 1, UT_END_START, NULL, IPS(1));
	wait(m, 7, 10, 11, 12, 1, 1);
	memset(rec.head.comm, 0, sizeof(rec.head.comm));
	assert_int_equal(samples_wait(m->s, &rec), 0);
	assert_int_equal(samples_build(m->s, &usual, &m->p), 0);
	assert_int_equal(m->p->threads.n, 1);
	assert_true(m->p->threads.v[0].comm[0] && m->p->threads.v[0].process[0]);
}

/* Threads of all kinds; 9 polls, 10 is of a pool, 11 did nothing, 12 works and waits, 13 hangs, 7 is the first. */
static void many_threads(struct made *m)
{
	stack(m, 7, 1, UT_END_START, NULL, IPS(2, 1));
	stack(m, 7, 2, UT_END_START, IPS(KERNEL + 9, KERNEL + 5), IPS(3, 1));
	stack(m, 7, 3, UT_END_START, NULL, IPS(5, 77, 1));
	stack(m, 7, 4, UT_END_NONE, IPS(KERNEL + 1), NULL);
	sample(m, 7, 9, 0, 1, false);
	sample(m, 7, 10, 0, 1, false);
	sample(m, 7, 12, 0, 1, false);
	wait(m, 9, 1, 11, 12, 2, 1);
	wait(m, 9, 12, 13, 13, 3, 1);
	wait(m, 12, 50, 90, 91, 1, 1);
	wait(m, 10, 0, NEVER, 100, 1, 1);
	wait(m, 11, NEVER, NEVER, 100, 0, 1);
	wait(m, 13, NEVER, NEVER, 100, 0, 2);
	wait(m, 7, 0, NEVER, 100, 1, 1);
	wait(m, 14, 0, 80, 80, 4, 0x402);
}

static void idle(void **state)
{
	struct made *m = *state;

	many_threads(m);
	check(m, &usual,
	      "B 10 [idle];t10 1 100\n"
	      "B 11 [idle];t11 1 100\n"
	      "B 12 f1;f2;[sleeping] 1 40\n"
	      "B 13 [waiting since before the recording];[uninterruptible wait] 1 100\n"
	      "B 14 [idle];t14 1 80\n"
	      "B 7 f1;f2;[sleeping] 1 100\n"
	      "B 9 [idle];t9 2 11\n"
	      "C 10 f1;f2 1 0\n"
	      "C 12 f1;f2 1 0\n"
	      "C 9 f1;f2 1 0\n"
	      "R 12 f1;f2;[waiting for a CPU] 1 1\n"
	      "R 9 f1;f3;do_epoll_wait;k9;[waiting for a CPU] 1 1\n");
}

static void idle_in_full(void **state)
{
	struct made *m = *state;
	struct samples_options o = usual;

	o.idle = true;
	many_threads(m);
	check(m, &o,
	      "B 10 f1;f2;[sleeping] 1 100\n"
	      "B 11 [waiting since before the recording];[sleeping] 1 100\n"
	      "B 12 f1;f2;[sleeping] 1 40\n"
	      "B 13 [waiting since before the recording];[uninterruptible wait] 1 100\n"
	      "B 14 k1;[sleeping] 1 80\n"
	      "B 7 f1;f2;[sleeping] 1 100\n"
	      "B 9 f1;__GI_epoll_wait@@V77;f5;[sleeping] 1 1\n"
	      "B 9 f1;f3;do_epoll_wait;k9;[sleeping] 1 10\n"
	      "C 10 f1;f2 1 0\n"
	      "C 12 f1;f2 1 0\n"
	      "C 9 f1;f2 1 0\n"
	      "R 12 f1;f2;[waiting for a CPU] 1 1\n"
	      "R 9 f1;f3;do_epoll_wait;k9;[waiting for a CPU] 1 1\n");
}

/* Waits from before the recording with a stack, which is the program's part alone. 7 polls, 8 wants a lock, 9 is of a
 * pool and was woken once. */
static void standing(void **state)
{
	struct made *m = *state;

	stack(m, 7, 1, UT_END_START, NULL, IPS(5, 77, 1));
	stack(m, 7, 2, UT_END_START, NULL, IPS(5, 78, 1));
	stack(m, 7, 3, UT_END_START, NULL, IPS(2, 1));
	stack(m, 7, 4, UT_END_START, IPS(KERNEL + 1), IPS(2, 1));
	wait(m, 7, NEVER, NEVER, 100, 1, 1);
	wait(m, 8, NEVER, NEVER, 100, 2, 1);
	wait(m, 9, NEVER, 60, 61, 3, 1);
	wait(m, 9, 61, NEVER, 100, 4, 1);
	check(m, &usual,
	      "B 7 [idle];t7 1 100\n"
	      "B 8 f1;___pthread_mutex_lock@@V78;f5;[sleeping] 1 100\n"
	      "B 9 [idle];t9 2 99\n"
	      "R 9 f1;f2;[waiting for a CPU] 1 1\n");
}

/* The period varies: a sample counts once, and weighs its own time, as far as that lies in the recording. */
static void weights(void **state)
{
	struct made *m = *state;
	struct ut_rec_sample rec = { .head = head(7, 7, 3), .stack = 1, .weight_ns = 7 * MS };

	stack(m, 7, 1, UT_END_START, NULL, IPS(1));
	stack(m, 7, 2, UT_END_START, NULL, IPS(2));
	assert_int_equal(samples_sample(m->s, &rec, false), 0);
	for (uint64_t ms = 10; ms < 14; ms++) {
		rec = (struct ut_rec_sample){ .head = head(7, 7, 2 * ms),
					      .stack = ms % 2 + 1,
					      .weight_ns = (ms - 8) * MS };
		assert_int_equal(samples_sample(m->s, &rec, false), 0);
	}
	check(m, &usual, "C 7 f1 3 9\nC 7 f2 2 8\n");
	assert_int_equal(m->p->totals.samples, 5);
	assert_int_equal(m->p->totals.period_ns, MS);
}

static void probes(void **state)
{
	struct made *m = *state;
	struct ut_rec_sample rec = { .head = head(7, 7, 3), .stack = 1, .kind = UT_SAMPLE_PROBE };
	struct samples_options o = { .stop_ns = START + 100 * MS, .unit = "u:a:b" };

	stack(m, 7, 1, UT_END_START, NULL, IPS(1));
	for (int i = 0; i < 5; i++)
		assert_int_equal(samples_sample(m->s, &rec, false), 0);
	check(m, &o, "E 7 f1 5 0\n");
	assert_string_equal(m->p->totals.unit, "u:a:b");
}

static void nothing(void **state)
{
	struct made *m = *state;

	sample(m, 7, 7, 0, 1, false);
	samples_start(m->s, START + MS);
	sample(m, 7, 7, 0, 1, false);
	assert_int_equal(samples_count(m->s), 1);
	assert_null(samples_free(NULL));
}

static void empty(void **state) { check(*state, &usual, ""); }

static size_t index_bytes(const struct index *x) { return x->slots ? (x->mask + 1) * sizeof(*x->slots) : 0; }

static size_t bytes_of(const struct samples *s)
{
	return s->arena.cap + s->stacks.cap * sizeof(*s->stacks.v) + s->rows.cap * sizeof(*s->rows.v) +
	       s->threads.cap * sizeof(*s->threads.v) + s->processes.cap * sizeof(*s->processes.v) +
	       index_bytes(&s->stack_index) + index_bytes(&s->row_index) + index_bytes(&s->thread_index) +
	       index_bytes(&s->process_index);
}

/* As many as a long recording has: what is asked of names stays small, and so does what is kept. */
static void many(void **state)
{
	struct made *m = *state;

	for (uint64_t id = 1; id <= 2000; id++)
		stack(m, 7, id, UT_END_START, NULL, IPS(0x10000 + id, 0x3000 + id % 100, 0x2000, 0x1000));
	for (uint64_t i = 0; i < 200000; i++)
		sample(m, 7, 7 + (uint32_t)(i % 3), i / 2000, 1 + i * 7 % 2000, false);
	assert_true(bytes_of(m->s) < 1 << 20);
	assert_int_equal(samples_build(m->s, &usual, &m->p), 0);
	assert_int_equal(m->p->totals.samples, 200000);
	assert_int_equal(m->names.lookups, 2000 + 100 + 2);
	assert_int_equal(m->p->weights.n, 6000);
}

UNIT_TESTS(samples)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(order_of_frames, set_up, tear_down),
		cmocka_unit_test_setup_teardown(extreme_addresses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(owners_change, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_things_mapped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mappings_told_early, set_up, tear_down),
		cmocka_unit_test_setup_teardown(exec_and_exit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(why_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(why_cut_with_flag, set_up, tear_down),
		cmocka_unit_test_setup_teardown(late_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits_without_ourselves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits_of_new, set_up, tear_down),
		cmocka_unit_test_setup_teardown(name_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(idle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(idle_in_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(standing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(weights, set_up, tear_down),
		cmocka_unit_test_setup_teardown(probes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(empty, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many, set_up, tear_down),
	};

	return unit_run(tests, NULL, NULL);
}

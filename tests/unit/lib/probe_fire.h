/* SPDX-License-Identifier: MIT */
/* Probes fired by the test program itself: places with every register set to a known value, and a small recorder. */
#ifndef UT_TESTS_PROBE_FIRE_H
#define UT_TESTS_PROBE_FIRE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/clock.h"
#include "elf/image.h"
#include "gen/gen.h"
#include "probe/layout.h"
#include "kernel/kernel.h"
#include "record/merge.h"
#include "record/ring.h"
#include "wire/record.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <pthread.h>

/*
 * fire_NAME: all registers, the stack pointer too, get the values of fire_before (in the order of enum reg); then comes
 * the place fire_NAME_site; then all registers are stored to fire_after. They are in probe_fire.c.
 */
extern uint64_t fire_before[16], fire_after[16], fire_own_stack;
void fire_nop1(void);
void fire_nop5(void);
extern const char fire_nop1_site[], fire_nop5_site[];

/* A recorder for this one process. */
struct recorder {
	struct rings rings;
	struct merge *merge;
	int fds[GEN_MAPS];
	bool multi;
	int progs[64], links[300];
	size_t nprogs, nlinks;
};

static inline unsigned recorder_cpus(void) { return kernel_cpus(); }

static inline struct gen_options recorder_options(uint32_t text_limit)
{
	return (struct gen_options){ .text_limit = text_limit, .may_sleep = true, .ncpus = recorder_cpus() };
}

/* Skips the test, with the reason, where nothing may be attached. */
#define need_root() \
	do { \
		if (geteuid() != 0) { \
			print_message("attaching needs root\n"); \
			skip(); \
		} \
	} while (0)

static inline void recorder_open(struct recorder *r, uint64_t ring_bytes)
{
	struct ut_err err = { 0 };

	*r = (struct recorder){ .multi = kernel_has_uprobe_multi() };
	for (int i = 0; i < GEN_MAPS; i++)
		r->fds[i] = -1;
	if (rings_open(&r->rings, recorder_cpus(), ring_bytes, &err))
		fail_msg("%s", err.msg);
	r->merge = merge_new(recorder_cpus());
	assert_non_null(r->merge);
	r->fds[GEN_MAP_RINGS] = r->rings.outer_fd;
	r->fds[GEN_MAP_LOST] = r->rings.lost_fd;
	r->fds[GEN_MAP_STARTS] = kernel_starts_map();
	r->fds[GEN_MAP_CALLS] = kernel_calls_map();
	r->fds[GEN_MAP_FOLLOW] = bpf_map_create(BPF_MAP_TYPE_HASH, "follow", 4, 4, 1024, NULL);
	assert_true(r->fds[GEN_MAP_STARTS] >= 0 && r->fds[GEN_MAP_CALLS] >= 0 && r->fds[GEN_MAP_FOLLOW] >= 0);
}

static inline void *recorder_close_fd(void *fd)
{
	close(*(int *)fd);
	return NULL;
}

/* Each close waits for the kernel; they wait together. */
static inline void recorder_detach(struct recorder *r)
{
	pthread_t threads[ARRAY_SIZE(r->links)];

	for (size_t i = 0; i < r->nlinks; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, recorder_close_fd, &r->links[i]), 0);
	for (size_t i = 0; i < r->nlinks; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < r->nprogs; i++)
		close(r->progs[i]);
	r->nlinks = r->nprogs = 0;
}

static inline void recorder_close(struct recorder *r)
{
	recorder_detach(r);
	close(r->fds[GEN_MAP_STARTS]);
	close(r->fds[GEN_MAP_CALLS]);
	close(r->fds[GEN_MAP_FOLLOW]);
	rings_close(&r->rings);
	r->merge = merge_free(r->merge);
}

/* File offset of an address of this program. */
static inline uint64_t fire_offset(const void *addr)
{
	AUTO_FCLOSE FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*4s %lx", &start, &end, &offset) == 3 && (uintptr_t)addr >= start &&
		    (uintptr_t)addr < end)
			return (uintptr_t)addr - start + offset;
	fail_msg("an address of the test is not mapped");
	return 0;
}

/* The address of @addr in the numbering of our own file. */
static inline uint64_t fire_vaddr(struct elf_image *img, const void *addr)
{
	uint64_t ret;

	assert_true(elf_offset_to_vaddr(img, fire_offset(addr), &ret));
	return ret;
}

static inline struct elf_image *fire_image(void)
{
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image *ret = NULL;
	struct ut_err err = { 0 };

	if (fd < 0 || elf_image_open(fd, &ret, &err))
		fail_msg("own program: %s", err.msg);
	return ret;
}

static inline double fire_ms(void) { return (double)monotonic_ns() / 1e6; }

/* Loads a program of @n bodies; its descriptor is the recorder's. */
static inline int recorder_load(struct recorder *r, const struct gen_snippet *const *bodies, const uint32_t *numbers,
				size_t n, const struct gen_options *options)
{
	struct kernel_prog prog = { .type = BPF_PROG_TYPE_KPROBE, .multi = r->multi };
	struct asm_buf code = { 0 };
	struct ut_err err = { 0 };
	AUTO_FREE char *log = NULL;
	int fd;

	if (gen_program(bodies, numbers, n, options, &code, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(gen_relocate(&code, r->fds), 0);
	for (size_t i = 0; i < n; i++)
		prog.sleepable |= bodies[i]->sleeps;
	prog.insns = code.insns.v;
	prog.n = code.insns.n;
	fd = kernel_prog_load(&prog, &log, &err);
	if (fd < 0)
		fail_msg("%s\n%s", err.msg, log && strlen(log) > 3000 ? log + strlen(log) - 3000 : log ? log : "");
	asm_done(&code);
	assert_true(r->nprogs < ARRAY_SIZE(r->progs));
	r->progs[r->nprogs++] = fd;
	return fd;
}

/* Attaches @prog to @n places of this program. */
static inline void recorder_link(struct recorder *r, int prog, const void *const *places, const uint64_t *cookies,
				 size_t n, bool is_return)
{
	AUTO_FREE uint64_t *offsets = calloc(n, sizeof(*offsets));
	struct kernel_uprobes u = { .path = "/proc/self/exe",
				    .n = n,
				    .offsets = offsets,
				    .cookies = cookies,
				    .is_return = is_return,
				    .pid = getpid() };
	int fd;

	for (size_t i = 0; i < n; i++)
		offsets[i] = fire_offset(places[i]);
	assert_true(r->nlinks + 2 * n < ARRAY_SIZE(r->links));
	if (r->multi) {
		fd = kernel_link_uprobes(prog, &u);
		if (fd < 0)
			fail_msg("cannot attach: %s", strerror(-fd));
		r->links[r->nlinks++] = fd;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		int event = kernel_uprobe_event(u.path, offsets[i], 0, is_return, u.pid);

		assert_true(event >= 0);
		fd = kernel_link_event(prog, event, cookies[i]);
		assert_true(fd >= 0);
		r->links[r->nlinks++] = fd;
		r->links[r->nlinks++] = event;
	}
}

/* One body at one place; the cookie's site is @number. */
static inline void recorder_attach(struct recorder *r, const struct gen_snippet *body, const void *place,
				   uint32_t number, const struct gen_options *options)
{
	const uint32_t numbers[] = { 0 };
	const uint64_t cookie = number;

	recorder_link(r, recorder_load(r, &body, numbers, 1, options), &place, &cookie, 1, false);
}

/* What has come since the last call; the next record in order, or NULL. It is good until the next call. */
static inline const struct merge_item *recorder_next(struct recorder *r)
{
	unsigned ring;
	const struct merge_item *item = merge_next(r->merge, &ring);
	uint64_t n;

	if (item)
		return item;
	rings_release(&r->rings, r->merge);
	assert_int_equal(rings_read(&r->rings, r->merge, &n), 0);
	return merge_next(r->merge, &ring);
}

static inline const struct ut_rec_event *recorder_event(struct recorder *r)
{
	const struct merge_item *item = recorder_next(r);

	assert_non_null(item);
	assert_non_null(item->rec);
	return item->rec;
}

/* A note's arguments, resolved against our own file. */
static inline struct operands *fire_operands(struct elf_image *img, const char *args)
{
	struct operands *ret = calloc(1, sizeof(*ret));

	assert_non_null(ret);
	assert_int_equal(operands_parse(args, ret), 0);
	for (unsigned i = 0; i < ret->n; i++)
		operand_resolve(&ret->v[i], img);
	return ret;
}

/* Parses and checks @text against the types of @ops, as the planner does. */
static inline struct probe_checked *fire_check(const char *text, const struct operands *ops)
{
	struct probe_field fields[OPERANDS_MAX] = { 0 };
	struct probe_scope scope = { .kind = PROBE_USDT, .display = "test:fire", .args = fields, .nargs = ops->n };
	struct probe_checked *ret = NULL;
	struct probe_spec *spec = NULL;
	struct ut_err err = { 0 };

	for (unsigned i = 0; i < ops->n; i++) {
		fields[i].type = (struct type){ .kind = ops->v[i].is_float ? TYPE_FLOAT : TYPE_INT,
						.size = ops->v[i].size ? ops->v[i].size : 8,
						.is_signed = ops->v[i].is_signed };
		if (ops->v[i].kind == OPERAND_UNREADABLE)
			fields[i].unreadable = ops->v[i].reason;
	}
	if (probe_parse(text, &spec, &err) || probe_check(spec, &scope, &ret, &err))
		fail_msg("%s", err.msg);
	return ret;
}

static inline uint64_t record_value(const struct ut_rec_event *rec, const struct probe_checked *checked,
				    unsigned output)
{
	struct layout layout;
	uint64_t ret;

	layout_of(checked, rec->text_room, &layout);
	memcpy(&ret, (const char *)rec + layout.slot[output].value, sizeof(ret));
	return ret;
}

static inline const struct ut_rec_text *record_text(const struct ut_rec_event *rec, const struct probe_checked *checked,
						    unsigned output)
{
	struct layout layout;

	layout_of(checked, rec->text_room, &layout);
	return (const void *)((const char *)rec + layout.slot[output].text);
}

static inline bool record_faulted(const struct ut_rec_event *rec, const struct probe_checked *checked, unsigned output)
{
	struct layout layout;

	layout_of(checked, rec->text_room, &layout);
	return rec->faults & layout.slot[output].fault;
}

#endif

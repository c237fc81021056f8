/* SPDX-License-Identifier: MIT */
/*
 * What benchmarks need of the program's own parts:
 *
 *     helper empty PID PROBE         an empty program on the probe's sites, until standard input ends; with --no-forks behind
 *                                    it where the tracer would attach with that option
 *     helper attach PID PROBE        what planning, attaching and detaching take, each by itself
 *     helper print COUNT             what a line of the live printer takes
 *     helper merge RINGS COUNT       what a record costs on its way through the merge of so many rings
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/auto.h"
#include "live/print.h"
#include "probe/layout.h"
#include "kernel/kernel.h"
#include "record/merge.h"
#include "record/nop5_harm.h"
#include "record/session.h"
#include "wire/record.h"

static int fail(const struct ut_err *err)
{
	fprintf(stderr, "helper: %s\n", err->msg);
	return 1;
}

static int open_session(int pid, const char *probe, struct runtimes *runtimes, struct session **ret, struct ut_err *err)
{
	const struct session_options options = { .probes = &probe,
						 .nprobes = 1,
						 .targets.pids = &pid,
						 .targets.npids = 1,
						 .text_limit = 1024,
						 .targets.stop_fd = -1 };
	int r = runtimes_load(runtimes, err);

	return r ? r : session_open(&options, runtimes, ret, err);
}

/* --- empty ----------------------------------------------------------------------------------------------------------- */

/* Where the tracer would attach: it prefers the header's faster place where that does no harm. */
static uint64_t place_of(const struct plan_site *site, bool no_forks)
{
	return site->nop5_before && !nop5_unsafe(NOP5_FIRST, no_forks) ? site->offset - 5 : site->offset;
}

static int link_site(int prog, const char *path, const struct plan_site *site, bool multi, int pid, bool no_forks)
{
	const uint64_t offset = place_of(site, no_forks);
	const struct kernel_uprobes u = { .path = path,
					  .n = 1,
					  .offsets = &offset,
					  .pid = pid,
					  .sem_offsets = site->sem_offset ? &site->sem_offset : NULL };
	int event;

	if (multi)
		return kernel_link_uprobes(prog, &u);
	event = kernel_uprobe_event(path, offset, site->sem_offset, false, pid);
	return event < 0 ? event : kernel_link_event(prog, event, 0);
}

/* The descriptors stay open until the process ends. */
static int attach_empty(const struct plan *plan, int pid, bool no_forks, struct ut_err *err)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct kernel_prog prog = {
		.type = BPF_PROG_TYPE_KPROBE, .insns = insns, .n = 2, .multi = kernel_has_uprobe_multi()
	};
	int fd = kernel_prog_load(&prog, NULL, err);
	char path[64];

	for (size_t i = 0; fd >= 0 && i < plan->sites.n; i++) {
		const struct plan_site *site = &plan->sites.v[i];
		int r;

		if (site_is_tracepoint(site))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", plan->files.v[site->file].fd);
		r = link_site(fd, path, site, prog.multi, pid, no_forks);
		if (r < 0)
			return ut_err_set(err, r, "cannot attach an empty program: %s", strerror(-r));
	}
	return fd < 0 ? fd : 0;
}

static int run_empty(int pid, const char *probe, bool no_forks)
{
	struct runtimes runtimes = { 0 };
	struct session *session = NULL;
	struct ut_err err = { 0 };
	int r = open_session(pid, probe, &runtimes, &session, &err);

	if (!r)
		r = attach_empty(session_plan(session), pid, no_forks, &err);
	if (!r) {
		puts("attached");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	session_close(session);
	runtimes_done(&runtimes);
	return r ? fail(&err) : 0;
}

/* --- attach ---------------------------------------------------------------------------------------------------------- */

static int run_attach(int pid, const char *probe)
{
	const struct session_sink sink = { 0 };
	struct session_totals totals = { 0 };
	struct runtimes runtimes = { 0 };
	struct session *session = NULL;
	struct ut_err err = { 0 };
	uint64_t start = monotonic_ns(), planned, attached = 0, detached;
	int r = open_session(pid, probe, &runtimes, &session, &err);

	planned = monotonic_ns();
	if (!r)
		r = session_start(session, &sink, NULL, &err);
	attached = monotonic_ns();
	if (!r)
		r = session_stop(session, &sink, &totals, &err);
	detached = monotonic_ns();
	if (!r)
		printf("probes %zu sites %zu plan_ns %" PRIu64 " attach_ns %" PRIu64 " detach_ns %" PRIu64 "\n",
		       totals.nprobes, totals.nsites, planned - start, attached - planned, detached - attached);
	session_close(session);
	runtimes_done(&runtimes);
	return r ? fail(&err) : 0;
}

/* --- print ----------------------------------------------------------------------------------------------------------- */

/* A probe of two 64-bit numbers, made without a file. */
static struct probe_checked *check(const char *text, struct ut_err *err)
{
	static const struct probe_field args[] = {
		{ .type = { .kind = TYPE_INT, .size = 8 } },
		{ .type = { .kind = TYPE_INT, .size = 8 } },
	};
	const struct probe_scope scope = { .kind = PROBE_USDT, .display = "bench:ev", .args = args, .nargs = 2 };
	struct probe_checked *checked = NULL;
	struct probe_spec *spec = NULL;

	if (probe_parse(text, &spec, err) || probe_check(spec, &scope, &checked, err))
		probe_spec_free(spec);
	return checked;
}

/* A record as the kernel sends it; texts hold as much as fits. */
static void fill(const struct probe_checked *checked, struct ut_rec_event *rec, size_t room, size_t *ret_size)
{
	struct layout layout;

	*rec = (struct ut_rec_event){
		.time_ns = monotonic_ns(), .pid = 4711, .tid = 4712, .comm = "java", .text_room = 32
	};
	layout_of(checked, rec->text_room, &layout);
	for (unsigned i = 0; layout.size <= room && i < checked->noutputs; i++) {
		struct ut_rec_text *text = (void *)((char *)rec + layout.slot[i].text);

		if (layout.slot[i].value)
			*(uint64_t *)(void *)((char *)rec + layout.slot[i].value) = 1234567 + i;
		if (!layout.slot[i].text)
			continue;
		text->len = 16;
		memcpy(text + 1, "java/lang/String", 16);
	}
	*ret_size = layout.size;
}

static uint64_t print_lines(struct live_printer *printer, struct live_event *event, struct ut_rec_event *rec,
			    uint64_t count)
{
	struct buf out = { 0 };
	uint64_t start = monotonic_ns();

	for (uint64_t i = 0; i < count; i++) {
		rec->time_ns += 1000;
		live_print(printer, event, &out);
		if (out.len >= 65536)
			out.len = 0;
	}
	buf_done(&out);
	return monotonic_ns() - start;
}

static int run_print_case(const char *name, const char *text, const struct live_options *options, uint64_t count)
{
	struct ut_err err = { 0 };
	struct probe_checked *checked = check(text, &err);
	struct live_printer *printer = live_printer_new(options);
	struct live_probe *probe = checked ? live_probe_new(checked) : NULL;
	union {
		struct ut_rec_event rec;
		char room[4096];
	} record = { 0 };
	struct live_event event = {
		.rec = &record.rec, .cpu = 1, .probe = probe, .func = "ev", .provider_or_file = "bench"
	};

	if (printer && probe) {
		fill(checked, &record.rec, sizeof(record), &event.size);
		printf("%s\t%.1f\n", name, (double)print_lines(printer, &event, &record.rec, count) / (double)count);
	}
	live_probe_free(probe);
	live_printer_free(printer);
	probe_checked_free(checked);
	return printer && probe ? 0 : fail(&err);
}

static int run_print(uint64_t count)
{
	const struct live_options plain = { 0 };
	const struct live_options times = {
		.wall_time = true, .cpu = true, .since_start = true, .wall_ns = 1800000000000000000u
	};
	const struct live_options json = { .json = true, .wall_ns = 1800000000000000000u };
	int r = run_print_case("two numbers", "u:bench:ev \"%d %d\", arg1, arg2", &plain, count);

	if (!r)
		r = run_print_case("two numbers, without a format", "u:bench:ev", &plain, count);
	if (!r)
		r = run_print_case("two numbers with -T -t -C", "u:bench:ev \"%d %d\", arg1, arg2", &times, count);
	if (!r)
		r = run_print_case("a string of 16 bytes", "u:bench:ev \"%s\", arg1", &plain, count);
	if (!r)
		r = run_print_case("two numbers, --json", "u:bench:ev \"%d %d\", arg1, arg2", &json, count);
	return r;
}

/* --- merge ----------------------------------------------------------------------------------------------------------- */

#define ROUND 16384 /* records that a reader finds at once, over all rings */
#define POSITION 64 /* what a record takes in its ring */

struct record {
	unsigned ring;
	struct merge_item item;
};

struct simulation {
	struct merge *merge;
	unsigned nrings;
	uint64_t random, clock;
	struct record records[ROUND], by_ring[ROUND];
	uint64_t *position; /* by ring */
	size_t *first; /* by ring, of by_ring */
};

static uint64_t next_random(struct simulation *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	return s->random ^= s->random << 17;
}

/* The reader finds them ring by ring. */
static void sort_by_ring(struct simulation *s)
{
	size_t at = 0;

	memset(s->first, 0, s->nrings * sizeof(*s->first));
	for (size_t i = 0; i < ROUND; i++)
		s->first[s->records[i].ring]++;
	for (unsigned i = 0; i < s->nrings; i++) {
		at += s->first[i];
		s->first[i] = at - s->first[i];
	}
	for (size_t i = 0; i < ROUND; i++)
		s->by_ring[s->first[s->records[i].ring]++] = s->records[i];
}

/* One record in 32 was reserved before the one of an interrupt that has an earlier time. */
static void produce(struct simulation *s)
{
	for (size_t i = 0; i < ROUND; i++) {
		unsigned ring = (unsigned)(next_random(s) >> 32) % s->nrings;
		uint64_t late = next_random(s) % 32 ? 0 : 500;

		s->clock += 1 + next_random(s) % 64;
		s->position[ring] += POSITION;
		s->records[i] = (struct record){
			.ring = ring, .item = { .time_ns = s->clock + late, .rec = s, .position = s->position[ring] }
		};
	}
	sort_by_ring(s);
}

/* What session_run does with a round. Returns how many came out. */
static size_t merge_round(struct simulation *s, uint64_t *last_ns, bool end)
{
	const struct merge_item *item;
	size_t n = 0;
	unsigned ring;

	for (size_t i = 0; i < ROUND; i++)
		if (merge_add(s->merge, s->by_ring[i].ring, &s->by_ring[i].item))
			return 0;
	for (unsigned i = 0; i < s->nrings; i++)
		merge_set_watermark(s->merge, i, end ? UINT64_MAX : s->clock);
	for (; (item = merge_next(s->merge, &ring)); n++) {
		if (item->time_ns < *last_ns)
			return 0;
		*last_ns = item->time_ns;
	}
	for (unsigned i = 0; i < s->nrings; i++)
		if (merge_oldest(s->merge, i, s->position[i]) < POSITION)
			return 0;
	return n;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int merge_all(const char *nrings, const char *count)
{
	struct simulation *s = calloc(1, sizeof(*s));
	uint64_t rounds = strtoull(count, NULL, 10) / ROUND + 1, spent = 0, last_ns = 0, out = 0;

	if (!s)
		return 1;
	s->nrings = (unsigned)strtoul(nrings, NULL, 10);
	s->merge = merge_new(s->nrings);
	s->position = calloc(s->nrings, sizeof(*s->position));
	s->first = calloc(s->nrings, sizeof(*s->first));
	s->random = 88172645463325252u;
	for (uint64_t i = 0; i < rounds && s->merge && s->position && s->first; i++) {
		uint64_t begin;

		produce(s);
		begin = cpu_ns();
		out += merge_round(s, &last_ns, i + 1 == rounds);
		spent += cpu_ns() - begin;
	}
	printf("%.2f\n", (double)spent / (double)(rounds * ROUND));
	merge_free(s->merge);
	free(s->position);
	free(s->first);
	free(s);
	if (out == rounds * ROUND)
		return 0;
	fprintf(stderr, "helper: %" PRIu64 " of %" PRIu64 " records came out of the merge in order\n", out,
		rounds * ROUND);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "empty"))
		return run_empty(atoi(argv[2]), argv[3], argc > 4);
	if (argc == 4 && !strcmp(argv[1], "attach"))
		return run_attach(atoi(argv[2]), argv[3]);
	if (argc == 3 && !strcmp(argv[1], "print"))
		return run_print(strtoull(argv[2], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "merge"))
		return merge_all(argv[2], argv[3]);
	fputs("usage: helper empty PID PROBE [--no-forks], helper attach PID PROBE, helper print COUNT, helper merge "
	      "RINGS COUNT\n",
	      stderr);
	return 2;
}

/* SPDX-License-Identifier: MIT */
/* Trials: empty programs and maps, and a probe on a function of usertrace itself. */
#include "doctor/machine_priv.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "gen/gen.h"
#include "proc/process.h"
#include "proc/tracefs.h"
#include "plan/event.h"
#include "kernel/kernel.h"
#include "record/mapwatch.h"

#define CALLS 3
#define COOKIE 0x5eed0000002aull

static const struct bpf_insn return_0[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* Closes the descriptor of a trial; 0, or @fd where that is a negative errno. */
static int close_tried(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* --- programs and maps ----------------------------------------------------------------------------------- */

static int try_prog(enum bpf_prog_type type, bool sleepable)
{
	const struct kernel_prog prog = {
		.type = type, .insns = return_0, .n = ARRAY_SIZE(return_0), .sleepable = sleepable
	};

	return close_tried(kernel_prog_load(&prog, NULL, NULL));
}

/* Loads a program that attaches to one kernel function. */
static int try_btf_prog(const struct btf *btf, enum bpf_prog_type type, enum bpf_attach_type attach,
			const char *function)
{
	int id = btf ? btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) : -ENOENT;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach, .attach_btf_id = (uint32_t)id);

	if (id < 0)
		return -ENOENT;
	return close_tried(bpf_prog_load(type, "usertrace", "GPL", return_0, ARRAY_SIZE(return_0), &opts));
}

static void try_btf(struct machine *m)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	struct btf *btf = btf__load_vmlinux_btf();

	if (libbpf_get_error(btf))
		btf = NULL;
	m->btf = btf != NULL;
	m->tried[TRY_TRACING] = try_btf_prog(btf, BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "vfs_read");
	m->tried[TRY_LSM] = try_btf_prog(btf, BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "bpf_lsm_file_open");
	btf__free(btf);
	libbpf_set_print(print);
}

static bool is_jited(void)
{
	const struct kernel_prog prog = { .type = BPF_PROG_TYPE_KPROBE, .insns = return_0, .n = ARRAY_SIZE(return_0) };
	AUTO_CLOSE int fd = kernel_prog_load(&prog, NULL, NULL);
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.jited_prog_len;
}

static void try_maps(struct machine *m)
{
	AUTO_CLOSE int ring =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ut_ring", 0, 0, (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	LIBBPF_OPTS(bpf_map_create_opts, outer, .inner_map_fd = (uint32_t)ring);
	LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);

	m->tried[TRY_RING] = ring < 0 ? ring : 0;
	m->tried[TRY_RING_ARRAY] =
		ring < 0 ? ring : close_tried(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "ut_rings", 4, 4, 1, &outer));
	m->tried[TRY_COUNTERS] = close_tried(bpf_map_create(BPF_MAP_TYPE_ARRAY, "ut_lost", 4, 8, 1, &mapped));
	m->tried[TRY_STARTS] = close_tried(kernel_starts_map());
}

int doctor_load(struct asm_buf *a, struct kernel_prog *prog, int map_fd)
{
	int fds[GEN_MAPS], r = asm_finish(a);

	memset(fds, -1, sizeof(fds));
	fds[GEN_MAP_LOST] = map_fd;
	if (!r)
		r = gen_relocate(a, fds);
	prog->insns = a->insns.v;
	prog->n = a->insns.n;
	if (!r)
		r = kernel_prog_load(prog, NULL, NULL);
	asm_done(a);
	return r;
}

/* --- a probe on ourselves -------------------------------------------------------------------------------- */

/* Begins with a 1-byte nop, as a probe's site does. */
void doctor_probed(void);
__asm__(".text\n"
	".p2align 4\n"
	".type doctor_probed, @function\n"
	"doctor_probed:\n"
	"	nop\n"
	"	ret\n"
	".size doctor_probed, . - doctor_probed\n");

static volatile uint16_t semaphore __attribute__((section(".probes"))) = 0;

/* The map of the program. */
struct seen {
	uint64_t calls, cookie, time_ns;
};

/* Loads a program that counts its calls and stores the last cookie and time. */
static int load_seeing(int map_fd, bool multi)
{
	struct kernel_prog prog = { .type = BPF_PROG_TYPE_KPROBE, .multi = multi };
	struct asm_buf a = { 0 };

	asm_call(&a, BPF_FUNC_get_attach_cookie);
	asm_map_value(&a, R6, GEN_MAP_LOST);
	asm_store(&a, 8, R6, offsetof(struct seen, cookie), R0);
	asm_call(&a, BPF_FUNC_ktime_get_ns);
	asm_store(&a, 8, R6, offsetof(struct seen, time_ns), R0);
	asm_movi(&a, R1, 1);
	asm_xadd(&a, R6, offsetof(struct seen, calls), R1);
	asm_movi(&a, R0, 0);
	asm_exit(&a);
	return doctor_load(&a, &prog, map_fd);
}

static void try_calls(struct machine *m, int prog, int map_fd, uint64_t offset)
{
	AUTO_CLOSE int event = -1, link = kernel_link_own(prog, m->multi, offset, 0, COOKIE, &event);
	const uint32_t key = 0;
	struct seen seen = { 0 };
	uint64_t before = monotonic_ns(), after;

	for (int i = 0; link >= 0 && i < CALLS; i++)
		doctor_probed();
	after = monotonic_ns();
	if (link >= 0 && bpf_map_lookup_elem(map_fd, &key, &seen))
		seen.calls = 0;
	m->tried[TRY_FIRES] = link < 0 ? link : seen.calls == CALLS ? 0 : -EIO;
	m->tried[TRY_COOKIE] = link < 0 ? link : seen.cookie == COOKIE ? 0 : -EIO;
	m->tried[TRY_CLOCK] = link < 0 ? link : seen.time_ns >= before && seen.time_ns <= after ? 0 : -EIO;
}

static int try_semaphore(const struct machine *m, int prog, uint64_t offset)
{
	uint64_t sem_offset;
	uint16_t raised;
	int event = -1, link, r = process_own_offset(&semaphore, &sem_offset);

	if (r)
		return r;
	link = kernel_link_own(prog, m->multi, offset, sem_offset, COOKIE, &event);
	raised = semaphore;
	if (link >= 0)
		close(link);
	if (event >= 0)
		close(event);
	return link < 0 ? link : raised == 1 && semaphore == 0 ? 0 : -EIO;
}

static void try_probes(struct machine *m)
{
	AUTO_CLOSE int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ut_seen", 4, sizeof(struct seen), 1, NULL);
	AUTO_CLOSE int prog = map < 0 ? map : load_seeing(map, m->multi);
	uint64_t offset = 0;
	int r = process_own_offset(doctor_probed, &offset);

	m->tried[TRY_UPROBE_EVENT] =
		r ? r : close_tried(kernel_uprobe_event("/proc/self/exe", offset, 0, false, getpid()));
	if (r || prog < 0) {
		r = r ? r : prog;
		m->tried[TRY_FIRES] = m->tried[TRY_COOKIE] = m->tried[TRY_CLOCK] = m->tried[TRY_SEMAPHORE] = r;
		return;
	}
	try_calls(m, prog, map, offset);
	m->tried[TRY_SEMAPHORE] = try_semaphore(m, prog, offset);
}

/* --- events of the kernel -------------------------------------------------------------------------------- */

static int try_tracepoint_event(void)
{
	AUTO_CLOSE int dir = tracefs_open(NULL);
	struct tracepoint tp = { 0 };
	int r = dir < 0 ? dir : event_read(dir, "sched", "sched_process_fork", &tp, NULL);

	if (r)
		return r;
	r = close_tried(kernel_tracepoint_event(tp.id));
	tracepoint_done(&tp);
	return r;
}

static int try_mapwatch(void)
{
	struct mapwatch *w;
	int r = mapwatch_open(&w, NULL);

	if (!r)
		mapwatch_close(w);
	return r;
}

void machine_try(struct machine *ret)
{
	*ret = (struct machine){ .multi = kernel_has_uprobe_multi(),
				 .nop5_harm = nop5_harm_of_kernel(),
				 .jited = is_jited() };
	ret->tried[TRY_KPROBE] = try_prog(BPF_PROG_TYPE_KPROBE, false);
	ret->tried[TRY_SLEEPABLE] = try_prog(BPF_PROG_TYPE_KPROBE, true);
	ret->tried[TRY_TRACEPOINT] = try_prog(BPF_PROG_TYPE_TRACEPOINT, false);
	ret->tried[TRY_PERF_EVENT] = try_prog(BPF_PROG_TYPE_PERF_EVENT, false);
	ret->tried[TRY_RAW_TRACEPOINT] = try_prog(BPF_PROG_TYPE_RAW_TRACEPOINT, false);
	ret->tried[TRY_TRACEPOINT_EVENT] = try_tracepoint_event();
	ret->tried[TRY_MAPWATCH] = try_mapwatch();
	try_btf(ret);
	try_maps(ret);
	try_probes(ret);
	doctor_try_user(ret);
}

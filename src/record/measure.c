/* SPDX-License-Identifier: MIT */
/* Four maps, six programs on seven events. */
#include "record/measure.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/vec.h"
#include "gen/gen_state.h"
#include "kernel/kernel.h"
#include "kernel/kernel_struct.h"

#define PROCESSES_MAX 4096
#define THREADS_MAX 65536
#define NAMES_MAX 65536
#define CPUS_MAX 4096

/* A process whose threads' names are in the table: of so many processes one must not search it for those of one. */
struct named {
	pid_t pid;
	const struct runtime *runtime;
};

struct measure {
	uint64_t base_ns;
	int processes_fd, threads_fd, slots_fd, names_fd;
	VEC(int) fds; /* programs and links */
	VEC(struct named) named;
};

void measure_maps(const struct measure *m, int *fds)
{
	fds[GEN_MAP_PROCESSES] = m->processes_fd;
	fds[GEN_MAP_THREADS] = m->threads_fd;
	fds[GEN_MAP_SLOTS] = m->slots_fd;
	fds[GEN_MAP_NAMES] = m->names_fd;
}

static int no_map(int fd, struct ut_err *err)
{
	return ut_err_set(err, fd, "cannot create the tables of running threads: %s", strerror(-fd));
}

static int make_maps(struct measure *m, struct ut_err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, later, .map_flags = BPF_F_NO_PREALLOC);

	m->processes_fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "ut_processes", 4, sizeof(struct gen_process), PROCESSES_MAX, NULL);
	if (m->processes_fd < 0)
		return no_map(m->processes_fd, err);
	m->threads_fd =
		bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "ut_threads", 4, sizeof(struct gen_thread), THREADS_MAX, NULL);
	if (m->threads_fd < 0)
		return no_map(m->threads_fd, err);
	m->slots_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "ut_slots", 4, sizeof(struct gen_slot), 1, NULL);
	if (m->slots_fd < 0)
		return no_map(m->slots_fd, err);
	m->names_fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "ut_names", sizeof(struct gen_name), 4, NAMES_MAX, &later);
	return m->names_fd < 0 ? no_map(m->names_fd, err) : 0;
}

static int find_task(struct gen_task *ret, struct ut_err *err)
{
	struct kernel_member members[] = {
		{ "task_struct", "tgid", -1 },
		{ "task_struct", "pid", -1 },
		{ "task_struct", "comm", -1 },
	};

	kernel_members_find(members, ARRAY_SIZE(members));
	*ret = (struct gen_task){ members[0].offset, members[1].offset, members[2].offset };
	if (ret->tgid >= 0 && ret->pid >= 0 && ret->comm >= 0)
		return 0;
	return ut_err_set(err, -ENOTSUP,
			  "stopped time cannot be measured: this kernel has no BTF type information "
			  "(CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux)");
}

int measure_possible(struct ut_err *err)
{
	struct gen_task task;

	return find_task(&task, err);
}

static int keep(struct measure *m, int fd)
{
	if (fd >= 0 && vec_push(&m->fds, fd)) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

/* Takes over @code. */
static int load(struct measure *m, int made, struct asm_buf *code, struct ut_err *err)
{
	struct kernel_prog prog = { .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	int fds[GEN_MAPS], fd;

	memset(fds, -1, sizeof(fds));
	measure_maps(m, fds);
	fd = made ? ut_err_nomem(err) : gen_relocate(code, fds);
	prog.insns = code->insns.v;
	prog.n = code->insns.n;
	if (!fd)
		fd = kernel_prog_load(&prog, NULL, err);
	asm_done(code);
	return keep(m, fd);
}

static int attach_to(struct measure *m, int prog, const char *event, struct ut_err *err)
{
	int fd = prog < 0 ? prog : keep(m, bpf_raw_tracepoint_open(event, prog));

	if (prog < 0)
		return prog;
	return fd < 0 ? ut_err_set(err, fd, "cannot attach to the tracepoint %s: %s; use --no-measure to do without it",
				   event, strerror(-fd))
		      : 0;
}

static int attach_all(struct measure *m, const struct gen_state_options *o, struct ut_err *err)
{
	static const struct {
		int (*make)(const struct gen_state_options *o, struct asm_buf *ret);
		const char *events[2];
	} programs[] = {
		{ gen_state_free, { "sched_process_free" } },
		{ gen_state_exit, { "sched_process_exit" } },
		{ gen_state_exec, { "sched_process_exec" } },
		{ gen_state_rename, { "task_rename" } },
		{ gen_state_wakeup, { "sched_wakeup", "sched_wakeup_new" } },
		{ gen_state_switch, { "sched_switch" } },
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(programs); i++) {
		struct asm_buf code = { 0 };
		int prog = load(m, programs[i].make(o, &code), &code, err);

		r = prog;
		for (size_t k = 0; r >= 0 && k < 2 && programs[i].events[k]; k++)
			r = attach_to(m, prog, programs[i].events[k], err);
	}
	return r < 0 ? r : 0;
}

int measure_open(uint64_t base_ns, struct measure **ret, struct ut_err *err)
{
	struct measure *m = calloc(1, sizeof(*m));
	struct gen_state_options o = { .base_ns = base_ns };
	int r;

	if (!m)
		return ut_err_nomem(err);
	m->base_ns = base_ns;
	m->processes_fd = m->threads_fd = m->slots_fd = m->names_fd = -1;
	r = find_task(&o.task, err);
	if (!r)
		r = make_maps(m, err);
	if (!r)
		r = attach_all(m, &o, err);
	if (r) {
		measure_close(m);
		return r;
	}
	*ret = m;
	return 0;
}

struct measure *measure_close(struct measure *m)
{
	if (!m)
		return NULL;
	for (size_t i = m->fds.n; i > 0; i--)
		close(m->fds.v[i - 1]);
	vec_done(&m->fds);
	vec_done(&m->named);
	if (m->processes_fd >= 0)
		close(m->processes_fd);
	if (m->threads_fd >= 0)
		close(m->threads_fd);
	if (m->slots_fd >= 0)
		close(m->slots_fd);
	if (m->names_fd >= 0)
		close(m->names_fd);
	free(m);
	return NULL;
}

/* "GC Thread#*" or a whole name: the kernel cuts names at 15 bytes, and so do we. */
static struct gen_name name_key(pid_t pid, const char *pattern)
{
	struct gen_name key = { .process = (uint32_t)pid };
	size_t len = strcspn(pattern, "*");

	if (len > GEN_COMM - 1)
		len = GEN_COMM - 1;
	memcpy(key.comm, pattern, len);
	key.bits = 8 * (uint32_t)(sizeof(key.process) + (pattern[len] ? len : GEN_COMM));
	return key;
}

static void put_names(struct measure *m, pid_t pid, char *const *patterns, size_t n, enum gen_role role)
{
	uint32_t value = role;

	for (size_t i = 0; i < n; i++) {
		struct gen_name key = name_key(pid, patterns[i]);

		bpf_map_update_elem(m->names_fd, &key, &value, BPF_ANY);
	}
}

static void drop_names(struct measure *m, pid_t pid, char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct gen_name key = name_key(pid, patterns[i]);

		bpf_map_delete_elem(m->names_fd, &key);
	}
}

static void name_threads(struct measure *m, pid_t pid, const struct runtime *r)
{
	const struct named named = { pid, r };

	if (!r || r->collector.n + r->service.n == 0)
		return;
	for (size_t i = 0; i < m->named.n; i++)
		if (m->named.v[i].pid == pid && m->named.v[i].runtime == r)
			return; /* they stay as long as the process */
	if (vec_push(&m->named, named))
		return; /* no memory: what could not be taken off again is not put there */
	put_names(m, pid, r->collector.v, r->collector.n, GEN_ROLE_COLLECTOR);
	put_names(m, pid, r->service.v, r->service.n, GEN_ROLE_SERVICE);
}

static void unname_threads(struct measure *m, pid_t pid)
{
	for (size_t i = m->named.n; i-- > 0;) {
		const struct runtime *r = m->named.v[i].runtime;

		if (m->named.v[i].pid != pid)
			continue;
		drop_names(m, pid, r->collector.v, r->collector.n);
		drop_names(m, pid, r->service.v, r->service.n);
		m->named.v[i] = m->named.v[--m->named.n];
	}
}

int measure_process(struct measure *m, pid_t pid, const struct runtime *runtime, bool fresh)
{
	struct gen_process p;
	uint32_t key = (uint32_t)pid;
	int r;

	name_threads(m, pid, runtime); /* before its threads are looked at */
	p = gen_process_new(m->base_ns, monotonic_ns(), fresh);
	r = bpf_map_update_elem(m->processes_fd, &key, &p, BPF_NOEXIST);
	if (!r || r == -EEXIST)
		return 0;
	unname_threads(m, pid);
	return r;
}

bool measure_has(const struct measure *m, pid_t pid)
{
	struct gen_process p;
	uint32_t key = (uint32_t)pid;

	return !bpf_map_lookup_elem(m->processes_fd, &key, &p);
}

void measure_forget(struct measure *m, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	if (!bpf_map_delete_elem(m->processes_fd, &key))
		unname_threads(m, pid);
}

bool measure_settle(void)
{
	long visited = 0, n = kernel_cpus();
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *before = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX);

	if (before && one && n <= CPUS_MAX && !sched_getaffinity(0, size, before)) {
		for (int cpu = 0; cpu < n; cpu++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(cpu, size, one);
			visited += !sched_setaffinity(0, size, one);
		}
		sched_setaffinity(0, size, before);
	}
	CPU_FREE(before);
	CPU_FREE(one);
	return visited && visited >= sysconf(_SC_NPROCESSORS_ONLN);
}

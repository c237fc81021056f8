/* SPDX-License-Identifier: MIT */
/* Creates the tables, and adds and removes processes. */
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
#include "kernel/kernel.h"
#include "kernel/kernel_struct.h"
#include "wire/state.h"

#define PROCESSES_MAX 4096
#define THREADS_MAX 65536
#define NAMES_MAX 65536
#define CPUS_MAX 4096

/* A process with thread names in the table; a list, since a search of the table for one process would be slow. */
struct named {
	pid_t pid;
	const struct runtime *runtime;
};

struct measure {
	uint64_t base_ns;
	struct state_maps maps;
	VEC(struct named) named;
};

const struct state_maps *measure_maps(const struct measure *m) { return &m->maps; }

static int no_map(int fd, struct ut_err *err)
{
	return ut_err_set(err, fd, "cannot create the tables of running threads: %s", strerror(-fd));
}

static int make_maps(struct measure *m, struct ut_err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, later, .map_flags = BPF_F_NO_PREALLOC);

	m->maps.processes_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "ut_processes", 4, sizeof(struct ut_process_state),
					      PROCESSES_MAX, NULL);
	if (m->maps.processes_fd < 0)
		return no_map(m->maps.processes_fd, err);
	m->maps.threads_fd = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "ut_threads", 4, sizeof(struct ut_thread_state),
					    THREADS_MAX, NULL);
	if (m->maps.threads_fd < 0)
		return no_map(m->maps.threads_fd, err);
	m->maps.current_fd =
		bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "ut_current", 4, sizeof(struct ut_current_thread), 1, NULL);
	if (m->maps.current_fd < 0)
		return no_map(m->maps.current_fd, err);
	m->maps.names_fd =
		bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "ut_names", sizeof(struct ut_thread_name), 4, NAMES_MAX, &later);
	return m->maps.names_fd < 0 ? no_map(m->maps.names_fd, err) : 0;
}

int measure_possible(struct ut_err *err)
{
	const struct ut_kernel_offsets *at = kernel_offsets();

	if (at->task_tgid >= 0 && at->task_pid >= 0 && at->task_comm >= 0)
		return 0;
	return ut_err_set(err, -ENOTSUP,
			  "stopped time cannot be measured: this kernel has no BTF type information "
			  "(CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux)");
}

int measure_open(uint64_t base_ns, struct measure **ret, struct ut_err *err)
{
	struct measure *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return ut_err_nomem(err);
	m->base_ns = base_ns;
	m->maps = (struct state_maps){ -1, -1, -1, -1 };
	r = measure_possible(err);
	if (!r)
		r = make_maps(m, err);
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
	vec_done(&m->named);
	close_fd(m->maps.processes_fd);
	close_fd(m->maps.threads_fd);
	close_fd(m->maps.current_fd);
	close_fd(m->maps.names_fd);
	free(m);
	return NULL;
}

/* "GC Thread#*" or a whole name: the kernel cuts names at 15 bytes, and so do we. */
static struct ut_thread_name name_key(pid_t pid, const char *pattern)
{
	struct ut_thread_name key = { .process = (uint32_t)pid };
	size_t len = strcspn(pattern, "*");

	if (len > UT_COMM - 1)
		len = UT_COMM - 1;
	memcpy(key.comm, pattern, len);
	key.bits = 8 * (uint32_t)(sizeof(key.process) + (pattern[len] ? len : UT_COMM));
	return key;
}

/* @role -1: removes the names. */
static void set_names(struct measure *m, pid_t pid, char *const *patterns, size_t n, int role)
{
	uint32_t value = (uint32_t)role;

	for (size_t i = 0; i < n; i++) {
		struct ut_thread_name key = name_key(pid, patterns[i]);

		if (role >= 0)
			bpf_map_update_elem(m->maps.names_fd, &key, &value, BPF_ANY);
		else
			bpf_map_delete_elem(m->maps.names_fd, &key);
	}
}

static void name_threads(struct measure *m, pid_t pid, const struct runtime *r)
{
	const struct named named = { pid, r };

	if (!r || r->collector.n + r->service.n == 0)
		return;
	for (size_t i = 0; i < m->named.n; i++)
		if (m->named.v[i].pid == pid && m->named.v[i].runtime == r)
			return; /* removed with the process */
	if (vec_push(&m->named, named))
		return; /* out of memory: names that could not be removed later are not added */
	set_names(m, pid, r->collector.v, r->collector.n, UT_ROLE_COLLECTOR);
	set_names(m, pid, r->service.v, r->service.n, UT_ROLE_SERVICE);
}

static void unname_threads(struct measure *m, pid_t pid)
{
	for (size_t i = m->named.n; i-- > 0;) {
		const struct runtime *r = m->named.v[i].runtime;

		if (m->named.v[i].pid != pid)
			continue;
		set_names(m, pid, r->collector.v, r->collector.n, -1);
		set_names(m, pid, r->service.v, r->service.n, -1);
		m->named.v[i] = m->named.v[--m->named.n];
	}
}

int measure_process(struct measure *m, pid_t pid, const struct runtime *runtime, bool fresh)
{
	struct ut_process_state p = { .epoch = 1 };
	uint32_t key = (uint32_t)pid;
	uint64_t now;
	int r;

	name_threads(m, pid, runtime); /* before the programs see its threads */
	now = (monotonic_ns() - m->base_ns) >> UT_WORD_UNIT_SHIFT;
	p.since = fresh ? now : 0;
	p.none_runs = p.held = -(now << UT_WORD_COUNT_BITS); /* nobody runs, and nobody is suspended, since now */
	r = bpf_map_update_elem(m->maps.processes_fd, &key, &p, BPF_NOEXIST);
	if (!r || r == -EEXIST)
		return 0;
	unname_threads(m, pid);
	return r;
}

bool measure_has(const struct measure *m, pid_t pid)
{
	struct ut_process_state p;
	uint32_t key = (uint32_t)pid;

	return !bpf_map_lookup_elem(m->maps.processes_fd, &key, &p);
}

void measure_forget(struct measure *m, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	if (!bpf_map_delete_elem(m->maps.processes_fd, &key))
		unname_threads(m, pid);
}

bool measure_visit_cpus(void)
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

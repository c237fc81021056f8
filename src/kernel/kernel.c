/* SPDX-License-Identifier: MIT */
/* bpf(2) and perf_event_open(2), wrapped. */
#include "kernel/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "wire/call.h"

#define LOG_SIZE (1u << 20)

static int load(const struct kernel_prog *prog, char *log, uint32_t log_size)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = prog->sleepable ? BPF_F_SLEEPABLE : 0,
		    .expected_attach_type = prog->multi ? UT_BPF_TRACE_UPROBE_MULTI : 0, .log_level = log ? 1 : 0,
		    .log_buf = log, .log_size = log_size);

	return bpf_prog_load(prog->type, "usertrace", "GPL", prog->insns, prog->n, &opts);
}

/* The last line of a verifier log with a reason: the final lines count instructions. */
static void telling_line(char *log, char *ret, size_t size)
{
	char *save = NULL;

	snprintf(ret, size, "no reason given");
	for (char *line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, "processed ", 10) && strncmp(line, "verification time", 17) &&
		    strncmp(line, "stack depth", 11))
			snprintf(ret, size, "%s", line);
}

static int explain_refusal(const struct kernel_prog *prog, int r, char **log, struct ut_err *err)
{
	AUTO_FREE char *text = calloc(1, LOG_SIZE);
	AUTO_FREE char *copy = NULL;
	char line[256];
	int fd;

	if (r == -EPERM)
		return ut_err_set(err, r,
				  "the kernel rejects BPF programs: run as root, or with CAP_BPF and CAP_PERFMON");
	if (r == -EMFILE || r == -ENFILE)
		return ut_err_set(err, r, "too many open files: raise the limit (ulimit -n)");
	if (!text)
		return ut_err_nomem(err);
	fd = load(prog, text, LOG_SIZE);
	if (fd >= 0)
		return fd; /* it was memory, and now there is some */
	copy = strdup(text);
	telling_line(text, line, sizeof(line));
	if (log)
		*log = take_ptr(copy);
	return ut_err_set(err, r,
			  "the kernel rejected the generated program (%s): %s; this is a bug in usertrace, -v shows "
			  "the whole log",
			  strerror(-r), line);
}

int kernel_prog_load(const struct kernel_prog *prog, char **log, struct ut_err *err)
{
	int fd = load(prog, NULL, 0);

	return fd >= 0 ? fd : explain_refusal(prog, fd, log, err);
}

int kernel_load_empty(bool multi)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct kernel_prog prog = { .type = BPF_PROG_TYPE_KPROBE, .insns = insns, .n = 2, .multi = multi };

	return load(&prog, NULL, 0);
}

unsigned kernel_cpus(void)
{
	int n = libbpf_num_possible_cpus();

	return n > 0 ? (unsigned)n : (unsigned)sysconf(_SC_NPROCESSORS_CONF);
}

bool kernel_has_uprobe_multi(void)
{
	static int known = -1;
	const uint64_t offset = 0;
	struct kernel_uprobes none = { .path = "/", .n = 1, .offsets = &offset };
	int fd;

	if (known >= 0)
		return known;
	fd = kernel_load_empty(true);
	if (fd < 0)
		return (known = 0);
	/* A directory cannot be probed: -EBADF means that the call is supported, -EINVAL or -EOPNOTSUPP that it is
	 * not. */
	known = kernel_link_uprobes(fd, &none) == -EBADF;
	/*
	 * The first kernels that have it (6.6 to 6.9) took a process for its first thread and left the others out.
	 * Those without this fault look at the number first, and -1 is none.
	 */
	none.pid = -1;
	known = known && kernel_link_uprobes(fd, &none) == -EINVAL;
	close(fd);
	return known;
}

/* union bpf_attr, link_create with uprobe_multi, as in include/uapi/linux/bpf.h since 6.6. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

int kernel_link_uprobes(int prog_fd, const struct kernel_uprobes *u)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = UT_BPF_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)u->path,
		.offsets = (uintptr_t)u->offsets,
		.ref_ctr_offsets = (uintptr_t)u->sem_offsets,
		.cookies = (uintptr_t)u->cookies,
		.cnt = (uint32_t)u->n,
		.multi_flags = u->is_return ? UT_BPF_F_UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)u->pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd >= 0 ? fd : -errno;
}

static int perf_event_open(struct perf_event_attr *attr, pid_t pid)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = (int)syscall(SYS_perf_event_open, attr, pid > 0 ? pid : -1, pid > 0 ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

/* One number in a small file of sysfs; -1 when it is not there. */
static int sysfs_number(const char *path, const char *format)
{
	AUTO_FCLOSE FILE *f = fopen(path, "re");
	int ret;

	return f && fscanf(f, format, &ret) == 1 ? ret : -1;
}

int kernel_uprobe_event(const char *path, uint64_t offset, uint64_t sem_offset, bool is_return, pid_t pid)
{
	static int type = -1, return_bit;
	struct perf_event_attr attr = { 0 };

	if (type < 0) {
		type = sysfs_number("/sys/bus/event_source/devices/uprobe/type", "%d");
		return_bit = sysfs_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:%d");
	}
	if (type < 0 || return_bit < 0)
		return -ENODEV;
	if (sem_offset >> 32)
		return -EOVERFLOW; /* the event has 32 bits for it */
	attr.type = (uint32_t)type;
	attr.config = (is_return ? 1ull << return_bit : 0) | sem_offset << 32; /* PERF_UPROBE_REF_CTR_OFFSET_SHIFT */
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = offset;
	return perf_event_open(&attr, pid);
}

int kernel_tracepoint_event(unsigned id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = id, .sample_period = 1, .wakeup_events = 1
	};

	return perf_event_open(&attr, 0);
}

int kernel_link_event(int prog_fd, int event_fd, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	int fd = bpf_link_create(prog_fd, event_fd, BPF_PERF_EVENT, &opts);

	if (fd < 0)
		return fd;
	if (ioctl(event_fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

int kernel_link_own(int prog_fd, bool multi, uint64_t offset, uint64_t sem_offset, uint64_t cookie, int *event)
{
	const struct kernel_uprobes u = {
		.path = "/proc/self/exe",
		.n = 1,
		.offsets = &offset,
		.cookies = &cookie,
		.pid = getpid(),
		.sem_offsets = sem_offset ? &sem_offset : NULL,
	};

	if (multi)
		return kernel_link_uprobes(prog_fd, &u);
	*event = kernel_uprobe_event(u.path, offset, sem_offset, false, u.pid);
	return *event < 0 ? *event : kernel_link_event(prog_fd, *event, cookie);
}

int kernel_starts_map(void)
{
	return bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "ut_starts", sizeof(struct ut_call_key), sizeof(struct ut_call),
			      16384, NULL);
}

int kernel_calls_map(void)
{
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "ut_calls", 4, sizeof(struct ut_call_counts), 1, NULL);
}

int kernel_throttled_map(unsigned value_size)
{
	return bpf_map_create(BPF_MAP_TYPE_HASH, "ut_throttled", 4, value_size, 1024, NULL);
}

uint64_t kernel_prog_missed(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.recursion_misses;
}

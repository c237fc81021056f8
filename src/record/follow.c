/* SPDX-License-Identifier: MIT */
/* The followed processes: a set in the kernel, the ring of suspended processes, and a watchdog. */
#include "record/follow.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/vec.h"
#include "bpf/lifecycle.h"
#include "elf/image.h"
#include "proc/process.h"
#include "record/ring.h"
#include "kernel/kernel.h"

#define CONTROL_BYTES LIFECYCLE_CONTROL_BYTES

struct follow {
	int map_fd;
	VEC(int) fds; /* links and events, closed together */
	/* with suspension: */
	struct ringbuf control; /* process IDs that are being stopped */
	VEC(struct file_id) linkers;
	pid_t watchdog;
	int watchdog_fd;
};

int follow_map_fd(const struct follow *f) { return f->map_fd; }
int follow_control_fd(const struct follow *f) { return f->control.fd; }

static int add_fd(struct follow *f, int fd)
{
	if (fd >= 0 && vec_push(&f->fds, fd)) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

/*
 * The state of a process. Its first thread may have ended long before the others: it is a zombie
 * then, and only the other threads show whether the process is stopped.
 */
static char process_state_of_threads(pid_t pid)
{
	char path[64], state = process_state(pid);
	struct dirent *entry;
	DIR *dir;

	if (state != 'Z')
		return state;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		char other = tid > 0 && tid != pid ? thread_state(pid, tid) : 0;

		if (other && other != 'Z' && other != 'X')
			state = other;
	}
	if (dir)
		closedir(dir);
	return state;
}

/* Continues the stopped processes of the set, for half a second, since a SIGSTOP may still be pending. */
static void watchdog_rescue(int map_fd)
{
	uint64_t end_ns = monotonic_ns() + 500000000u;

	for (int round = 0; round < 2 || monotonic_ns() < end_ns; round++) {
		uint32_t pid, *at = NULL;

		while (!bpf_map_get_next_key(map_fd, at, &pid)) {
			if (process_state_of_threads((pid_t)pid) == 'T')
				kill((pid_t)pid, SIGCONT);
			at = &pid;
		}
		poll(NULL, 0, 5);
	}
}

/* Runs as long as the tracer. A byte in the pipe: the tracer ended normally. End of file: the tracer was killed. */
static void watchdog_run(int map_fd, int pipe_fd)
{
	int low = map_fd < pipe_fd ? map_fd : pipe_fd, high = map_fd < pipe_fd ? pipe_fd : map_fd;
	char byte;
	ssize_t n;

	prctl(PR_SET_NAME, "usertrace-guard");
	setsid();
	/* No descriptor of the tracer may stay open here: probes are detached when their last descriptor is closed. */
	if (low > 0)
		close_range(0, (unsigned)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0u, 0);
	do {
		n = read(pipe_fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		watchdog_rescue(map_fd);
	_exit(0);
}

static int watchdog_start(struct follow *f, struct ut_err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return ut_err_set(err, -errno, "cannot create a pipe: %s", strerror(errno));
	f->watchdog = fork();
	if (f->watchdog == 0)
		watchdog_run(f->map_fd, fds[0]);
	close(fds[0]);
	f->watchdog_fd = fds[1];
	if (f->watchdog < 0) {
		f->watchdog = 0;
		return ut_err_set(err, -errno, "cannot start a process: %s", strerror(errno));
	}
	return 0;
}

int follow_open(bool suspend, struct follow **ret, struct ut_err *err)
{
	struct follow *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return ut_err_nomem(err);
	f->control.fd = f->watchdog_fd = -1;
	f->map_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "ut_follow", 4, 4, LIFECYCLE_FOLLOW_MAX, NULL);
	if (f->map_fd < 0)
		r = ut_err_set(err, f->map_fd,
			       "the kernel rejects BPF (%s): run as root, or with CAP_BPF and CAP_PERFMON",
			       strerror(-f->map_fd));
	if (!r && suspend)
		r = ringbuf_open(&f->control, "ut_control", CONTROL_BYTES, err);
	if (!r && suspend)
		r = watchdog_start(f, err);
	if (r) {
		follow_close(f);
		return r;
	}
	*ret = f;
	return 0;
}

static void watchdog_stop(struct follow *f)
{
	if (!f->watchdog)
		return;
	if (write(f->watchdog_fd, "q", 1) != 1)
		kill(f->watchdog, SIGKILL);
	close(f->watchdog_fd);
	while (waitpid(f->watchdog, NULL, 0) < 0 && errno == EINTR)
		;
}

struct follow *follow_close(struct follow *f)
{
	pid_t pid;

	if (!f)
		return NULL;
	for (size_t i = f->fds.n; i > 0; i--)
		close(f->fds.v[i - 1]);
	while (f->control.data && (pid = follow_next_suspended(f)))
		follow_continue(pid);
	watchdog_stop(f);
	ringbuf_close(&f->control, CONTROL_BYTES);
	close_fd(f->map_fd);
	vec_done(&f->fds);
	vec_done(&f->linkers);
	free(f);
	return NULL;
}

int follow_add(struct follow *f, pid_t pid, struct ut_err *err)
{
	uint32_t key = (uint32_t)pid, one = 1;
	int r = bpf_map_update_elem(f->map_fd, &key, &one, BPF_ANY);

	return r ? ut_err_set(err, r, "cannot follow process %d: %s", pid, strerror(-r)) : 0;
}

bool follow_contains(const struct follow *f, pid_t pid)
{
	uint32_t key = (uint32_t)pid, value;

	return !bpf_map_lookup_elem(f->map_fd, &key, &value);
}

void follow_sweep(struct follow *f)
{
	uint32_t pid, next;
	int more = bpf_map_get_next_key(f->map_fd, NULL, &pid);

	while (!more) {
		more = bpf_map_get_next_key(f->map_fd, &pid, &next);
		if (kill((pid_t)pid, 0) && errno == ESRCH)
			bpf_map_delete_elem(f->map_fd, &pid);
		pid = next;
	}
}

static pid_t next_control_pid(struct follow *f)
{
	unsigned long at = *f->control.consumer, end = __atomic_load_n(f->control.producer, __ATOMIC_ACQUIRE);
	const uint32_t *head = (const void *)(f->control.data + (at & (CONTROL_BYTES - 1)));
	uint32_t len, pid = 0;

	if (at >= end)
		return 0;
	len = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	if (len & BPF_RINGBUF_BUSY_BIT)
		return 0;
	if (!(len & BPF_RINGBUF_DISCARD_BIT))
		memcpy(&pid, (const char *)head + BPF_RINGBUF_HDR_SZ, sizeof(pid));
	at += ((len & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT)) + BPF_RINGBUF_HDR_SZ + 7u) & ~7ul;
	__atomic_store_n(f->control.consumer, at, __ATOMIC_RELEASE);
	return (pid_t)pid;
}

/* True once the process has stopped, false if it ended. The wait is short: SIGSTOP is sent before the record is written. */
static bool wait_stopped(pid_t pid)
{
	for (int i = 0; i < 5000; i++) {
		char state = process_state_of_threads(pid);

		if (state == 'T' || state == 't')
			return true;
		if (!state || state == 'Z' || state == 'X')
			return false;
		poll(NULL, 0, i < 50 ? 0 : 1);
	}
	return true;
}

pid_t follow_next_suspended(struct follow *f)
{
	pid_t pid;

	while (f->control.fd >= 0 && (pid = next_control_pid(f)))
		if (wait_stopped(pid))
			return pid;
	return 0;
}

void follow_continue(pid_t pid) { kill(pid, SIGCONT); }

static bool is_known_linker(const struct follow *f, struct file_id id)
{
	for (size_t i = 0; i < f->linkers.n; i++)
		if (f->linkers.v[i].ino == id.ino && f->linkers.v[i].dev == id.dev)
			return true;
	return false;
}

/* The dynamic linker calls this empty function for debuggers when libraries have come or gone (r_debug in <link.h>). */
static int suspend_at_linker(struct follow *f, int fd, int prog, struct ut_err *err)
{
	char path[64];
	struct elf_image *img = NULL;
	struct elf_symbol s;
	uint64_t offset;
	struct kernel_uprobes u = { .path = path, .n = 1, .offsets = &offset };
	int r = elf_image_open(fd, &img, err), link;

	if (r)
		return r;
	r = elf_symbol_find(img, "_dl_debug_state", &s) == 1 && elf_vaddr_to_offset(img, s.vaddr, &offset) ? 0
													   : -ENOENT;
	elf_image_free(img);
	if (r)
		return 0; /* an unknown linker: its libraries are found at the next exec, if ever */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (kernel_has_uprobe_multi()) {
		link = kernel_link_uprobes(prog, &u);
	} else {
		int event = add_fd(f, kernel_uprobe_event(path, offset, 0, false, 0));

		link = event < 0 ? event : kernel_link_event(prog, event, 0);
	}
	if (add_fd(f, link) < 0)
		return ut_err_set(err, link, "cannot watch the dynamic linker: %s", strerror(-link));
	return 0;
}

int follow_linker(struct follow *f, pid_t pid, int prog, struct ut_err *err)
{
	struct mapped_files files = { 0 };
	int r = mapped_files_read(pid, &files, err);

	for (size_t i = 0; !r && i < files.files.n; i++) {
		const struct mapping *m = &files.files.v[i].first;
		AUTO_CLOSE int fd = -1;

		if (strncmp(path_base(m->path), "ld", 2) || is_known_linker(f, m->file))
			continue;
		fd = mapping_open(pid, m, err);
		if (fd < 0)
			continue;
		if (vec_push(&f->linkers, m->file))
			r = ut_err_nomem(err);
		else
			r = suspend_at_linker(f, fd, prog, err);
	}
	mapped_files_done(&files);
	return r;
}

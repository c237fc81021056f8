/* SPDX-License-Identifier: MIT */
/* A child that takes on a process's identity, does one thing and sends back the result and a descriptor. */
#include "proc/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/io.h"
#include "base/clock.h"
#include "proc/procfs.h"

#define KILLED_MS 100 /* for a killed child; one that a FUSE server holds in the kernel ends only with that server */

static bool parse_four(const char *status, const char *key, uint32_t ret[4])
{
	const char *line = strstr(status, key);

	return line && sscanf(line + strlen(key), "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32, &ret[0], &ret[1],
			      &ret[2], &ret[3]) == 4;
}

bool identity_parse(const char *status, struct identity *ret)
{
	static const char key[] = "\nGroups:\t";
	const char *p = strstr(status, key);
	char *end;

	*ret = (struct identity){ 0 };
	if (!p || !parse_four(status, "\nUid:\t", ret->uids) || !parse_four(status, "\nGid:\t", ret->gids))
		return false;
	for (p += strlen(key); *p != '\n' && ret->ngroups < IDENTITY_GROUPS_MAX; p = end) {
		unsigned long group = strtoul(p, &end, 10);

		if (end == p)
			break;
		ret->groups[ret->ngroups++] = (uint32_t)group;
		while (*end == ' ')
			end++;
	}
	return true;
}

bool identity_is_plain(const struct identity *who)
{
	return who->uids[0] == who->uids[1] && who->gids[0] == who->gids[1];
}

bool identity_equal(const struct identity *a, const struct identity *b) { return !memcmp(a, b, sizeof(*a)); }

int identity_read(pid_t pid, struct identity *ret)
{
	AUTO_BUF struct buf status = { 0 };

	return procfs_read(pid, "status", &status) || !status.data || !identity_parse(status.data, ret) ? -ESRCH : 0;
}

static int open_directories(struct identity_place *p, struct ut_err *err)
{
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0)
		return errno == ESRCH
			       ? ut_err_set(err, -ESRCH, "no process %d", (int)p->pid)
			       : ut_err_set(err, -errno, "cannot open process %d: %s", (int)p->pid, strerror(errno));
	if (identity_read(p->pid, &p->who))
		return ut_err_set(err, -ESRCH, "no process %d", (int)p->pid);
	p->root = procfs_open_below(p->pid, "root", "", 0, 0);
	p->cwd = procfs_open_below(p->pid, "cwd", "", 0, 0);
	return p->root < 0 ? ut_err_set(err, p->root, "cannot open the root directory of process %d: %s", (int)p->pid,
					strerror(-p->root))
			   : 0;
}

int identity_place_open(pid_t pid, struct identity_place *ret, struct ut_err *err)
{
	struct pollfd fd;
	struct identity after;
	int r;

	*ret = (struct identity_place){ .pid = pid, .pidfd = -1, .root = -1, .cwd = -1 };
	r = open_directories(ret, err);
	if (r)
		return r;
	/* The directories belong to the identity only if it has not changed meanwhile. */
	fd = (struct pollfd){ .fd = ret->pidfd, .events = POLLIN };
	if (identity_read(pid, &after) || poll(&fd, 1, 0) > 0)
		return ut_err_set(err, -ESRCH, "no process %d", (int)pid);
	if (!identity_equal(&ret->who, &after))
		return ut_err_set(err, -EAGAIN, "process %d is changing its user; try again", (int)pid);
	if (!identity_is_plain(&ret->who))
		return ut_err_set(err, -EACCES,
				  "process %d runs with the rights of user %u, but was started by user %u: nothing is "
				  "written or read in its directories",
				  (int)pid, (unsigned)ret->who.uids[1], (unsigned)ret->who.uids[0]);
	return 0;
}

void identity_place_done(struct identity_place *p)
{
	close_fd(p->pidfd);
	close_fd(p->root);
	close_fd(p->cwd);
}

/* Sets the capabilities of the calling thread: @effective of those that are permitted, or none at all. */
static int set_capabilities(uint32_t effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = effective, .permitted = effective } };

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* Raw system calls: the library's would wait for threads that the child does not have. */
static int take_identity(const struct identity *who)
{
	if (!geteuid()) {
		if (syscall(SYS_setgroups, who->ngroups, who->groups) || syscall(SYS_setresgid, -1, who->gids[1], -1) ||
		    syscall(SYS_setresuid, -1, who->uids[1], -1))
			return -EPERM;
		if (who->uids[3] != who->uids[1] || who->gids[3] != who->gids[1]) {
			if (set_capabilities(1u << CAP_SETUID | 1u << CAP_SETGID))
				return -EPERM;
			syscall(SYS_setfsgid, who->gids[3]);
			syscall(SYS_setfsuid, who->uids[3]);
			if ((uint32_t)syscall(SYS_setfsuid, -1) != who->uids[3] ||
			    (uint32_t)syscall(SYS_setfsgid, -1) != who->gids[3])
				return -EPERM;
		}
	}
	/* A change of user ID makes the kernel forget both of these, so that they come last. */
	if (set_capabilities(0) || prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -EPERM;
	return 0;
}

static int compare_fds(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Closes all but @fds, which are sorted. */
static int close_others(const int *fds, size_t n)
{
	unsigned from = 0;

	for (size_t i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		if ((unsigned)fds[i] > from && syscall(SYS_close_range, from, fds[i] - 1, 0))
			return -errno;
		from = (unsigned)fds[i] + 1;
	}
	return syscall(SYS_close_range, from, ~0u, 0) ? -errno : 0;
}

struct task {
	const struct identity *who;
	int fds[4]; /* what the child keeps: its socket as well */
	size_t nfds;
	int sock;
	identity_fn *fn;
	void *arg;
	size_t size;
};

static void send_result(const struct task *t, int r, int fd)
{
	struct iovec iov[2] = { { &r, sizeof(r) }, { t->arg, t->size } };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	(void)!sendmsg(t->sock, &msg, MSG_NOSIGNAL);
}

static _Noreturn void run_child(const struct task *t)
{
	int fd = -1, r = close_others(t->fds, t->nfds);

	if (!r)
		r = take_identity(t->who);
	if (!r)
		r = t->fn(t->arg, &fd);
	send_result(t, r, fd);
	_exit(0);
}

/* Without a signal for its end, which the process's own children have; with all signals blocked, which are the parent's. */
static pid_t start_child(const struct task *t)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		run_child(t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -errno : pid;
}

static bool wait_readable(int sock, unsigned timeout_ms)
{
	uint64_t until = monotonic_ns() + timeout_ms * 1000000ull, now;
	struct pollfd fd = { .fd = sock, .events = POLLIN };

	while ((now = monotonic_ns()) < until) {
		int n = poll(&fd, 1, (int)((until - now + 999999) / 1000000));

		if (n > 0 || (n < 0 && errno != EINTR))
			return n > 0;
	}
	return false;
}

static int receive_result(int sock, void *arg, size_t size, int *ret_fd)
{
	int r = 0;
	struct iovec iov[2] = { { &r, sizeof(r) }, { arg, size } };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2, .msg_control = control.bytes, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return n == (ssize_t)(sizeof(r) + size) ? r : -EIO;
}

int identity_run(const struct identity *who, const int *keep, size_t nkeep, identity_fn *fn, void *arg, size_t size,
		 unsigned timeout_ms, int *ret_fd)
{
	struct task t = { .who = who, .fn = fn, .arg = arg, .size = size };
	int pair[2], fd = -1, r;
	pid_t child;

	if (ret_fd)
		*ret_fd = -1;
	if (size > IDENTITY_ARG_MAX || nkeep >= ARRAY_SIZE(t.fds))
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	AUTO_CLOSE int ours = pair[0];
	t.sock = pair[1];
	for (size_t i = 0; i < nkeep; i++)
		t.fds[t.nfds++] = keep[i];
	t.fds[t.nfds++] = t.sock;
	qsort(t.fds, t.nfds, sizeof(*t.fds), compare_fds);
	child = start_child(&t);
	close(pair[1]);
	if (child < 0)
		return child;
	r = wait_readable(ours, timeout_ms) ? receive_result(ours, arg, size, &fd) : -ETIMEDOUT;
	kill(child, SIGKILL); /* ours until it is waited for */
	if (wait_readable(ours, KILLED_MS)) /* end of file: it is gone */
		while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
			;
	if (ret_fd && !r)
		*ret_fd = fd;
	else
		close_fd(fd);
	return r;
}

int identity_fn_tmp(int root)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int run_open_tmp(void *arg, int *ret_fd)
{
	*ret_fd = identity_fn_tmp(*(int *)arg);
	return *ret_fd < 0 ? *ret_fd : 0;
}

int identity_open_tmp(const struct identity_place *p, unsigned timeout_ms)
{
	int root = p->root, fd, r = identity_run(&p->who, &root, 1, run_open_tmp, &root, sizeof(root), timeout_ms, &fd);

	return r ? r : fd;
}

struct its_file {
	int dir;
	uint64_t resolve;
	char path[2048];
};

static int run_open_file(void *arg, int *ret_fd)
{
	const struct its_file *f = arg;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = f->resolve };
	int peek = (int)syscall(SYS_openat2, f->dir, f->path, &how, sizeof(how));
	struct stat st;
	int fd = peek < 0 ? -errno : open_regular(peek, &st);

	if (fd < 0)
		return fd == -ENODEV ? -EINVAL : fd;
	*ret_fd = fd;
	return 0;
}

int identity_open_file(pid_t pid, const char *path, unsigned timeout_ms)
{
	AUTO(identity_place_done) struct identity_place p;
	struct its_file f = { 0 };
	bool is_absolute = *path == '/';
	int r = identity_place_open(pid, &p, NULL), fd;

	if (r)
		return r;
	if (strlen(path) >= sizeof(f.path))
		return -ENAMETOOLONG;
	strcpy(f.path, path);
	f.dir = is_absolute ? p.root : p.cwd;
	f.resolve = is_absolute ? RESOLVE_IN_ROOT : RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
	if (f.dir < 0)
		return -ENOENT;
	r = identity_run(&p.who, &f.dir, 1, run_open_file, &f, sizeof(f), timeout_ms, &fd);
	return r ? r : fd;
}

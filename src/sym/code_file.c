/* SPDX-License-Identifier: MIT */
/* Trust in code maps: the identity of a process, and opening files in a directory where everybody may write. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "sym/code_priv.h"

#define NOTES_MAX 100
#define OPEN_MS 1000 /* for a file system to open a file */
#define STALE_SLACK_NS 30000000 /* starts are rounded down to a tick, times of files to a tick as well */

void code_note(struct sentences *notes, const char *fmt, ...)
{
	va_list ap;

	if (notes->n >= NOTES_MAX)
		return;
	va_start(ap, fmt);
	(void)sentences_add(notes, fmt, ap);
	va_end(ap);
}

static void read_start(struct code_owner *ret)
{
	uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), start = ret->id.start_ticks * tick;
	uint64_t boot = clock_ns(CLOCK_BOOTTIME), age = boot > start ? boot - start : 0;
	uint64_t real = clock_ns(CLOCK_REALTIME), monotonic = monotonic_ns();

	ret->start_real_ns = real > age ? real - age : 0;
	ret->start_ns = monotonic > age ? monotonic - age : 0;
}

int code_owner_read(pid_t pid, struct code_owner *ret)
{
	int r;

	*ret = (struct code_owner){ 0 };
	r = process_identify(pid, &ret->id, NULL);
	if (r)
		return r;
	ret->ns_pid = process_ns_pid(pid);
	ret->same_mounts = process_shares_files(pid);
	ret->nuids = process_uids(pid, ret->uids) ? 0 : ARRAY_SIZE(ret->uids);
	ret->has_who = !identity_read(pid, &ret->who) && identity_is_plain(&ret->who);
	read_start(ret);
	return process_is_alive(&ret->id) ? 0 : -ESRCH;
}

bool code_is_trusted(const struct code_owner *o, const struct stat *st)
{
	if (st->st_uid == 0)
		return true;
	for (size_t i = 0; i < o->nuids; i++)
		if (st->st_uid == o->uids[i])
			return true;
	return false;
}

static const char *file_type_name(mode_t mode)
{
	if (S_ISLNK(mode))
		return "a link";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISDIR(mode))
		return "a directory";
	return S_ISSOCK(mode) ? "a socket" : "a device";
}

size_t code_pread(int fd, uint64_t at, void *to, size_t len)
{
	ssize_t n;

	do
		n = pread(fd, to, len, (off_t)at);
	while (n < 0 && errno == EINTR);
	return n < 0 ? 0 : (size_t)n;
}

/* 0, or -EPERM or -ESTALE with a note why the file is not trusted. */
static int check_trusted(const char *shown, const struct code_owner *o, const struct stat *st, struct sentences *notes)
{
	if (!S_ISREG(st->st_mode))
		code_note(notes, "'%s' is %s, not a regular file: its names are not used", shown,
			  file_type_name(st->st_mode));
	else if (!code_is_trusted(o, st))
		code_note(notes, "'%s' belongs to user %u, but process %d to user %u: its names are not used", shown,
			  (unsigned)st->st_uid, (int)o->id.pid, (unsigned)o->uids[0]);
	else if (timespec_ns(&st->st_mtim) + STALE_SLACK_NS < o->start_real_ns)
		code_note(notes,
			  "'%s' was written before process %d started, by an earlier process with the same PID "
			  "('usertrace map --clean' removes such files)",
			  shown, (int)o->id.pid);
	else
		return 0;
	return S_ISREG(st->st_mode) && code_is_trusted(o, st) ? -ESTALE : -EPERM;
}

struct opening {
	int dir;
	char path[64];
	struct stat st;
};

/* A descriptor that only names the file: opening a device or a FIFO has effects. */
static int run_peek(void *arg, int *ret_fd)
{
	struct opening *o = arg;

	*ret_fd = openat(o->dir, o->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	return fstat(*ret_fd, &o->st) ? -errno : 0;
}

static int run_open(void *arg, int *ret_fd)
{
	struct stat st;

	*ret_fd = open_regular(*(int *)arg, &st);
	return *ret_fd < 0 ? *ret_fd : 0;
}

/* Has the process no more to say about its paths than we have? */
static bool is_ours(const struct code_owner *o) { return o->same_mounts && o->has_who && o->who.uids[3] == geteuid(); }

static int run_as(const struct code_owner *o, int keep, identity_fn *fn, void *arg, size_t size, int *ret_fd)
{
	*ret_fd = -1;
	if (is_ours(o))
		return fn(arg, ret_fd);
	return o->has_who ? identity_run(&o->who, &keep, 1, fn, arg, size, OPEN_MS, ret_fd) : -EACCES;
}

int code_open(int dir, const char *path, const char *shown, const struct code_owner *o, struct stat *st,
	      struct sentences *notes)
{
	struct opening opening = { .dir = dir };
	AUTO_CLOSE int peek = -1;
	int r, fd;

	snprintf(opening.path, sizeof(opening.path), "%s", path);
	r = run_as(o, dir, run_peek, &opening, sizeof(opening), &peek);
	if (r)
		return r;
	*st = opening.st;
	r = check_trusted(shown, o, st, notes);
	if (r)
		return r;
	r = run_as(o, peek, run_open, &peek, sizeof(peek), &fd);
	if (r)
		code_note(notes, "cannot open '%s' as the user of process %d: %s", shown, (int)o->id.pid, strerror(-r));
	return r ? -EPERM : fd;
}

/* SPDX-License-Identifier: MIT */
/* Reading small files of /proc whole: one open, no links followed, a bound on the size. */
#include "proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"

#define CHUNK 16384
#define PROC_FILE_MAX (64u << 20) /* a process may have 65,530 mappings and more; each line is short */

int procfs_open(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

int procfs_open_below(pid_t pid, const char *link, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	AUTO_CLOSE int dir = -1;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, link);
	dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && !*path)
		return take_fd(&dir);
	fd = dir < 0 ? -1 : (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

int fd_read_all(int fd, size_t max, struct buf *out)
{
	size_t total = 0;

	for (;;) {
		char *room = buf_room(out, CHUNK);
		ssize_t n;

		if (!room)
			return -ENOMEM;
		n = read(fd, room, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		out->len += (size_t)n;
		total += (size_t)n;
		if (total > max)
			return -EFBIG;
	}
	buf_add(out, "", 0); /* whatever was written in place ends in a NUL, too */
	return out->failed ? -ENOMEM : 0;
}

int procfs_read(pid_t pid, const char *name, struct buf *out)
{
	AUTO_CLOSE int fd = procfs_open(pid, name);

	return fd < 0 ? fd : fd_read_all(fd, PROC_FILE_MAX, out);
}

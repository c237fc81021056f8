/* SPDX-License-Identifier: MIT */
/* Reading small files of /proc whole: one open, no links followed, a bound on the size. */
#include "proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

	if (fd < 0)
		return fd;
	return fd_read_all(fd, PROC_FILE_MAX, out);
}

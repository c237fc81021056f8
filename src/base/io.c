/* SPDX-License-Identifier: MIT */
/* Descriptors: writing all bytes, and opening without side effects. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int write_all(int fd, const void *data, size_t len, size_t *ret_done)
{
	size_t done = 0;
	int r = 0;

	while (!r && done < len) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			r = poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1) < 0 && errno != EINTR ? -errno
													       : 0;
		else if (errno != EINTR)
			r = -errno;
	}
	if (ret_done)
		*ret_done = done;
	return r;
}

int open_regular(int peek, struct stat *ret_st)
{
	char again[64];
	int fd;

	if (fstat(peek, ret_st))
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return -ENODEV;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", peek);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* SPDX-License-Identifier: MIT */
/* Bytes to descriptors. */
#include "base/io.h"

#include <errno.h>
#include <poll.h>
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

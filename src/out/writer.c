/* SPDX-License-Identifier: MIT */
/* A buffer before a file. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "out/out_priv.h"

#define PIECE (256 << 10)

/* Whoever shares the pipe with us may have made it one that does not block: waits. */
static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int flush(struct writer *w)
{
	if (!w->code && w->b.failed)
		w->code = -ENOMEM;
	if (!w->code && w->b.len)
		w->code = write_all(w->fd, w->b.data, w->b.len);
	buf_reset(&w->b);
	return w->code;
}

int writer_more(struct writer *w) { return w->b.len >= PIECE || w->b.failed ? flush(w) : w->code; }

int writer_end(struct writer *w)
{
	int r = flush(w);

	buf_done(&w->b);
	return r;
}

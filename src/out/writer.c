/* SPDX-License-Identifier: MIT */
/* A buffer before a file. */
#include <errno.h>

#include "base/io.h"
#include "out/out_priv.h"

#define PIECE (256 << 10)

static int write_buffer(struct writer *w)
{
	if (!w->error && w->b.failed)
		w->error = -ENOMEM;
	if (!w->error && w->b.len)
		w->error = write_all(w->fd, w->b.data, w->b.len, NULL);
	buf_reset(&w->b);
	return w->error;
}

int writer_more(struct writer *w) { return w->b.len >= PIECE || w->b.failed ? write_buffer(w) : w->error; }

int writer_end(struct writer *w)
{
	int r = write_buffer(w);

	buf_done(&w->b);
	return r;
}

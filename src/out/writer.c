/* SPDX-License-Identifier: MIT */
/* A buffer before a file. */
#include <errno.h>

#include "base/io.h"
#include "out/out_priv.h"

#define PIECE (256 << 10)

static int flush(struct writer *w)
{
	if (!w->code && w->b.failed)
		w->code = -ENOMEM;
	if (!w->code && w->b.len)
		w->code = write_all(w->fd, w->b.data, w->b.len, NULL);
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

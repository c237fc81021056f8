/* SPDX-License-Identifier: MIT */
/* What the writers of this folder share. Nobody else includes this. */
#ifndef UT_OUT_OUT_PRIV_H
#define UT_OUT_OUT_PRIV_H

#include "base/buf.h"
#include "out/out.h"

/* Bytes on their way to a file. After a failure nothing more is written; the first is kept. */
struct writer {
	int fd;
	struct buf b; /* append here, then call writer_more() */
	int code;
};

/* To be called now and then, at least every few kilobytes: writes when enough has come together. -errno. */
int writer_more(struct writer *w);
/* Writes what is left and frees the buffer. -errno of whatever failed first, -ENOMEM of the buffer too. */
int writer_end(struct writer *w);

static inline bool out_wants(const struct out_options *o, uint8_t state)
{
	return !o || !o->states || o->states >> state & 1;
}

/* Which states are there with a weight, a bit for each, of those that are wanted. */
unsigned out_states(const struct profile *p, const struct out_options *o);
/* True when those states have lengths. */
bool out_has_times(const struct profile *p, const struct out_options *o);
/* What a count is. */
const char *out_unit(const struct profile *p);

/* The weights of wanted states, by number: sorted by thread, then by node (within each as they are in the profile); or by
 * node alone. The caller frees it; NULL: out of memory. */
uint32_t *out_order(const struct profile *p, const struct out_options *o, size_t *ret_n);
uint32_t *out_order_by_node(const struct profile *p, const struct out_options *o, size_t *ret_n);

/* "java (1234)": a process, or a thread of one. Not escaped. */
void out_add_process(struct buf *b, const struct profile_thread *t);
void out_add_thread(struct buf *b, const struct profile_thread *t);

#endif

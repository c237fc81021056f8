/* SPDX-License-Identifier: MIT */
/* The first names that programs announced: for whoever asked for one that nobody did. */
#ifndef UT_WATCH_TRACE_HEARD_H
#define UT_WATCH_TRACE_HEARD_H

#include <stddef.h>

#include "base/buf.h"

#define HEARD_MAX 16
#define HEARD_LEN 48 /* longer names are nobody's near miss */

struct heard {
	char names[HEARD_MAX][HEARD_LEN];
	size_t n;
};

void heard_add(struct heard *h, const char *name, size_t len);
/* A sentence for @wanted, which was never announced: what is near, else what there was. */
void heard_say(const struct heard *h, const char *wanted, struct buf *out);

#endif

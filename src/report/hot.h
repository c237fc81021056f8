/* SPDX-License-Identifier: MIT */
/* The report on hot functions: self and total values, callers and callees, threads. */
#ifndef UT_REPORT_HOT_H
#define UT_REPORT_HOT_H

#include "base/buf.h"
#include "model/profile.h"

struct hot_options {
	unsigned rows; /* functions shown; 0: 20 */
	unsigned width; /* columns; 0: no limit */
	bool color;
	bool threads; /* a table for each thread */
	/* Show callers and callees of this function (a pattern with * and ?); NULL: of the hottest. */
	const char *function;
	unsigned states; /* as out_options */
};

int hot_text(const struct profile *p, const struct hot_options *o, struct buf *out); /* -ENOMEM */
int hot_json(const struct profile *p, const struct hot_options *o, struct buf *out);

#endif

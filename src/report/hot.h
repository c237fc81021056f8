/* SPDX-License-Identifier: MIT */
/* Where the time went: functions by what they did themselves and with all they called, who called them and whom they
 * called, by thread. */
#ifndef UT_REPORT_HOT_H
#define UT_REPORT_HOT_H

#include "base/buf.h"
#include "model/profile.h"

struct hot_options {
	unsigned rows; /* functions that are shown; 0: 20 */
	unsigned width; /* columns; 0: no limit */
	bool color;
	bool threads; /* a table for each thread */
	const char *function; /* callers and callees of this one (a pattern with * and ?); NULL: of the first few */
	unsigned states; /* as out_options */
};

int hot_text(const struct profile *p, const struct hot_options *o, struct buf *out); /* -ENOMEM */
int hot_json(const struct profile *p, const struct hot_options *o, struct buf *out);

#endif

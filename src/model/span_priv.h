/* SPDX-License-Identifier: MIT */
/* For tests of the pairing of user events: other limits, and its engine. */
#ifndef UT_MODEL_SPAN_PRIV_H
#define UT_MODEL_SPAN_PRIV_H

#include "model/pair.h"

struct spans {
	struct pairs *pairs;
	void (*closed)(void *ctx, const struct span *span);
	void *ctx;
	struct span *ended; /* by the current end */
	struct span_counts counts;
};

struct spans *spans_new_limited(void (*closed)(void *ctx, const struct span *span), void *ctx,
				const struct pair_limits *limits);

#endif

/* SPDX-License-Identifier: MIT */
/* The values of an event by the names that its probe's format gives them: what prints as "full=1" is full, 1. */
#ifndef UT_LIVE_VALUES_H
#define UT_LIVE_VALUES_H

#include "live/print.h"
#include "model/collect.h"

#define LIVE_VALUES_MAX OUTPUTS_MAX

struct live_values;

/* @probe is borrowed, and whose event is read must be an event of it. NULL: no memory. */
struct live_values *live_values_new(const struct live_probe *probe);
struct live_values *live_values_free(struct live_values *v);
/*
 * How many there are in @ret: those that have a name and could be read; of a text as much as could be. Their texts live
 * in the record. -EBADMSG for a record that is too small for its probe or has sizes that do not fit.
 */
int live_values_read(const struct live_values *v, const struct live_event *e,
		     struct collect_value ret[LIVE_VALUES_MAX]);

#endif

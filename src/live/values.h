/* SPDX-License-Identifier: MIT */
/* The values of an event under the names in its probe's format: "full=%d" names a value full. */
#ifndef UT_LIVE_VALUES_H
#define UT_LIVE_VALUES_H

#include "live/print.h"
#include "model/collect.h"

#define LIVE_VALUES_MAX OUTPUTS_MAX

struct live_values;

/* Borrows @probe; live_values_read() accepts only its events. NULL: no memory. */
struct live_values *live_values_new(const struct live_probe *probe);
struct live_values *live_values_free(struct live_values *v);
/* The probe's own, created at the first call and freed with it. NULL: out of memory. */
const struct live_values *live_values_of(struct live_probe *probe);
/*
 * Returns the number of values in @ret: those that have a name and could be read. A string may be truncated; its bytes are
 * in the record. -EBADMSG for a record that is too small for its probe or has sizes that do not fit.
 */
int live_values_read(const struct live_values *v, const struct live_event *e,
		     struct collect_value ret[LIVE_VALUES_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
/* The kernel's tracepoints by name: their IDs and the offsets of their fields. */
#ifndef UT_PLAN_EVENT_H
#define UT_PLAN_EVENT_H

#include "probe/tracepoint.h"

/* Reads the description of CATEGORY:EVENT; the caller calls tracepoint_done. -ENOENT: there is no such tracepoint. */
int event_read(int tracefs, const char *category, const char *event, struct tracepoint *ret, struct ut_err *err);
/* The field of that name; NULL: there is none. */
const struct tracepoint_field *event_field(const struct tracepoint *tp, const char *name);

#endif

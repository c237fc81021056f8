/* SPDX-License-Identifier: MIT */
/* The kernel's events by name: their numbers and where their fields lie. */
#ifndef UT_PLAN_EVENT_H
#define UT_PLAN_EVENT_H

#include "probe/tracepoint.h"

/* Describes CATEGORY:EVENT; the caller calls tracepoint_done. -ENOENT when there is none. */
int event_read(int tracefs, const char *category, const char *event, struct tracepoint *ret, struct ut_err *err);
/* The field of that name; NULL: there is none. */
const struct tracepoint_field *event_field(const struct tracepoint *tp, const char *name);

#endif

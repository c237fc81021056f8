/* SPDX-License-Identifier: MIT */
/* Shared by the text and JSON forms of the summary. Internal to src/report. */
#ifndef UT_REPORT_GC_PRIV_H
#define UT_REPORT_GC_PRIV_H

#include "report/gc.h"

uint64_t gc_wall_ns(const struct gcstat_report *r);
/* "3.1 %" of @whole; "0 %" only for 0. @ret: 32 bytes. */
const char *gc_percent(double part, double whole, char *ret);
/* "collection" for gc, "collections" for any number but 1. */
void gc_noun(const char *kind, uint64_t n, struct buf *out);
void gc_add_ns(struct buf *out, uint64_t ns);
void gc_add_escaped(struct buf *out, const char *text);

#endif

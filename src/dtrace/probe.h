/* SPDX-License-Identifier: MIT */
/* One `probe name(arguments);` of a provider. */
#ifndef UT_DTRACE_PROBE_H
#define UT_DTRACE_PROBE_H

#include "dtrace/tokens.h"

/* Reads from "probe" to its ';' and adds it to the provider of that index. */
int dtrace_read_probe(struct dtrace_parser *p, size_t provider, struct ut_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files of one program or library share: an inline function with a probe, used in each. */
#ifndef UNITS_H
#define UNITS_H

#include "usertrace.h"

#ifdef __cplusplus
extern "C" {
#endif

int unit_a(int n);
int unit_b(int n);
int unit_part(int n);

#ifdef __cplusplus
}
/* The linker keeps one of them, with its note. */
template <typename T> inline T units_template(T n)
{
	UT_PROBE(units, folded, n);
	return n;
}
#endif

static inline int units_inline(int n)
{
	UT_PROBE(units, shared, n);
	if (UT_PROBE_ENABLED(units, shared))
		return n + 1;
	ut_mark("inline");
	return n;
}

#endif

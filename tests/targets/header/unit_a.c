/* SPDX-License-Identifier: MIT */
/* One file of a program of two; compiled as C and as C++. */
#include "units.h"

/* Nobody calls it. */
int unused_function(int n);
int unused_function(int n)
{
	UT_PROBE(units, unused, n);
	return n;
}

int unit_a(int n)
{
	ut_begin("a");
	UT_PROBE(units, a, n, n * 2, "text");
	if (UT_PROBE_ENABLED(units, guarded))
		UT_PROBE(units, guarded, n);
	n = units_inline(n);
#ifdef __cplusplus
	n = units_template(n);
#endif
	ut_end("a");
	return n;
}

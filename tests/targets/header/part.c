/* SPDX-License-Identifier: MIT */
/* A shared library with the same probes and events as the program that uses it. */
#include "units.h"

int unit_part(int n)
{
	ut_mark("part");
	UT_PROBE(units, plain, n);
	if (UT_PROBE_ENABLED(units, guarded))
		UT_PROBE(units, guarded, n);
	return units_inline(n);
}

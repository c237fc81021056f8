/* SPDX-License-Identifier: MIT */
/* The other file, with main. */
#include <errno.h>

#include "units.h"

int unit_b(int n)
{
	UT_PROBE(units, plain, n);
	if (UT_PROBE_ENABLED(units, guarded))
		UT_PROBE(units, guarded, n);
#ifdef __cplusplus
	n = units_template(n);
#endif
	return units_inline(n);
}

/* Whatever the pointers are, they are not followed, and errno stays. */
static int wild(const char *name)
{
	errno = 77;
	ut_begin(name);
	ut_end(name);
	ut_mark(name);
	ut_count(name, -1);
	ut_begin_id(name, 1);
	ut_end_id(name, 1);
	ut_mark_id(name, 1);
	ut_count_id(name, 5, 1);
	ut_begin_text(name, name);
	ut_end_text(name, name);
	ut_mark_text(name, name);
	ut_count_text(name, 5, name);
	ut_emit(0xffffffffu, name, INT64_MIN, UINT64_MAX, name);
	return errno == 77 ? 0 : 1;
}

int main(int argc, char **argv)
{
	uintptr_t bad = (uintptr_t)argc;
	int wrong = 0;

#ifdef __cplusplus
	wrong += wild(argv[0]) + wild(nullptr) + wild(reinterpret_cast<const char *>(bad));
#else
	wrong += wild(argv[0]) + wild(0) + wild((const char *)bad);
#endif
#ifdef WITH_PART
	wrong += unit_part(argc) < 0;
#endif
	return unit_a(argc) + unit_b(argc) < 0 ? 1 : wrong;
}

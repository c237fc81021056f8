/* SPDX-License-Identifier: MIT */
/* Who started whom: what is remembered, and what has been pushed out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/family.h"
#include "unit.h"

static const char x[16] = "x", sixteen[17] = "sixteen bytes ..";

static void fork_of(struct family *f, uint32_t child, uint32_t parent, const char comm[16])
{
	struct family_parent p = { .pid = parent, .uid = parent + 1 };

	memcpy(p.comm, comm, sizeof(p.comm));
	family_fork(f, child, &p);
}

static void parents(void **state)
{
	struct family *f = family_new();
	struct family_parent p = { .pid = 99 };

	(void)state;
	assert_non_null(f);
	assert_false(family_parent(f, 7, &p));
	assert_false(family_parent(f, 0, &p));
	assert_int_equal(p.pid, 99);
	fork_of(f, 7, 3, sixteen);
	assert_true(family_parent(f, 7, &p));
	assert_int_equal(p.pid, 3);
	assert_int_equal(p.uid, 4);
	assert_memory_equal(p.comm, sixteen, 16);
	assert_false(family_parent(f, 3, &p));
	assert_false(family_parent(f, 7 + FAMILY_MAX, &p));
	fork_of(f, 7, 4, x); /* the number came again */
	assert_true(family_parent(f, 7, &p));
	assert_int_equal(p.pid, 4);
	assert_string_equal(p.comm, "x");
	assert_null(family_free(f));
	assert_null(family_free(NULL));
}

/* As many as there is room for are all there; then each new one pushes out one. */
static void bounded(void **state)
{
	struct family *f = family_new();
	struct family_parent p;

	(void)state;
	for (uint32_t i = 1; i <= FAMILY_MAX; i++)
		fork_of(f, i, i + 1, x);
	for (uint32_t i = 1; i <= FAMILY_MAX; i++)
		assert_true(family_parent(f, i, &p) && p.pid == i + 1);
	fork_of(f, FAMILY_MAX + 5, 1, x);
	assert_false(family_parent(f, 5, &p));
	assert_true(family_parent(f, 6, &p));
	fork_of(f, UINT32_MAX, 1, x);
	assert_true(family_parent(f, UINT32_MAX, &p));
	family_free(f);
}

UNIT_TESTS(family)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(parents), cmocka_unit_test(bounded) };

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * What a file of unit tests needs of its runner. A runner is the program of one layer's test files: `runner` runs them
 * all, each in a process of its own, `runner FILE` runs one. UT_CASE narrows to cases whose name holds that text, or one
 * of several with spaces between.
 *
 *	UNIT_TESTS(number)
 *	{
 *		const struct CMUnitTest tests[] = { cmocka_unit_test(test_parse), cmocka_unit_test(test_print) };
 *
 *		return unit_run(tests, NULL, NULL);
 *	}
 */
#ifndef UT_TESTS_UNIT_H
#define UT_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct unit_file {
	const char *name;
	/* argv[0] is the file's name; more follows when a test has run the program again: `/proc/self/exe FILE WORD`. */
	int (*run)(int argc, char **argv);
	struct unit_file *next;
};

/* Called before main. */
void unit_add(struct unit_file *file);

#define UNIT_TESTS(file) \
	static int unit_##file(int argc, char **argv); \
	__attribute__((constructor)) static void unit_add_##file(void) \
	{ \
		static struct unit_file unit_self = { .name = #file, .run = unit_##file }; \
\
		unit_add(&unit_self); \
	} \
	static int unit_##file(int argc __attribute__((unused)), char **argv __attribute__((unused)))

/* Runs the cases of the file with functions that run before the first and after the last, or NULL; how many failed. */
#define unit_run(tests, setup, teardown) \
	unit_run_cases((tests), sizeof(tests) / sizeof((tests)[0]), (setup), (teardown))
int unit_run_cases(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup, CMFixtureFunction teardown);

#endif

/* SPDX-License-Identifier: MIT */
/* Files that a test makes in a folder of its own, and the tools that it runs on them. Included behind cmocka.h. */
#ifndef UT_TESTS_SCRATCH_H
#define UT_TESTS_SCRATCH_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A command for the shell, which must succeed. */
__attribute__((format(printf, 1, 2), unused)) static void run(const char *fmt, ...)
{
	char command[4 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

/* A file in the folder, new or anew. */
__attribute__((unused)) static void write_file(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

#endif

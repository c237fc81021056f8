/* SPDX-License-Identifier: MIT */
/* Texts that must come out to the letter: tests/golden/NAME, which UT_GOLDEN_UPDATE=1 writes anew. */
#ifndef UT_TESTS_GOLDEN_H
#define UT_TESTS_GOLDEN_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "unit.h"

static inline bool golden_update(void) { return getenv("UT_GOLDEN_UPDATE") != NULL; }

static inline FILE *golden_open(const char *name, const char *mode)
{
	const char *root = getenv("UT_SOURCE_ROOT");
	char path[PATH_MAX];
	FILE *ret;

	snprintf(path, sizeof(path), "%s/tests/golden/%s", root ? root : ".", name);
	ret = fopen(path, mode);
	if (!ret)
		fail_msg("cannot open %s", path);
	return ret;
}

/* The caller frees it. */
static inline char *golden_read(const char *name)
{
	AUTO_FCLOSE FILE *f = golden_open(name, "re");
	char *ret = NULL;
	size_t size = 0;

	if (getdelim(&ret, &size, '\0', f) < 0)
		fail_msg("tests/golden/%s is empty", name);
	return ret;
}

static inline void golden_write(const char *name, const char *text, size_t len)
{
	AUTO_FCLOSE FILE *f = golden_open(name, "we");

	assert_int_equal(fwrite(text, 1, len, f), len);
}

static inline void golden_is(const char *name, const char *text, size_t len)
{
	AUTO_FREE char *golden = NULL;
	size_t i = 0;

	if (golden_update()) {
		golden_write(name, text, len);
		return;
	}
	golden = golden_read(name);
	while (i < len && golden[i] == text[i])
		i++;
	if (i < len || golden[i])
		fail_msg("%s differs from byte %zu on: '%.60s' instead of '%.60s'", name, i, text + i, golden + i);
}

#endif

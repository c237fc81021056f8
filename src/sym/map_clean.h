/* SPDX-License-Identifier: MIT */
/* Maps and dumps that processes have left behind. */
#ifndef UT_SYM_MAP_CLEAN_H
#define UT_SYM_MAP_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Who is told of each file. */
struct map_clean_sink {
	void *ctx;
	void (*removed)(void *ctx, const char *path, uint64_t bytes); /* or would be, in a dry run */
	void (*failed)(void *ctx, const struct ut_err *err); /* one file or folder; the others go on */
};

struct map_clean_totals {
	uint64_t files, bytes;
};

/*
 * Removes from the folders, or from /tmp when there are none, the files perf-N.map and jit-N.dump whose process N has
 * ended. -EPERM where it cannot be seen which processes have ended: inside a pid namespace.
 */
int map_clean(const char *const *folders, size_t n, bool dry_run, const struct map_clean_sink *sink,
	      struct map_clean_totals *ret, struct ut_err *err);
/* Is it "perf-N.map" or "jit-N.dump", exactly? Then *@ret_pid is N. */
bool map_clean_name(const char *name, int *ret_pid);

#endif

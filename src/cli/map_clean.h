/* SPDX-License-Identifier: MIT */
/* Maps and dumps that processes have left behind. */
#ifndef UT_CLI_MAP_CLEAN_H
#define UT_CLI_MAP_CLEAN_H

#include "cli/cli.h"

/* Removes from the folders, or from /tmp when there are none, the files perf-N.map and jit-N.dump whose process N has
 * ended, and names each on standard output. Returns the exit status. */
int map_clean(const struct ut_cmd *cmd, const char *const *folders, size_t n, bool dry_run);
/* Is it "perf-N.map" or "jit-N.dump", exactly? Then *@ret_pid is N. */
bool map_clean_name(const char *name, int *ret_pid);

#endif

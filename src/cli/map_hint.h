/* SPDX-License-Identifier: MIT */
/* What would give names to the code that a process compiles. */
#ifndef UT_CLI_MAP_HINT_H
#define UT_CLI_MAP_HINT_H

#include <sys/types.h>

#include "proc/runtime.h"

/* How a process of this runtime is started for it: "node --perf-basic-prof"; NULL: there is no way in its version, or
 * no need. Lives as long as @runtimes. */
const char *map_hint(const struct runtimes *runtimes, pid_t pid, const struct runtime *runtime);

#endif

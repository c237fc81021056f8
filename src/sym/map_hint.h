/* SPDX-License-Identifier: MIT */
/* What would give names to the code that a process compiles. */
#ifndef UT_SYM_MAP_HINT_H
#define UT_SYM_MAP_HINT_H

#include <sys/types.h>

#include "base/buf.h"
#include "proc/runtime.h"

/* How a process of this runtime is started for it: "node --perf-basic-prof"; NULL: there is no way in its version, or
 * no need. Lives as long as @runtimes. */
const char *map_hint(const struct runtimes *runtimes, pid_t pid, const struct runtime *runtime);

/*
 * Of a process that has no map: what its stacks lack, and what gives it to them. False when nothing does. @hint: from
 * map_hint(). The texts are added to the buffers.
 */
bool map_hint_explain(const struct runtime *runtime, const char *hint, struct buf *lacks, struct buf *remedy);

#endif

/* SPDX-License-Identifier: MIT */
/* Reports files and memory that any process of the machine maps with execute permission, shortly after the fact, from perf's
 * records (PERF_RECORD_MMAP2), which cost the mapping process next to nothing. */
#ifndef UT_RECORD_MAPWATCH_H
#define UT_RECORD_MAPWATCH_H

#include <sys/types.h>

#include "base/err.h"
#include "proc/process.h"

struct mapwatch;

int mapwatch_open(struct mapwatch **ret, struct ut_err *err);
struct mapwatch *mapwatch_close(struct mapwatch *w);
unsigned mapwatch_fds(const struct mapwatch *w); /* number of descriptors to poll for reading */
int mapwatch_fd(const struct mapwatch *w, unsigned i);
/* @m without a file (ino 0): memory, "" or a name such as "[heap]". @time_ns: CLOCK_MONOTONIC. A negative result ends the
 * walk and is returned. */
typedef int mapwatch_fn(void *ctx, pid_t pid, const struct mapping *m, uint64_t time_ns);
/* Calls @fn for each new mapping; its path is valid during the call. 1: some were lost. */
int mapwatch_read(struct mapwatch *w, mapwatch_fn *fn, void *ctx);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What processes with code compiled at run time are asked for while they are profiled, or their stacks printed: HotSpot for its map, soon again
 * while it starts, then ever less often, and earlier when many stacks have come that no map has been asked for; and which
 * flag would have given the others' names. One thread calls; another asks, so that nobody waits for a virtual machine.
 */
#ifndef UT_WATCH_PROFILE_MAPS_H
#define UT_WATCH_PROFILE_MAPS_H

#include "proc/runtime.h"
#include "sym/names.h"

struct profile_maps;
/* Both outlive it. NULL: out of memory. */
struct profile_maps *profile_maps_new(struct names *names, const struct runtimes *runtimes);
struct profile_maps *profile_maps_free(struct profile_maps *m);
/* So many new stacks with code of this process that was compiled at run time have come. */
void profile_maps_note(struct profile_maps *m, pid_t pid, uint64_t stacks);
void profile_maps_gone(struct profile_maps *m, pid_t pid); /* ended, or another program */
/* Asks for whatever is due; does not wait. */
void profile_maps_flush(struct profile_maps *m, uint64_t time_ns);
/* Asks all that are there a last time, and waits for their answers, but not for long. */
void profile_maps_finish(struct profile_maps *m);
/* Asks nobody any more; waits for the answer that is under way. */
void profile_maps_stop(struct profile_maps *m);
/* Why a virtual machine gave no map, a sentence each; after one of these. */
size_t profile_maps_failures(struct profile_maps *m, const char *const **ret);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Requests code maps from processes with JIT code while they are profiled or their stacks are printed: from HotSpot often
 * while it starts, then ever less often, and earlier after many new stacks; and finds the flags with which other
 * runtimes would write a map. One thread calls; another sends the requests, so that nobody waits for a virtual machine.
 */
#ifndef UT_WATCH_PROFILE_MAPS_H
#define UT_WATCH_PROFILE_MAPS_H

#include "proc/runtime.h"
#include "sym/names.h"

struct profile_maps;
struct session_lifecycle;
/* @names and @runtimes outlive it. NULL: out of memory. */
struct profile_maps *profile_maps_new(struct names *names, const struct runtimes *runtimes);
struct profile_maps *profile_maps_free(struct profile_maps *m);
/* The number of new stacks with JIT code of this process. */
void profile_maps_note(struct profile_maps *m, pid_t pid, uint64_t stacks);
/* Passes a lifecycle event to the names, and forgets a process that has ended or executed another program. */
void profile_maps_life(struct profile_maps *m, const struct session_lifecycle *life);
/* Requests the maps that are due, without waiting, and reads what has been added to others (names_poll). */
void profile_maps_flush(struct profile_maps *m, uint64_t time_ns);
/* Requests all maps a last time, and waits for the answers for at most 3 seconds. */
void profile_maps_finish(struct profile_maps *m);
/* Ends the requests; waits for the current answer. */
void profile_maps_stop(struct profile_maps *m);
/* After one of these: calls @note with sentences on maps that could not be obtained or used. */
void profile_maps_notes(struct profile_maps *m, void (*note)(void *ctx, const char *text), void *ctx);

#endif

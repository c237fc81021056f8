/* SPDX-License-Identifier: MIT */
/*
 * Code maps of one process: the function at an address at a given time. Perf maps contain no times, so the time at which
 * a line was first seen counts; records of jitdumps carry CLOCK_MONOTONIC. A dump outranks a map.
 * Lookups are collected and resolved in one pass over the files, so that memory depends on the number of lookups and not
 * on the files; names stay in the files. Files are opened without following links and without blocking. They are trusted
 * only if root or the process's user owns them and if they were not written before the process started.
 *
 * In a dump, the newest record that covers the address and is not later than the time decides. Moved code keeps its name,
 * and its former address has none. In maps, the last line that had arrived by then decides; a map that was rewritten
 * (HotSpot) counts from the time at which the rewrite was seen. A dump inherited from a parent counts until the fork.
 * Records with times outside the process's lifetime on CLOCK_MONOTONIC are rejected, as are dumps in CPU cycles. Not
 * thread-safe.
 */
#ifndef UT_SYM_CODE_H
#define UT_SYM_CODE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/frame.h"
#include "proc/process.h"

struct code_maps;

/* @pid is alive. Finds its files, as code_maps_poll does again later. */
struct code_maps *code_maps_new(pid_t pid, uint64_t time_ns); /* NULL: out of memory */
struct code_maps *code_maps_free(struct code_maps *c);
/* Notes what was written since the last call, as having arrived at @time_ns. True when anything was. */
bool code_maps_poll(struct code_maps *c, uint64_t time_ns);
/* Adds its files to an inotify descriptor, which reports growth at once; best effort. */
void code_maps_watch(struct code_maps *c, int inotify_fd);
/* Adds a dump that the process has mapped: its writer maps it for tracers to find. */
void code_maps_dump(struct code_maps *c, const struct mapping *m);
bool code_maps_any(const struct code_maps *c); /* is there any map or dump? */

/* Requests a lookup; the result is known after code_maps_resolve. @addr is the instruction, not a return address. */
void code_maps_request(struct code_maps *c, uint64_t addr, uint64_t time_ns);
void code_maps_resolve(struct code_maps *c);

struct code_answer {
	const char *name; /* NULL: none. As in the file, on one line; lives as long as @c */
	uint64_t start, size;
	const char *file; /* jitdump's debug information; NULL: none */
	uint32_t line;
	bool later; /* the only name found arrived after the time in question */
	bool from_dump;
};
/* The result of a lookup; one that was not requested is resolved at once, which suits a few. */
void code_maps_lookup(struct code_maps *c, uint64_t addr, uint64_t time_ns, struct code_answer *ret);
/*
 * The same for an event that is being printed, of which there may be many per second: reads what was written since the last
 * call and keeps all entries in memory, so that a lookup costs a binary search. Without source lines.
 */
void code_maps_lookup_live(struct code_maps *c, uint64_t addr, uint64_t time_ns, struct code_answer *ret);
/* The kind of code, by the marks of runtimes in names: V8's ~ and *, py::. */
enum frame_kind code_kind(const char *name);

/* Sentences about files that were rejected or are damaged; valid until the next call with @c. */
size_t code_maps_notes(struct code_maps *c, const char *const **ret);

#endif

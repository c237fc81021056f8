/* SPDX-License-Identifier: MIT */
/*
 * Code maps of one process: who lay at an address at a moment. From perf maps, which tell no time (the moment of
 * arrival counts, which is watched), and from jitdumps, whose records bear CLOCK_MONOTONIC. A dump outranks a map.
 * Questions are collected and answered in one pass over the files, so that memory depends on the questions and not on
 * the files; their names stay in the files. Files are opened without following links and without blocking, and
 * believed only if root or the process's user owns them, and not when they were written before it started.
 *
 * Who has an address at a moment: of a dump the newest record that covers it, if it is not later; code that was moved
 * keeps its name, and nobody has the place that it left. Of maps the last line that had arrived by then, in the file as
 * it stood then: one that was written anew (HotSpot) counts from the moment when that was seen. A dump that the process
 * has from its parent counts until the fork. Records with times that the process's life on CLOCK_MONOTONIC has not are
 * refused, as are dumps in processor cycles. Not thread-safe.
 */
#ifndef UT_SYM_CODE_H
#define UT_SYM_CODE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/frame.h"
#include "proc/process.h"

struct code_maps;

/* @pid is alive. Which files there are is found out here, and again by code_maps_poll. */
struct code_maps *code_maps_new(pid_t pid, uint64_t time_ns); /* NULL: out of memory */
struct code_maps *code_maps_free(struct code_maps *c);
/* Notes what came since the last call, as having come at @time_ns. True when anything did. */
bool code_maps_poll(struct code_maps *c, uint64_t time_ns);
/* Adds its files to an inotify descriptor, to know of growth at once; best effort. */
void code_maps_watch(struct code_maps *c, int inotify_fd);
/* A dump that the process mapped: that is how its writer announces one. */
void code_maps_dump(struct code_maps *c, const struct mapping *m);
bool code_maps_any(const struct code_maps *c); /* is there any map or dump? */

/* A question; the answers are there after code_maps_resolve. @addr is the place, not a return address. */
void code_maps_request(struct code_maps *c, uint64_t addr, uint64_t time_ns);
void code_maps_resolve(struct code_maps *c);

struct code_answer {
	const char *name; /* NULL: nobody. As the file has it, made one line; lives as long as @c */
	uint64_t start, size;
	const char *file; /* jitdump's debug information; NULL: none */
	uint32_t line;
	bool later; /* only a name that arrived after the moment was found */
	bool from_dump;
};
/* Also without settling, for few questions: answers it at once. */
void code_maps_lookup(struct code_maps *c, uint64_t addr, uint64_t time_ns, struct code_answer *ret);
/*
 * The same for an event that is being printed, of which there may be many a second: what came since the last call is
 * read first, and what was read stays in memory, so that a question costs a search. Without source lines.
 */
void code_maps_lookup_live(struct code_maps *c, uint64_t addr, uint64_t time_ns, struct code_answer *ret);
/* Kind of the code, from how runtimes mark names: V8's ~ and *, py::. */
enum frame_kind code_kind(const char *name);

/* Sentences on files that were refused or damaged. */
size_t code_maps_notes(struct code_maps *c, const char *const **ret);

#endif

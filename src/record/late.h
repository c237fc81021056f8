/* SPDX-License-Identifier: MIT */
/*
 * Names and texts that were not in memory when a program announced them, where nobody waits for them: nearly
 * always constants in a file's page that nobody had touched yet. They are read a moment later, from the process or,
 * when it is gone, from the file that it had mapped there.
 */
#ifndef UT_RECORD_LATE_H
#define UT_RECORD_LATE_H

#include "base/err.h"
#include "proc/process.h"

struct late;

struct late *late_new(void); /* NULL: out of memory */
struct late *late_free(struct late *l);
/* A process mapped a file; told in advance. The oldest are forgotten. @path as the process sees it. */
void late_note(struct late *l, pid_t pid, const struct mapping *m);
/* The same of all that it has mapped already. */
void late_note_process(struct late *l, pid_t pid);
/* A child has what its parent had mapped, until it runs another program: then @parent is 0. */
void late_fork(struct late *l, pid_t child, pid_t parent);
/*
 * At most @size bytes at @address of the process that was @pid at @time_ns (CLOCK_MONOTONIC), as far as they can be
 * read; 0: none can. Stops at the first NUL, which is among the bytes then. A process may have so many reads in each
 * window of time: each costs as much as a hundred events, and addresses may be anything. What was read is known for
 * as long, and costs no other.
 */
#define LATE_READS 16
#define LATE_WINDOW_NS 10000000u
size_t late_read(struct late *l, pid_t pid, uint64_t time_ns, uint64_t address, char *ret, size_t size);

#endif

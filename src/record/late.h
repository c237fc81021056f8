/* SPDX-License-Identifier: MIT */
/*
 * Names and strings of user events that were not in memory when the event was emitted: nearly always constants in a page
 * of a file that was never touched. The handler cannot wait for the page, so they are read a moment later, from the process
 * or, after its exit, from the file that was mapped there.
 */
#ifndef UT_RECORD_LATE_H
#define UT_RECORD_LATE_H

#include "base/err.h"
#include "proc/process.h"

struct late;

struct late *late_new(void); /* NULL: out of memory */
struct late *late_free(struct late *l);
/* Records a mapping of a process. The oldest of many mappings are dropped. @m->path: as the process sees it. */
void late_note(struct late *l, pid_t pid, const struct mapping *m);
/* Records the present mappings of a process. */
void late_note_process(struct late *l, pid_t pid);
/* @child has the mappings of @parent (fork); @parent 0: none any more (exec). */
void late_fork(struct late *l, pid_t child, pid_t parent);
/*
 * At most @size bytes at @address of the process that was @pid at @time_ns (CLOCK_MONOTONIC), as far as they can be
 * read; 0: none can. Stops after the first NUL. Each process has a budget of reads in each window of time, since a read
 * costs as much as a hundred events and a program chooses the addresses. Bytes that were read are cached for one window
 * and cost no second read.
 */
#define LATE_READS 16
#define LATE_WINDOW_NS 10000000u
size_t late_read(struct late *l, pid_t pid, uint64_t time_ns, uint64_t address, char *ret, size_t size);

#endif

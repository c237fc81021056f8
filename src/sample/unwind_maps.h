/* SPDX-License-Identifier: MIT */
/*
 * The tables of the walker in the kernel (src/bpf/sample.bpf.c): unwind tables, once for each file, and the mappings of
 * processes. Files that no process has mapped any more stay until their space is needed. Not thread-safe.
 */
#ifndef UT_SAMPLE_UNWIND_MAPS_H
#define UT_SAMPLE_UNWIND_MAPS_H

#include <sys/types.h>

#include "base/err.h"
#include "proc/process.h"
#include "wire/unwind.h"

struct unwind_maps;

/* Descriptors of sample.bpf.c's maps, borrowed. */
struct unwind_fds {
	int rows, directory, rules, mappings, sampled;
};

int unwind_maps_open(const struct unwind_fds *fds, struct unwind_maps **ret, struct ut_err *err);
struct unwind_maps *unwind_maps_close(struct unwind_maps *m);

/*
 * Reads the mappings of @pid, builds the tables of new files, and writes both to the kernel's maps. Call it again whenever
 * the mappings changed. A process that has exited is no error. -ENOMEM, or the kernel's error, with a sentence.
 */
int unwind_maps_process(struct unwind_maps *m, pid_t pid, struct ut_err *err);
/* Enables sampling of a process whose mappings follow later (a command before its exec). */
int unwind_maps_enable(struct unwind_maps *m, pid_t pid, struct ut_err *err);
bool unwind_maps_has(const struct unwind_maps *m, pid_t pid);
void unwind_maps_remove(struct unwind_maps *m, pid_t pid);
/* Reclaims space whose last readers in the kernel are done; call it from time to time. */
void unwind_maps_reclaim(struct unwind_maps *m, uint64_t now_ns);

/* The same tables for unwinding in user space. The process's mappings, by address; caller frees. 0: none. */
size_t unwind_maps_mappings(const struct unwind_maps *m, pid_t pid, struct ut_unwind_mapping **ret);
/* The first row of a page, by the number of its entry in the directory, and of the next one. False: there is none. */
bool unwind_maps_page(const struct unwind_maps *m, uint32_t entry, uint32_t ret[2]);
/* SAMPLE_CHUNK_ROWS rows from number * SAMPLE_CHUNK_ROWS on. False: there are none. */
bool unwind_maps_chunk(const struct unwind_maps *m, uint32_t number, uint32_t *ret);
/* Rule @number; NULL: there is none. */
const struct ut_unwind_rule *unwind_maps_rule(const struct unwind_maps *m, uint32_t number);

/* Kernel memory that the tables use, and the number of files with a table. */
void unwind_maps_size(const struct unwind_maps *m, uint64_t *ret_bytes, size_t *ret_files);

#endif

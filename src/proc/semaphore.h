/* SPDX-License-Identifier: MIT */
/* The semaphores of USDT probes in a running process: the 16 bits that the kernel counts up while a probe is traced. */
#ifndef UT_PROC_SEMAPHORE_H
#define UT_PROC_SEMAPHORE_H

#include "proc/process.h"

/*
 * Where a semaphore is in a process. lld and mold let RELRO and .data share a page of the file, which is mapped twice then.
 * Both mappings are writable from the exec until relocation is over, and the kernel counts in the first one, which the
 * program does not read.
 */
#define SEMAPHORE_TWINS 4
struct semaphore_place {
	uint64_t address; /* the program reads this one */
	uint64_t twins[SEMAPHORE_TWINS]; /* the same bytes of the file in other mappings */
	size_t ntwins;
	bool relocating; /* a twin is writable: relocation is not over */
};

/* @offset: in @file. False: no writable mapping has it. Pure. */
bool semaphore_find(const struct mappings *maps, const struct file_id *file, uint64_t offset,
		    struct semaphore_place *ret);

struct semaphore_count {
	uint16_t count;
	bool astray; /* a twin was counted up, and the program does not see it */
};

/* Through @mem, a descriptor of /proc/PID/mem. -EIO: it cannot be read. */
int semaphore_read(int mem, const struct semaphore_place *place, struct semaphore_count *ret);

#endif

/* SPDX-License-Identifier: MIT */
/* The targets of a session, its end, and its resources: passed as a whole from the options of a command down. */
#ifndef UT_RECORD_TARGET_SET_H
#define UT_RECORD_TARGET_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target_set {
	const int *pids; /* none with all or a command. Borrowed */
	size_t npids;
	bool all; /* every process, also later ones */
	bool follow; /* also children of pids or of the command */
	bool wait; /* do not fail on a missing probe; attach it when its file is mapped */
	bool verbose; /* keep the verifier's log */
	char *const *command; /* NULL, or started suspended and released when the probes are attached. Borrowed */
	uint64_t duration_ns; /* 0: no end */
	uint64_t ring_bytes; /* of each CPU's ring; 0: the default; a power of two otherwise */
	int stop_fd; /* readable: stop; -1: none. Borrowed */
};

#endif

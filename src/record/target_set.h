/* SPDX-License-Identifier: MIT */
/* Whom a session is about, until when, and what it may use for that: passed whole from the options of a command down. */
#ifndef UT_RECORD_TARGET_SET_H
#define UT_RECORD_TARGET_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target_set {
	const int *pids; /* processes to look into; none with all or a command. Borrowed */
	size_t npids;
	bool all; /* every process, those to come as well */
	bool follow; /* children of pids or of the command too */
	bool wait; /* probes that no file has yet may come later */
	bool verbose; /* keep the verifier's log */
	char *const *command; /* NULL, or started held and let go when all is in place. Borrowed */
	uint64_t duration_ns; /* 0: no end */
	uint64_t ring_bytes; /* of each CPU's ring; 0: the default; a power of two otherwise */
	int stop_fd; /* readable: stop; -1: none. Borrowed */
};

#endif

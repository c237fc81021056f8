/* SPDX-License-Identifier: MIT */
/* Files that processes have mapped, each read once: the probes that fit, counted by provider. */
#ifndef UT_CLI_LIST_SEEN_H
#define UT_CLI_LIST_SEEN_H

#include "cli/list.h"

struct seen_provider {
	char *name; /* owned */
	size_t probes, sites, guarded; /* guarded: probes with a semaphore */
};

struct seen_file {
	struct file_id id;
	VEC(struct seen_provider) providers;
};

struct seen_files {
	struct seen_file **slots; /* a hash table, open addressing */
	size_t n, nslots; /* a power of two */
	size_t unopened; /* files that could not be opened */
};

/* The file behind a mapping; NULL when memory ran out. It lives until seen_files_done. */
const struct seen_file *seen_file_get(struct seen_files *seen, struct list *list, pid_t pid, const struct mapping *m);
void seen_files_done(struct seen_files *seen);

#endif

/* SPDX-License-Identifier: MIT */
/* Files that processes have mapped, each read once: the probes that fit, counted by provider. */
#ifndef UT_CATALOG_SEEN_H
#define UT_CATALOG_SEEN_H

#include "base/index.h"
#include "catalog/catalog_priv.h"

struct seen_file {
	struct file_id id;
	VEC(struct catalog_provider) providers;
};

struct seen_files {
	VEC(struct seen_file *) all;
	struct index index; /* by device and inode */
	size_t unopened; /* files that could not be opened */
};

/* The file behind a mapping; NULL when memory ran out. It lives until seen_files_done. */
const struct seen_file *seen_file_get(struct seen_files *seen, struct catalog *c, pid_t pid, const struct mapping *m);
void seen_files_done(struct seen_files *seen);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Work in a process's file system with that process's identity. Its paths, mounts and links are its user's to choose, so
 * that root's rights must not be used on them.
 */
#ifndef UT_PROC_IDENTITY_H
#define UT_PROC_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define IDENTITY_GROUPS_MAX 64 /* more are not used: fewer rights */
#define IDENTITY_ARG_MAX 4096

struct identity {
	uint32_t uids[4], gids[4]; /* real, effective, saved, of file accesses; as our user namespace sees them */
	uint32_t groups[IDENTITY_GROUPS_MAX];
	size_t ngroups;
};

/* From the text of /proc/PID/status; false when a line is missing. Pure. */
bool identity_parse(const char *status, struct identity *ret);
/*
 * May paths that the process chose be resolved with its effective user's rights? False when these are not its real
 * user's: a set-user-ID program inherits its directories from whoever started it. Pure.
 */
bool identity_is_plain(const struct identity *who);
bool identity_equal(const struct identity *a, const struct identity *b);
int identity_read(pid_t pid, struct identity *ret); /* -ESRCH */

/*
 * A process's root and working directory (O_PATH descriptors) with the identity that belongs to them. *@ret must be
 * given to identity_place_done() also after an error.
 */
struct identity_place {
	struct identity who;
	pid_t pid;
	int pidfd, root, cwd; /* cwd: -1 when it has none */
};
int identity_place_open(pid_t pid, struct identity_place *ret, struct ut_err *err);
void identity_place_done(struct identity_place *p);

/*
 * Runs in a child: plain system calls only, no allocation and no lock, as other threads of the parent may have held one.
 * @arg is a copy that is copied back. Returns 0 or -errno; *@ret_fd: a descriptor for the parent, or left at -1.
 */
typedef int identity_fn(void *arg, int *ret_fd);
/*
 * Runs @fn in a child with the effective and file system IDs and the groups of @who, without any capability, not dumpable,
 * with no descriptors but @keep. Its real and saved user IDs stay ours, so that the process can neither signal nor trace
 * it. When we are not root the IDs stay ours. @arg (@size bytes, at most IDENTITY_ARG_MAX) is in and out. *@ret_fd (may be
 * NULL) is the descriptor or -1. Returns what @fn returned; -ETIMEDOUT when a file system did not answer within @timeout_ms;
 * -EPERM when the IDs could not be taken on. May be called from several threads.
 */
int identity_run(const struct identity *who, const int *keep, size_t nkeep, identity_fn *fn, void *arg, size_t size,
		 unsigned timeout_ms, int *ret_fd);
/*
 * Opens @path read-only below the process's root ("/…") or working directory, as the process would: only a regular file.
 * A descriptor or -errno.
 */
int identity_open_file(pid_t pid, const char *path, unsigned timeout_ms);
/* The process's /tmp as an O_PATH descriptor, or -errno. */
int identity_open_tmp(const struct identity_place *p, unsigned timeout_ms);

/* For an identity_fn: /tmp below an O_PATH descriptor of a root. A descriptor or -errno. */
int identity_fn_tmp(int root);

#endif

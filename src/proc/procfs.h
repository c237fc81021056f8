/* SPDX-License-Identifier: MIT */
/* Reading small files of /proc whole. For this layer and for sym only. */
#ifndef UT_PROC_PROCFS_H
#define UT_PROC_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define AUTO_BUF AUTO(buf_done)

/* Opens /proc/PID/NAME read-only; no link is followed. A descriptor, -ESRCH when there is no such process, -errno. */
int procfs_open(pid_t pid, const char *name);
/*
 * Opens @path below the directory /proc/PID/LINK ("root", "cwd") with openat2(2); "" is that directory itself, as an O_PATH
 * descriptor. A descriptor, close-on-exec, or -errno.
 */
int procfs_open_below(pid_t pid, const char *link, const char *path, uint64_t flags, uint64_t resolve);
/* Appends all that @fd still gives, at most @max bytes. 0, -EFBIG when there is more, -errno. */
int fd_read_all(int fd, size_t max, struct buf *out);
/* Both in one: 0, -ESRCH, -errno. */
int procfs_read(pid_t pid, const char *name, struct buf *out);

#endif

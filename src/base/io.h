/* SPDX-License-Identifier: MIT */
/* Descriptors: writing all bytes, and opening without side effects. */
#ifndef UT_BASE_IO_H
#define UT_BASE_IO_H

#include <stddef.h>

struct stat;

/*
 * Writes all of @len bytes, and waits when the descriptor is non-blocking, which a process that shares the pipe may
 * have set. 0 or a negative errno; *@ret_done, when not NULL, is how many bytes were written in any case.
 */
int write_all(int fd, const void *data, size_t len, size_t *ret_done);

/*
 * Opens the regular file behind the O_PATH descriptor @peek read-only, which stays the caller's. Whoever controls a path
 * can put a device or a FIFO there, and opening one blocks or has effects. A descriptor, -ENODEV for another kind of
 * file, or -errno. @ret_st is the status of the file, unless fstat(2) fails.
 */
int open_regular(int peek, struct stat *ret_st);

#endif

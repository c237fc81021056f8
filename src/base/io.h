/* SPDX-License-Identifier: MIT */
/* Bytes to descriptors. */
#ifndef UT_BASE_IO_H
#define UT_BASE_IO_H

#include <stddef.h>

/*
 * Writes all of @len bytes, and waits when the descriptor is non-blocking, which a process that shares the pipe may
 * have set. 0 or a negative errno; *@ret_done, when not NULL, is how many bytes were written in any case.
 */
int write_all(int fd, const void *data, size_t len, size_t *ret_done);

#endif

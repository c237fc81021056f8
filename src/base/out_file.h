/* SPDX-License-Identifier: MIT */
/* Files that appear as a whole or not at all: what had the name before stays until then. */
#ifndef UT_BASE_OUT_FILE_H
#define UT_BASE_OUT_FILE_H

#include <stdbool.h>

#include "base/err.h"

/* True when the path exists and is not a regular file that could be replaced: a pipe, a terminal. */
bool out_file_is_special(const char *path);
/* Could @path be written? Leaves nothing behind. 0, or -errno with a sentence. */
int out_file_check(const char *path, struct ut_err *err);
/*
 * @write gives everything to the descriptor; its failure without a sentence is that of writing. What is no regular file
 * (a pipe, a terminal) is written to as it is. 0, or -errno with a sentence.
 */
int out_file_write(const char *path, int (*write)(void *ctx, int fd, struct ut_err *err), void *ctx,
		   struct ut_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* One line of /proc/PID/maps at a time, nothing copied. For this layer only. */
#ifndef UT_PROC_MAPS_H
#define UT_PROC_MAPS_H

#include <stddef.h>

#include "base/buf.h"
#include "proc/process.h"

struct maps_line {
	struct mapping m; /* path is NULL: see below */
	const char *path; /* into the text, not terminated, " (deleted)" cut off */
	size_t path_len;
};

/* The next line at *@text, which is moved behind it. 1, 0 at the end, -EBADMSG for what is no such line. */
int maps_next(const char **text, const char *end, struct maps_line *ret);
/* True for a mapping whose "file" is only a name for memory: shared anonymous memory, System V segments. */
bool maps_line_is_memory(const struct maps_line *line);
/* The text of /proc/PID/maps, never empty for a process that runs a program. -ESRCH when it has ended. */
int maps_text(pid_t pid, struct buf *out, struct ut_err *err);
/* The sentence for text that maps_next or a copy failed on; returns @code. */
int maps_error(pid_t pid, int code, struct ut_err *err);
/* A copy with its own path. 0 or -ENOMEM. */
int maps_line_copy(const struct maps_line *line, struct mapping *ret);

#endif

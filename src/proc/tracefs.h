/* SPDX-License-Identifier: MIT */
/* The kernel's trace filesystem: found where it is mounted, or mounted privately for this process alone. */
#ifndef UT_PROC_TRACEFS_H
#define UT_PROC_TRACEFS_H

#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

/*
 * A directory descriptor of tracefs, close-on-exec, the caller's to close. Looks at the mounts first; when there is
 * none, makes a detached mount (fsopen, fsmount: kernel 5.2) that nobody else sees and that goes with the descriptor.
 */
int tracefs_open(struct ut_err *err);
/* Where it is mounted, for people ("/sys/kernel/tracing"), or "" when it is not. @ret of at least 256 bytes. */
int tracefs_where(char *ret, size_t size);
/* Text of events/CATEGORY/EVENT/format; caller frees. -ENOENT with a sentence when there is no such event. */
int tracefs_format(int dirfd, const char *category, const char *event, char **ret, size_t *ret_len, struct ut_err *err);
/* "CATEGORY:EVENT" of every event whose names fit the two globs; owned strings. */
struct tracefs_names {
	VEC(char *) names;
};
int tracefs_events(int dirfd, const char *category, const char *event, struct tracefs_names *ret, struct ut_err *err);
void tracefs_names_done(struct tracefs_names *n);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files about HotSpot share. */
#ifndef UT_PROC_HOTSPOT_PRIV_H
#define UT_PROC_HOTSPOT_PRIV_H

#include "proc/hotspot.h"

/* Was -XX:+NAME or -XX:-NAME given? 1, 0, 2 when neither was; negative when it cannot be known. */
int hotspot_flag(pid_t pid, const char *name);
/* The same from the texts of /proc/PID/cmdline and environ; -1: neither. Files that they name are those of @pid. */
int hotspot_flags_from(const struct buf *cmdline, const struct buf *environment, pid_t pid, const char *name);

/* An answer as it stands on the socket: "0", a line feed, text. 0, -EAGAIN while its first line is not complete, or
 * -EIO with the machine's sentence. *@ret_text: where the text begins. */
int hotspot_answer(const struct buf *answer, size_t *ret_text, struct ut_err *err);

#endif

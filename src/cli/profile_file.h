/* SPDX-License-Identifier: MIT */
/* Profiles from files that users name, folded stacks or pprof, and the tables of `hot`. */
#ifndef UT_CLI_PROFILE_FILE_H
#define UT_CLI_PROFILE_FILE_H

#include "cli/cli.h"
#include "model/profile.h"
#include "report/hot.h"

/*
 * Reads @path, or standard input where it is NULL or "-". Reports what was left out or changed on standard error. 0 and
 * a profile with at least one stack, or the exit status after a sentence; *@ret is the caller's to free in any case. It
 * may be an empty profile, then it is filled.
 */
int profile_file_read(const struct ut_cmd *cmd, const char *path, struct profile **ret);
/*
 * Writes the tables of @p, or one JSON object, to @fd; standard output gets the width and the colors of its terminal,
 * in @o. 0 or a negative errno.
 */
int profile_write_hot(const struct profile *p, struct hot_options *o, bool json, int fd);

#endif

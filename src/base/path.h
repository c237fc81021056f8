/* SPDX-License-Identifier: MIT */
/* Parts of paths. */
#ifndef UT_BASE_PATH_H
#define UT_BASE_PATH_H

#include <string.h>

/* The part of @path after the last '/': all of it without one, "" when it ends with one. Points into @path. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif

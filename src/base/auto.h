/* SPDX-License-Identifier: MIT */
/* Cleanup attributes for locals that own something, and the calls that move ownership out of them. */
#ifndef UT_BASE_AUTO_H
#define UT_BASE_AUTO_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void auto_free_(void *p) { free(*(void **)p); }
static inline void auto_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
/* Closes a descriptor unless it is below 0. */
static inline void close_fd(int fd) { auto_close_(&fd); }
static inline void auto_fclose_(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void auto_closedir_(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define AUTO(fn) __attribute__((cleanup(fn)))
#define AUTO_FREE AUTO(auto_free_)
#define AUTO_CLOSE AUTO(auto_close_)
#define AUTO_FCLOSE AUTO(auto_fclose_)
#define AUTO_CLOSEDIR AUTO(auto_closedir_)

/* Moves a descriptor or a pointer out of a local with a cleanup attribute. */
static inline int take_fd(int *fd)
{
	int ret = *fd;
	*fd = -1;
	return ret;
}
#define take_ptr(p) \
	({ \
		typeof(p) take_ret_ = (p); \
		(p) = NULL; \
		take_ret_; \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif

/* SPDX-License-Identifier: MIT */
/* Runtimes that are installed here, in the usual folders, or that run: each with the files it is made of. */
#ifndef UT_DOCTOR_INSTALLED_H
#define UT_DOCTOR_INSTALLED_H

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "proc/runtime.h"

struct installed_file {
	char *path;
	int fd;
};

struct installed {
	const struct runtime *runtime;
	char version[32]; /* "": it does not tell */
	pid_t pid; /* it was found in this process; 0: in a folder */
	VEC(struct installed_file) files; /* the runtime's own first, then what it needs */
};

/*
 * Those of @paths alone, if there are any, else what is found. Calls @fn for each of them, each file of a runtime once;
 * what it is given lives during the call. A program that needs a library of the same runtime counts as one with it.
 */
int installed_each(const struct runtimes *runtimes, char *const *paths, size_t npaths,
		   void (*fn)(void *ctx, const struct installed *i), void *ctx, struct ut_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Runtimes that are installed here, in the usual directories, or that run: each with its files. */
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
	char version[32]; /* "": not known */
	pid_t pid; /* of the process with this runtime; 0: found in a directory */
	VEC(struct installed_file) files; /* those of the runtime, then the libraries that it needs */
};

/*
 * The runtimes of @paths alone, if there are any, otherwise all that are found. Calls @fn for each, with each file of a
 * runtime once; @i is valid during the call. A program that needs a library of the same runtime counts as one with it.
 */
int installed_each(const struct runtimes *runtimes, char *const *paths, size_t npaths,
		   void (*fn)(void *ctx, const struct installed *i), void *ctx, struct ut_err *err);

#endif

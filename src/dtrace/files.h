/* SPDX-License-Identifier: MIT */
/* The world around the compiler: sources, the preprocessor, what the C compiler builds for, and the output. */
#ifndef UT_DTRACE_FILES_H
#define UT_DTRACE_FILES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "elf/write.h"

/* Reads a whole file, "-" being standard input. */
int dtrace_read(const char *path, struct buf *ret, struct ut_err *err);

/*
 * Runs the C preprocessor over a file or "-": $CPP, or $CC -E, or cpp, with @n @options. Its complaints go where ours
 * go, to standard error.
 */
int dtrace_preprocess(const char *path, const char *const *options, size_t n, struct buf *ret, struct ut_err *err);

/* The machine that $CC builds for, or this one when $CC is not set. */
int dtrace_target(enum elf_machine *ret, struct ut_err *err);

/*
 * Puts @len bytes into @path all at once: it has its old content or all of the new. "-" is standard output; a link is
 * followed; anything that is not a regular file, such as /dev/null, is written in place.
 */
int dtrace_write(const char *path, const char *bytes, size_t len, struct ut_err *err);

#endif

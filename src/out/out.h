/* SPDX-License-Identifier: MIT */
/* The formats in which a profile can be written, one file of this directory for each. Writers escape names for their format. */
#ifndef UT_OUT_OUT_H
#define UT_OUT_OUT_H

#include "base/err.h"
#include "model/profile.h"

struct out_options {
	const char *title; /* NULL: made from the profile */
	bool per_thread; /* the outermost frame is the thread */
	bool by_process; /* the outermost frame is the process */
	unsigned states; /* one bit for each enum profile_state; 0: all */
	/* Flame graphs: */
	bool icicle; /* root at the top */
	bool reverse; /* starts with the leaves; callers are above */
	const struct profile *base; /* --diff: the profile to compare with; or NULL */
	double min_pixels; /* narrower frames are merged and counted; 0: a tenth */
	unsigned width; /* 0: 1200 */
};

struct out_format {
	const char *name; /* "svg" */
	const char *suffixes; /* ".svg", separated by spaces: file names that select the format */
	const char *summary;
	/* Writes all to @fd. Returns 0 or -errno; @err has a sentence unless write() failed. */
	int (*write)(const struct profile *p, const struct out_options *o, int fd, struct ut_err *err);
};

extern const struct out_format out_svg, out_folded, out_pprof, out_speedscope;
extern const struct out_format *const out_formats[]; /* NULL-terminated */
/* By a name, or by the suffix of a path; NULL: none. */
const struct out_format *out_format_named(const char *name);
const struct out_format *out_format_of(const char *path);

/*
 * Reads a pprof file, gzipped or not, of at most 1 GiB uncompressed. Modules and brackets in names determine the kinds of frames.
 * Of several values in each sample it reads counts, and times on CPU and off CPU. -errno with a sentence, -EINVAL if the file
 * is not a pprof profile.
 */
int out_read_pprof(struct profile *p, int fd, struct ut_err *err);
/* Can these first bytes of a file begin a pprof profile? @len: OUT_PPROF_BEGIN, or the whole file. Never true of text. */
#define OUT_PPROF_BEGIN 32
bool out_is_pprof(const unsigned char *begin, size_t len);
/* Reads an uncompressed message. */
int out_read_pprof_message(struct profile *p, const void *bytes, size_t len, struct ut_err *err);

#endif

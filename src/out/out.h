/* SPDX-License-Identifier: MIT */
/* What a profile can be written as, a file of this folder each. Names are escaped for where they stand. */
#ifndef UT_OUT_OUT_H
#define UT_OUT_OUT_H

#include "base/err.h"
#include "model/profile.h"

struct out_options {
	const char *title; /* NULL: made from the profile */
	bool per_thread; /* the thread is the outermost frame */
	bool by_process; /* the process is */
	unsigned states; /* bit for each enum profile_state; 0: all that are there */
	/* Flame graphs: */
	bool icicle; /* root at the top */
	bool reverse; /* from the leaf: callers above */
	const struct profile *base; /* --diff: what it is compared with; NULL */
	double min_pixels; /* narrower frames are merged and counted; 0: a tenth */
	unsigned width; /* 0: 1200 */
};

struct out_format {
	const char *name; /* "svg" */
	const char *suffixes; /* ".svg", blanks between: how a file's name asks for it */
	const char *summary;
	/* The whole to @fd; -errno with a sentence, without one when writing failed. */
	int (*write)(const struct profile *p, const struct out_options *o, int fd, struct ut_err *err);
};

extern const struct out_format out_svg, out_folded, out_pprof, out_speedscope;
extern const struct out_format *const out_formats[]; /* NULL-terminated */
/* By a name, or by the suffix of a path; NULL: none. */
const struct out_format *out_format_named(const char *name);
const struct out_format *out_format_of(const char *path);

/*
 * Reads what out_pprof or others have written, gzipped or not; at most 1 GiB of it unpacked. Kinds of frames are taken from
 * their modules, and from brackets. Of several values in each sample, those that are known are taken: counts, and times
 * on and off the processor. -errno with a sentence, -EINVAL when it is no such file.
 */
int out_read_pprof(struct profile *p, int fd, struct ut_err *err);
/* Do these first bytes of a file begin one? Of so many as there are up to OUT_PPROF_BEGIN; no text does. */
#define OUT_PPROF_BEGIN 32
bool out_is_pprof(const unsigned char *begin, size_t len);
/* The same of the message without gzip's wrapping. */
int out_read_pprof_message(struct profile *p, const void *bytes, size_t len, struct ut_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* A flame graph on its way from a profile to a picture: which boxes there are, how wide, in which order. */
#ifndef UT_OUT_FLAME_H
#define UT_OUT_FLAME_H

#include "base/buf.h"
#include "base/sum.h"
#include "out/out.h"

/* Widths are in the unit of the picture: nanoseconds, or counts. */
struct flame_box {
	uint64_t total, self;
	uint64_t other; /* the base's total; or how much of the total was waited */
	uint64_t start; /* the sum of what is to the left of it */
	uint32_t parent; /* comes before it; of the root: 0 */
	uint32_t label; /* a frame's number; of the root: UINT32_MAX */
	uint32_t depth; /* of the root: 0 */
};

/* What is drawn: stacks and weights in one form for all wishes. */
struct flame_source {
	const struct profile *p; /* labels are numbers of its frames */
	struct profile *own; /* the same, when it was made for this; else NULL */
	unsigned states;
	bool times; /* the unit is nanoseconds */
	bool waits; /* some of it was waited, and some not */
	bool diff;
	unsigned groups; /* how many of a stack's outermost frames are no functions: thread, process */
	uint64_t total, other; /* of all weights */
};

struct flame {
	struct flame_source source;
	VEC(struct flame_box) boxes; /* each before those that are on it, from left to right */
	uint32_t depth; /* of the deepest box */
	uint64_t narrow; /* frames that are left out since they are too narrow (reverse: only where they begin) */
	uint64_t drawn_from; /* narrower boxes are not drawn, only found */
	uint64_t gone; /* diff: how much of the base is in stacks that are no more */
};

struct flame_weight {
	uint64_t total, other;
};

/* What a weight of the source's profile adds. */
struct flame_weight flame_weigh(const struct flame_source *s, const struct profile_weight *w);

/* -ENOMEM. */
int flame_source_make(struct flame_source *s, const struct profile *p, const struct out_options *o);
int flame_build(struct flame *f, const struct profile *p, const struct out_options *o);
int flame_forward(struct flame *f, uint64_t least);
int flame_reverse(struct flame *f, uint64_t least);
void flame_done(struct flame *f);

/* Foreign bytes as XML text or attribute: what is not safe to see is escaped as names are (buf_add_name). */
void flame_add_xml(struct buf *b, const char *bytes, size_t len);

struct flame_embedded {
	const char *name, *text;
	size_t len;
};
extern const struct flame_embedded flame_embedded[]; /* flame.css, flame.js */
extern const size_t flame_embedded_n;

#endif

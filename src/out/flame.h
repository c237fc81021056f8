/* SPDX-License-Identifier: MIT */
/* The boxes of a flame graph: which there are, how wide, in which order. */
#ifndef UT_OUT_FLAME_H
#define UT_OUT_FLAME_H

#include "base/buf.h"
#include "base/sum.h"
#include "out/out.h"

/* Widths are in the unit of the picture: nanoseconds, or counts. */
struct flame_box {
	uint64_t total, self;
	uint64_t other; /* the total in the base; or the part of the total spent waiting */
	uint64_t start; /* the sum of the boxes to the left */
	uint32_t parent; /* a lower number; of the root: 0 */
	uint32_t label; /* a frame's number; of the root: UINT32_MAX */
	uint32_t depth; /* of the root: 0 */
};

/* Stacks and weights in one form for all options. */
struct flame_source {
	const struct profile *p; /* labels are numbers of its frames */
	struct profile *own; /* the same if it is a merged profile, which this owns; else NULL */
	unsigned states;
	bool times; /* the unit is nanoseconds */
	bool waits; /* on CPU and off CPU are both present */
	bool diff;
	unsigned groups; /* number of outermost frames that are a thread or a process */
	uint64_t total, other; /* of all weights */
};

struct flame {
	struct flame_source source;
	VEC(struct flame_box) boxes; /* parents before children, from left to right */
	uint32_t depth; /* of the deepest box */
	uint64_t narrow; /* frames omitted because they are too narrow (reverse: only the first of each stack) */
	uint64_t drawn_from; /* narrower boxes are not drawn, only searchable */
	uint64_t gone; /* diff: the part of the base in stacks that no longer occur */
};

struct flame_weight {
	uint64_t total, other;
};

/* The values of a weight of the source's profile. */
struct flame_weight flame_weigh(const struct flame_source *s, const struct profile_weight *w);

/* -ENOMEM. */
int flame_source_make(struct flame_source *s, const struct profile *p, const struct out_options *o);
int flame_build(struct flame *f, const struct profile *p, const struct out_options *o);
int flame_forward(struct flame *f, uint64_t least);
int flame_reverse(struct flame *f, uint64_t least);
void flame_done(struct flame *f);

struct flame_embedded {
	const char *name, *text;
	size_t len;
};
extern const struct flame_embedded flame_embedded[]; /* flame.css, flame.js */
extern const size_t flame_embedded_n;

#endif

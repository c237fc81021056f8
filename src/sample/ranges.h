/* SPDX-License-Identifier: MIT */
/* An allocator of ranges of the numbers 0…n-1, which are indexes of the kernel's tables. First fit; neighbors are joined. */
#ifndef UT_SAMPLE_RANGES_H
#define UT_SAMPLE_RANGES_H

#include <stdint.h>

#include "base/vec.h"

struct range {
	uint32_t first, n;
};
struct ranges {
	VEC(struct range) unused;
}; /* ascending, none touches the next */

int ranges_open(struct ranges *r, uint32_t n); /* -ENOMEM */
void ranges_done(struct ranges *r);
/* The first of @n consecutive numbers; UINT32_MAX: no range is large enough. */
uint32_t ranges_alloc(struct ranges *r, uint32_t n);
/* The range is lost when memory runs out. */
void ranges_free(struct ranges *r, uint32_t first, uint32_t n);

#endif

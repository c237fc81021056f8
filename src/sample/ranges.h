/* SPDX-License-Identifier: MIT */
/* Numbers 0…n-1 given out in runs and taken back: places in the kernel's tables. First fit, neighbours join. */
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
/* The first of @n numbers; UINT32_MAX: there is no such run. */
uint32_t ranges_alloc(struct ranges *r, uint32_t n);
/* Out of memory loses the run. */
void ranges_free(struct ranges *r, uint32_t first, uint32_t n);

#endif

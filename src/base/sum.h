/* SPDX-License-Identifier: MIT */
/* Sums and products of counts from foreign files: what does not fit 64 bits is UINT64_MAX. */
#ifndef UT_BASE_SUM_H
#define UT_BASE_SUM_H

#include <stdint.h>

static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
	uint64_t ret;

	return __builtin_add_overflow(a, b, &ret) ? UINT64_MAX : ret;
}

static inline void add_u64(uint64_t *to, uint64_t v) { *to = sum_u64(*to, v); }

static inline uint64_t product_u64(uint64_t a, uint64_t b)
{
	uint64_t ret;

	return __builtin_mul_overflow(a, b, &ret) ? UINT64_MAX : ret;
}

#endif

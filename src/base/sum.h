/* SPDX-License-Identifier: MIT */
/* Arithmetic of counts and times. Sums and products that do not fit 64 bits are UINT64_MAX. */
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

static inline uint64_t least_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t most_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* @v * @part / @whole without overflow, for @part up to @whole; 0 when @whole is 0. */
static inline uint64_t portion_u64(uint64_t v, uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)v * part / whole) : 0;
}

/* For qsort, in ascending order. */
static inline int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#endif

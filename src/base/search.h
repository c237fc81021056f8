/* SPDX-License-Identifier: MIT */
/* Binary search in what is sorted. */
#ifndef UT_BASE_SEARCH_H
#define UT_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first number in [@from, @to) for which @condition does not hold, @to when it holds for all. It must hold for a first part
 * of them and for none behind that. @i is the name that @condition uses for the number:
 *
 *	size_t first_after = search_first_not(i, 0, v.n, v.v[i].start <= addr);
 */
#define search_first_not(i, from, to, condition) \
	({ \
		size_t search_low_ = (from), search_high_ = (to); \
\
		while (search_low_ < search_high_) { \
			size_t i = search_low_ + (search_high_ - search_low_) / 2; \
\
			if (condition) \
				search_low_ = i + 1; \
			else \
				search_high_ = i; \
		} \
		search_low_; \
	})

#endif

/* SPDX-License-Identifier: MIT */
/* The one function behind all growable arrays. */
#include "base/vec.h"

int vec_grow_(void **data, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap, bytes;
	void *p;

	if (want <= n)
		return 0;
	n = n > (size_t)-1 / 2 ? want : n * 2;
	if (n < want)
		n = want;
	if (n < 8)
		n = 8;
	if (__builtin_mul_overflow(n, size, &bytes))
		return -ENOMEM;
	p = realloc(*data, bytes);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = n;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Growable arrays of any type: `VEC(int) v = {0}; vec_push(&v, 3); for (size_t i = 0; i < v.n; i++) v.v[i]…;
 * vec_done(&v);` */
#ifndef UT_BASE_VEC_H
#define UT_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type) \
	struct { \
		type *v; \
		size_t n, cap; \
	}

/* Makes room for @want elements of @size bytes behind *@data. 0 or -ENOMEM; the array is untouched on failure. */
int vec_grow_(void **data, size_t *cap, size_t want, size_t size);

#define vec_reserve(vec, want) vec_grow_((void **)&(vec)->v, &(vec)->cap, (want), sizeof(*(vec)->v))

/* Appends a copy of @item. 0 or -ENOMEM. */
#define vec_push(vec, item) (vec_reserve(vec, (vec)->n + 1) ? -ENOMEM : ((vec)->v[(vec)->n++] = (item), 0))

/* Frees the array itself, not what its elements own. */
#define vec_done(vec) \
	do { \
		free((vec)->v); \
		(vec)->v = NULL; \
		(vec)->n = (vec)->cap = 0; \
	} while (0)

#endif

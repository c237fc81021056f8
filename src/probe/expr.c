/* SPDX-License-Identifier: MIT */
/* Frees expression trees, and computes their depth. */
#include <stdlib.h>

#include "probe/expr.h"

struct expr *expr_free(struct expr *e)
{
	if (!e)
		return NULL;
	expr_free(e->a);
	expr_free(e->b);
	expr_free(e->c);
	free(e->string);
	free(e);
	return NULL;
}

unsigned expr_depth(const struct expr *e)
{
	unsigned a, b, c;

	if (!e)
		return 0;
	a = expr_depth(e->a);
	b = expr_depth(e->b);
	c = expr_depth(e->c);
	a = a > b ? a : b;
	return 1 + (a > c ? a : c);
}

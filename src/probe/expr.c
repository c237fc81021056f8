/* SPDX-License-Identifier: MIT */
/* Life of expression trees. */
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

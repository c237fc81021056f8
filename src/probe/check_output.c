/* SPDX-License-Identifier: MIT */
/* Outputs of a checked probe. */
#include "base/err.h"
#include "probe/check.h"

int output_add(struct checker *c, enum output_kind kind, const struct expr *e, const struct expr *len)
{
	struct output *out;

	if (c->checked->noutputs >= OUTPUTS_MAX)
		return check_error(c, e, "a probe prints at most %d values", OUTPUTS_MAX);
	out = &c->checked->outputs[c->checked->noutputs++];
	*out = (struct output){ .kind = kind, .expr = e, .len = len };
	if (e)
		out->type = e->type;
	return 0;
}

static bool is_in_head(const struct expr *e)
{
	return e->op == EXPR_VAR && (e->var == VAR_PID || e->var == VAR_TID || e->var == VAR_CPU ||
				     e->var == VAR_TIME || e->var == VAR_COMM);
}

int output_add_plain(struct checker *c, const struct expr *e)
{
	enum output_kind kind = OUTPUT_VALUE;

	if (e->type.kind == TYPE_LITERAL)
		return check_error(c, e,
				   "a string constant cannot be printed; the format must precede the expressions");
	if (is_in_head(e))
		kind = OUTPUT_HEAD;
	else if (e->type.kind == TYPE_CHARS)
		kind = OUTPUT_CHARS;
	else if (e->type.is_pointer)
		kind = OUTPUT_STRING;
	return output_add(c, kind, e, NULL);
}

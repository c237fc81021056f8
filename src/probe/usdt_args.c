/* SPDX-License-Identifier: MIT */
/* Merges the types of a USDT probe's arguments over all its sites. */
#include "probe/usdt_args.h"

#include <stdio.h>

#include "probe/check.h"

static void merge_type(struct usdt_args *args, unsigned i, const struct operand *op)
{
	struct type t = {
		.kind = op->is_float ? TYPE_FLOAT : TYPE_INT,
		.size = op->size ? op->size : 8,
		.is_signed = op->is_signed,
	};
	struct probe_field *f = &args->v[i];
	bool first = i >= args->n;

	if (op->kind != OPERAND_UNREADABLE) {
		f->unreadable = NULL;
	} else if (first) {
		snprintf(args->reasons[i], sizeof(args->reasons[i]), "%s (%s)", op->reason, op->text);
		f->unreadable = args->reasons[i];
	}
	if (first) {
		f->type = t;
		return;
	}
	if (t.kind != f->type.kind || t.kind == TYPE_FLOAT)
		return; /* keeps the type of the first site; the others are unreadable */
	if (t.size > f->type.size)
		f->type.size = t.size;
	f->type.is_signed |= t.is_signed;
}

void usdt_args_add(struct usdt_args *args, const struct operands *site)
{
	for (unsigned i = 0; i < site->n; i++)
		merge_type(args, i, &site->v[i]);
	if (site->n > args->n)
		args->n = site->n;
	args->nsites++;
}

const char *usdt_arg_type(const struct usdt_args *args, unsigned arg, char *ret)
{
	return type_name(&args->v[arg].type, ret);
}

/* SPDX-License-Identifier: MIT */
/* Fuzz target: the argument string of a USDT note. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/operand.h"
#include "fuzz.h"

/* What the readers of an operand rely on. */
static void check(const struct operand *op)
{
	bool sized = op->size == 1 || op->size == 2 || op->size == 4 || op->size == 8;

	if (op->kind == OPERAND_UNREADABLE) {
		if (!op->reason[0] || op->has_symbol)
			abort();
		return;
	}
	if (!sized || (op->is_float && op->size < 4) || (op->base != X86_NONE && op->base >= X86_RIP))
		abort();
	if ((op->index != X86_NONE && op->index >= X86_RIP) || op->has_symbol != (op->symbol[0] != '\0'))
		abort();
	if (op->kind == OPERAND_REG && op->base == X86_NONE)
		abort();
	if (!operand_type_name(op)[0])
		abort();
}

FUZZ_TARGET(operand)
{
	char *text = malloc(size + 1);
	struct operands ops;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	operands_parse(text, &ops);
	if (ops.n > OPERANDS_MAX)
		abort();
	for (unsigned i = 0; i < ops.n; i++)
		check(&ops.v[i]);
	operand_parse((const char *)data, size, &ops.v[0]);
	check(&ops.v[0]);
	free(text);
	return 0;
}

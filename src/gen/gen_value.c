/* SPDX-License-Identifier: MIT */
/* What generators of values share: a refusal, a register truncated to the size of its type, and its truth. */
#include <stdarg.h>
#include <stdio.h>

#include "gen/gen_priv.h"

int gen_refuse(struct gen *g, const struct expr *e, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	if (g->error)
		return g->error;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	g->error = probe_error_at(g->checked->spec->text, e->pos, e->len, g->err, "%s", what);
	return g->error;
}

void gen_extend(struct gen *g, unsigned size, bool is_signed)
{
	int shift = 64 - 8 * (int)size;

	if (size >= 8)
		return;
	if (size == 4 && !is_signed) {
		asm_mov32(g->a, R0, R0);
		return;
	}
	asm_alui(g->a, BPF_LSH, R0, shift);
	asm_alui(g->a, is_signed ? BPF_ARSH : BPF_RSH, R0, shift);
}

/*
 * Truth without branches: the verifier tracks the two results of a branch, 0 and 1, separately from then on, and
 * walks the rest of the program once for each combination. R0 = 1 when R0 is not 0. Clobbers R2.
 */
void gen_truth(struct gen *g)
{
	asm_mov(g->a, R2, R0);
	asm_alui(g->a, BPF_NEG, R2, 0);
	asm_alu(g->a, BPF_OR, R0, R2);
	asm_alui(g->a, BPF_RSH, R0, 63);
}

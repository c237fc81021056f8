/* SPDX-License-Identifier: MIT */
/* What generators of values share: a refusal, and a register cut to the size of its type. */
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

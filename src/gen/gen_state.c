/* SPDX-License-Identifier: MIT */
/* The begin or end of a span: two calls of functions that are written in C (src/bpf/span.h). */
#include "gen/gen_priv.h"
#include "wire/state.h"

/* A stack slot that is free by then: the address of the process's state, or 0. */
#define SP_PROCESS SP_KEY2

/* The caller may use 384 bytes of stack: the functions need the rest. Temporaries therefore reuse unused lengths. */
void gen_state_stack(struct gen *g)
{
	unsigned lengths = 0;

	g->temps = SP_TEMPS;
	g->ntemps = SP_TEMPS_MAX;
	g->literal = SP_LITERAL;
	if (g->checked->spec->state == STATE_NONE)
		return;
	for (unsigned i = 0; i < g->checked->noutputs; i++)
		if (g->checked->outputs[i].kind == OUTPUT_BYTES)
			lengths = g->checked->noutputs;
	g->temps = SP_LENGTHS + 8 * (int)lengths;
	g->ntemps = SP_TEMPS_MAX - lengths;
	g->literal = SP_LENGTHS - (SP_TEMPS - SP_LITERAL);
}

void gen_state(struct gen *g)
{
	const struct probe_spec *spec = g->checked->spec;
	enum ut_span_step step = spec->state == STATE_STOP ? UT_SPAN_STOP
				 : spec->state == STATE_GO ? UT_SPAN_GO
							   : UT_SPAN_SEE;

	if (spec->state == STATE_NONE)
		return;
	asm_movi(g->a, R1, (int32_t)step);
	if (spec->kind == PROBE_ENTRY && !spec->has_offset)
		asm_load(g->a, 8, R2, R6, gen_pt_regs(X86_RSP));
	else
		asm_movi(g->a, R2, 0);
	asm_call_function(g->a, GEN_FUNCTION_SPAN_STEP);
	asm_store(g->a, 8, FP, SP_PROCESS, R0);
}

void gen_state_copy(struct gen *g, const struct layout *layout)
{
	if (!layout->state)
		return;
	asm_mov(g->a, R1, R7);
	asm_alui(g->a, BPF_ADD, R1, (int32_t)layout->state);
	asm_load(g->a, 8, R2, FP, SP_PROCESS);
	asm_call_function(g->a, GEN_FUNCTION_SPAN_COPY);
}

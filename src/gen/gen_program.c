/* SPDX-License-Identifier: MIT */
/* Bodies and programs: the frame around expressions (gen_expr.c) and records (gen_record.c). */
#include "gen/gen.h"

#include <errno.h>
#include <string.h>

#include "gen/gen_priv.h"

/* Some variable of an expression that cannot be read at a site. */
struct unreadable {
	const char *text, *reason; /* text: as the note or the kernel has it */
};

static bool unreadable_var(const struct expr *e, const struct gen_site *site, struct unreadable *ret)
{
	if (e->var == VAR_ARG && site->operands && e->index < site->operands->n) {
		const struct operand *op = &site->operands->v[e->index];

		*ret = (struct unreadable){ op->text, op->reason };
		return op->kind == OPERAND_UNREADABLE;
	}
	if (e->var == VAR_RETVAL && site->tail_jump) {
		*ret = (struct unreadable){ "retval", "is not known where a function ends by a jump to another" };
		return true;
	}
	if (e->var == VAR_FIELD && site->tracepoint && e->index < site->tracepoint->fields.n) {
		const struct tracepoint_field *f = &site->tracepoint->fields.v[e->index];

		*ret = (struct unreadable){ f->name, f->unreadable };
		return f->unreadable != NULL;
	}
	return false;
}

static bool unreadable_in(const struct expr *e, const struct gen_site *site, struct unreadable *ret)
{
	if (!e)
		return false;
	if (e->op == EXPR_VAR && unreadable_var(e, site, ret))
		return true;
	return unreadable_in(e->a, site, ret) || unreadable_in(e->b, site, ret) || unreadable_in(e->c, site, ret);
}

bool gen_output_unreadable(const struct probe_checked *checked, unsigned i, const struct gen_site *site,
			   const char **ret)
{
	struct unreadable u;

	if (!unreadable_in(checked->outputs[i].expr, site, &u) && !unreadable_in(checked->outputs[i].len, site, &u))
		return false;
	*ret = u.reason;
	return true;
}

static void gen_predicate(struct gen *g, unsigned out)
{
	const struct expr *e = g->checked->spec->predicate;
	struct unreadable u;

	if (!e)
		return;
	if (unreadable_in(e, g->site, &u) && g->site->tail_jump) { /* false; the verifier removes the rest */
		asm_movi(g->a, R0, 0);
		asm_jcci(g->a, BPF_JEQ, R0, 0, out);
		return;
	}
	if (unreadable_in(e, g->site, &u)) {
		gen_refuse(g, e, "the predicate needs an argument that cannot be read at one of the sites: %s %s",
			   u.text, u.reason);
		return;
	}
	g->on_fault = out;
	gen_expr(g, e, 0);
	asm_jcci(g->a, BPF_JEQ, R0, 0, out);
}

/* The value of one output on the stack; when it cannot be read its fault bit is set and the address stands in for it.
 */
static void gen_output(struct gen *g, const struct expr *e, int to, uint32_t fault)
{
	unsigned end = asm_label(g->a), failed = asm_label(g->a);
	struct unreadable u;

	if (unreadable_in(e, g->site, &u)) {
		asm_storei(g->a, 8, FP, to, 0);
		return;
	}
	g->on_fault = failed;
	gen_expr(g, e, 0);
	if (asm_used(g->a, failed)) {
		asm_jump(g->a, end);
		asm_place(g->a, failed);
		asm_load(g->a, 8, R1, FP, SP_FAULTS);
		asm_alui(g->a, BPF_OR, R1, (int32_t)fault);
		asm_store(g->a, 8, FP, SP_FAULTS, R1);
		asm_load(g->a, 8, R0, FP, SP_FAULT_ADDR);
		asm_place(g->a, end);
	}
	asm_store(g->a, 8, FP, to, R0);
}

/* A zero that the verifier does not know (see gen_truth): what a register has not in common with itself. */
static void clear_faults(struct gen *g)
{
	if (g->checked->spec->kind == PROBE_TRACEPOINT) { /* its record may be too short to read there */
		asm_storei(g->a, 8, FP, SP_FAULTS, 0);
		return;
	}
	asm_load(g->a, 8, R1, R6, gen_pt_regs(X86_RIP));
	asm_load(g->a, 8, R2, R6, gen_pt_regs(X86_RIP));
	asm_alu(g->a, BPF_XOR, R1, R2);
	asm_store(g->a, 8, FP, SP_FAULTS, R1);
}

static void gen_outputs(struct gen *g)
{
	struct layout layout;

	layout_of(g->checked, 0, &layout);
	clear_faults(g);
	asm_storei(g->a, 8, FP, SP_FAULT_ADDR, 0);
	for (unsigned i = 0; i < g->checked->noutputs; i++) {
		const struct output *o = &g->checked->outputs[i];

		if (!output_has_value(o->kind))
			continue;
		gen_output(g, o->expr, SP_VALUES + 8 * (int)i, layout.slot[i].fault);
		if (o->kind == OUTPUT_BYTES)
			gen_output(g, o->len, SP_LENGTHS + 8 * (int)i, layout.slot[i].fault);
	}
}

static int finish(struct asm_buf *a, struct ut_err *err)
{
	int r = asm_finish(a);

	if (r == -E2BIG)
		return ut_err_set(err, r,
				  "the generated program is too large; print fewer strings or simplify the predicate");
	if (r == -ENOMEM)
		return ut_err_nomem(err);
	return r ? ut_err_set(err, r, "the generator left a jump without a target") : 0;
}

static void gen_exit(struct asm_buf *a)
{
	asm_movi(a, R0, 0);
	asm_exit(a);
}

/* Tail call to the sampling program, which does not return; falls through when that program is not loaded. */
static void gen_sample(struct gen *g)
{
	bool is_tracepoint = g->checked->spec->kind == PROBE_TRACEPOINT;

	asm_mov(g->a, R1, R6);
	asm_map(g->a, R2, is_tracepoint ? GEN_MAP_WALK_TRACEPOINT : GEN_MAP_WALK_UPROBE);
	asm_movi(g->a, R3, 0);
	asm_call(g->a, BPF_FUNC_tail_call);
}

static int gen_sample_body(struct gen *g, struct gen_snippet *ret)
{
	unsigned out = asm_label(g->a);
	int r;

	gen_call_end(g, out);
	gen_predicate(g, out);
	gen_sample(g);
	asm_place(g->a, out);
	gen_exit(g->a);
	r = g->error ? g->error : finish(g->a, g->err);
	if (r)
		gen_snippet_done(ret);
	return r;
}

int gen_snippet(const struct probe_checked *checked, const struct gen_site *site, const struct gen_options *options,
		struct gen_snippet *ret, struct ut_err *err)
{
	struct gen g = { .a = &ret->code, .checked = checked, .site = site, .options = options, .err = err };
	struct layout layout;
	unsigned out;
	int r;

	memset(ret, 0, sizeof(*ret));
	gen_state_stack(&g);
	if (options->sample)
		return gen_sample_body(&g, ret);
	out = asm_label(g.a);
	gen_call_end(&g, out);
	gen_predicate(&g, out);
	gen_outputs(&g);
	gen_state(&g);
	gen_record(&g);
	asm_place(g.a, out);
	gen_exit(g.a);
	r = g.error ? g.error : finish(g.a, err);
	if (r) {
		gen_snippet_done(ret);
		return r;
	}
	layout_of(checked, options->text_limit + 2, &layout);
	ret->record_size = layout.size;
	ret->sleeps = g.sleeps;
	return 0;
}

int gen_entry_snippet(const struct gen_site *site, const struct gen_options *options, struct gen_snippet *ret,
		      struct ut_err *err)
{
	struct gen g = { .a = &ret->code, .site = site, .options = options, .err = err };
	unsigned out;
	int r;

	memset(ret, 0, sizeof(*ret));
	out = asm_label(g.a);
	gen_call_begin(&g, out);
	asm_place(g.a, out);
	gen_exit(g.a);
	r = finish(g.a, err);
	if (r)
		gen_snippet_done(ret);
	ret->sleeps = g.sleeps;
	return r;
}

void gen_snippet_done(struct gen_snippet *snippet) { asm_done(&snippet->code); }

bool gen_snippet_equal(const struct gen_snippet *a, const struct gen_snippet *b)
{
	return a->code.insns.n == b->code.insns.n &&
	       !memcmp(a->code.insns.v, b->code.insns.v, a->code.insns.n * sizeof(*a->code.insns.v));
}

static void gen_filter(struct asm_buf *a, const struct gen_options *options)
{
	unsigned wanted = asm_label(a);

	if (options->filter == GEN_FILTER_NONE)
		return;
	asm_call(a, BPF_FUNC_get_current_pid_tgid);
	asm_alui(a, BPF_RSH, R0, 32);
	if (options->filter == GEN_FILTER_NOT_SELF) {
		asm_jcci(a, BPF_JNE, R0, options->self_tgid, wanted);
	} else {
		asm_store(a, 4, FP, SP_KEY, R0);
		asm_map(a, R1, GEN_MAP_FOLLOW);
		asm_mov(a, R2, FP);
		asm_alui(a, BPF_ADD, R2, SP_KEY);
		asm_call(a, BPF_FUNC_map_lookup_elem);
		asm_jcci(a, BPF_JNE, R0, 0, wanted);
	}
	gen_exit(a);
	asm_place(a, wanted);
}

/* Binary search for R0 among numbers[lo…hi). */
static void gen_search(struct asm_buf *a, const uint32_t *numbers, const unsigned *labels, size_t lo, size_t hi)
{
	size_t mid = lo + (hi - lo) / 2;
	unsigned upper;

	if (hi - lo == 1) {
		asm_jump(a, labels[lo]);
		return;
	}
	upper = asm_label(a);
	asm_jcci(a, BPF_JGE, R0, (int32_t)numbers[mid], upper);
	gen_search(a, numbers, labels, lo, mid);
	asm_place(a, upper);
	gen_search(a, numbers, labels, mid, hi);
}

/* Appends a finished snippet: its jumps are relative and stay right. */
static void append_snippet(struct asm_buf *a, const struct gen_snippet *snippet)
{
	for (size_t i = 0; i < snippet->code.insns.n; i++)
		if (vec_push(&a->insns, snippet->code.insns.v[i]))
			a->error = -ENOMEM;
}

/*
 * Since Linux 6.13 a program that uses more than a little of its stack has one stack for each CPU, which is shared with
 * whoever runs the program there meanwhile: handlers of uprobes can be preempted, and may sleep for a page. One process
 * would be shown with the arguments of another. A program with a tail call keeps the stack of its task. This one cannot
 * be reached, and the verifier takes it out.
 */
static void gen_own_stack(struct asm_buf *a)
{
	unsigned on = asm_label(a);

	asm_movi(a, R0, 0);
	asm_jcci(a, BPF_JEQ, R0, 0, on);
	asm_call(a, BPF_FUNC_tail_call);
	asm_place(a, on);
}

int gen_program(const struct gen_snippet *const *snippets, const uint32_t *numbers, size_t n,
		const struct gen_options *options, struct asm_buf *ret, struct ut_err *err)
{
	VEC(unsigned) labels = { 0 };
	unsigned out = asm_label(ret);
	bool sends = false;
	int r;

	for (size_t i = 0; i < n; i++)
		sends |= snippets[i]->record_size > 0;
	asm_mov(ret, R6, R1);
	gen_own_stack(ret);
	gen_filter(ret, options);
	if (sends) /* once here and not in each snippet: the kernel copies the whole program for every call that it puts in
		      line */
		gen_ring(ret, options->ncpus, out);
	if (n > 1) {
		for (size_t i = 0; i < n; i++)
			if (vec_push(&labels, asm_label(ret)))
				ret->error = -ENOMEM;
		asm_mov(ret, R1, R6);
		asm_call(ret, BPF_FUNC_get_attach_cookie);
		asm_alui(ret, BPF_RSH, R0, 32);
		if (!ret->error)
			gen_search(ret, numbers, labels.v, 0, n);
	}
	for (size_t i = 0; i < n; i++) {
		if (n > 1 && !ret->error)
			asm_place(ret, labels.v[i]);
		append_snippet(ret, snippets[i]);
	}
	if (sends) {
		asm_place(ret, out);
		gen_exit(ret);
	}
	vec_done(&labels);
	r = finish(ret, err);
	return r;
}

int gen_link(struct asm_buf *program, const struct gen_functions *functions)
{
	size_t n = program->insns.n;
	bool calls = false;

	for (size_t i = 0; i < n; i++) {
		struct bpf_insn *insn = &program->insns.v[i];

		if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != BPF_PSEUDO_CALL)
			continue;
		if (!functions || insn->imm < 0 || insn->imm >= GEN_FUNCTIONS)
			return -EINVAL;
		insn->imm = (int32_t)(n + functions->at[insn->imm] - i - 1);
		calls = true;
	}
	for (size_t i = 0; calls && i < functions->n; i++)
		if (vec_push(&program->insns, functions->insns[i]))
			return -ENOMEM;
	return 0;
}

int gen_relocate(struct asm_buf *program, const int *fds)
{
	for (size_t i = 0; i < program->insns.n; i++) {
		struct bpf_insn *insn = &program->insns.v[i];

		if (insn->code != (BPF_LD | BPF_DW | BPF_IMM))
			continue;
		if (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE) {
			if (insn->imm < 0 || insn->imm >= GEN_MAPS || fds[insn->imm] < 0)
				return -EINVAL;
			insn->imm = fds[insn->imm];
		}
		i++; /* the second half of the wide instruction */
	}
	return 0;
}

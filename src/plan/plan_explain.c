/* SPDX-License-Identifier: MIT */
/* --explain: the plan as text: sites, what is read and copied, and the instructions. */
#include <string.h>

#include "base/text.h"
#include "probe/layout.h"
#include "plan/plan.h"
#include "wire/record.h"

static const char *output_word(enum output_kind kind)
{
	switch (kind) {
	case OUTPUT_VALUE: return "value";
	case OUTPUT_STRING: return "string, NUL-terminated";
	case OUTPUT_BYTES: return "string, of a given length";
	case OUTPUT_CHARS: return "string of the event";
	case OUTPUT_HEAD: return "from the record header";
	case OUTPUT_USTACK: return "user stack";
	case OUTPUT_KSTACK: return "kernel stack";
	}
	return "?";
}

static const char *site_word(enum site_kind kind)
{
	switch (kind) {
	case SITE_ENTRY: return "call (records the time)";
	case SITE_RETURN: return "return (the kernel's trampoline)";
	case SITE_RET: return "return (RET instruction)";
	case SITE_TAIL: return "end by a jump to another function";
	case SITE_TRACEPOINT: return "tracepoint";
	case SITE_USER: return "user events of <usertrace.h>";
	case SITE_PRCTL: return "user events of prctl(PR_USER_TRACE, …)";
	case SITE_SIGNAL: return "signal handler";
	default: return "site";
	}
}

static void explain_expr(const struct probe_checked *c, const struct expr *e, struct buf *out)
{
	if (e->len)
		buf_add_escaped(out, c->spec->text + e->pos, e->len);
	else if (e->op == EXPR_VAR && e->var == VAR_ARG)
		buf_addf(out, "arg%u", e->index + 1);
	else if (e->string)
		buf_adds(out, e->string);
	else
		buf_adds(out, "(implied)");
}

/* The kernel sends each user event as a whole; requests are evaluated in the tracer. */
static void explain_user(const struct probe_checked *c, struct buf *out)
{
	if (c->spec->predicate) {
		buf_adds(out, "  only when   ");
		explain_expr(c, c->spec->predicate, out);
		buf_adds(out, "   (evaluated by the tracer, after begins and ends were paired)\n");
	}
	buf_addf(out, "  record      %zu bytes", sizeof(struct ut_rec_user));
	if (c->spec->kind == PROBE_USER)
		buf_addf(out, ", %zu with a long name or a string", sizeof(struct ut_rec_user_long));
	buf_addc(out, '\n');
}

static void explain_outputs(const struct plan *plan, const struct probe_checked *c, struct buf *out)
{
	uint32_t limit = plan->options.gen.text_limit;
	struct layout layout;

	layout_of(c, limit + 2, &layout);
	if (c->spec->predicate) {
		buf_adds(out, "  only when   ");
		explain_expr(c, c->spec->predicate, out);
		buf_adds(out, "   (evaluated in the kernel)\n");
	}
	for (unsigned i = 0; i < c->noutputs; i++) {
		const struct output *o = &c->outputs[i];

		buf_adds(out, "  copies      ");
		if (o->expr)
			explain_expr(c, o->expr, out);
		buf_addf(out, "%s%s", o->expr ? ": " : "", output_word(o->kind));
		if (o->kind == OUTPUT_STRING || o->kind == OUTPUT_BYTES)
			buf_addf(out, ", at most %u bytes", limit);
		buf_addc(out, '\n');
	}
	buf_addf(out, "  record      %u bytes%s\n", layout.size, layout.ntexts ? " at most" : "");
}

static void explain_site(const struct plan *plan, const struct plan_site *s, struct buf *out)
{
	buf_addf(out, "  %s", site_word(s->kind));
	if (!site_is_tracepoint(s))
		buf_addf(out, " 0x%llx in %s, file offset 0x%llx", (unsigned long long)s->vaddr,
			 plan->files.v[s->file].path, (unsigned long long)s->offset);
	if (s->sem_offset)
		buf_addf(out, ", semaphore at file offset 0x%llx", (unsigned long long)s->sem_offset);
	if (s->nop5 != NOP5_NONE)
		buf_addf(out, ", a 5-byte nop%s: rejected on kernels where probing it is unsafe",
			 s->nop5 == NOP5_INSIDE ? " inside a function" : "");
	if (s->nop5_before)
		buf_adds(out, ", or 5 bytes before it on kernels where that is safe");
	if (s->snippet == SITE_NO_SNIPPET)
		buf_addc(out, '\n');
	else
		buf_addf(out, ", instructions #%u\n", s->snippet);
	for (unsigned i = 0; s->operands && i < s->operands->n; i++) {
		const struct operand *op = &s->operands->v[i];

		buf_addf(out, "    arg%u %s %s", i + 1, op->text, operand_type_name(op));
		if (op->kind == OPERAND_UNREADABLE)
			buf_addf(out, ": cannot be read: %s", op->reason);
		buf_addc(out, '\n');
	}
}

static void explain_probe(const struct plan *plan, unsigned probe, struct buf *out)
{
	const struct plan_probe *p = &plan->probes.v[probe];

	buf_addf(out, "%s:%s, %u %s\n", p->provider, p->func, p->nsites, plural(p->nsites, "site"));
	if (p->checked->spec->kind == PROBE_USER || p->checked->spec->kind == PROBE_SIGNAL)
		explain_user(p->checked, out);
	else
		explain_outputs(plan, p->checked, out);
	if (p->how)
		buf_addf(out, "  returns     %s\n", p->how);
	for (size_t i = 0; i < plan->sites.n; i++)
		if (plan->sites.v[i].probe == probe)
			explain_site(plan, &plan->sites.v[i], out);
	buf_addc(out, '\n');
}

/* The instructions before the snippets of every program: the filter on processes, and the ring. */
static void explain_prologue(const struct plan *plan, struct buf *out)
{
	const struct gen_snippet *snippet = plan->snippets.n ? &plan->snippets.v[0] : NULL;
	struct asm_buf program = { 0 };
	struct ut_err ignored;
	uint32_t number = 0;

	if (!snippet || gen_program(&snippet, &number, 1, &plan->options.gen, &program, &ignored) ||
	    program.insns.n < snippet->code.insns.n)
		return;
	buf_adds(out, "every program begins with (r1 is the context):\n");
	disasm(program.insns.v, program.insns.n - snippet->code.insns.n - (snippet->record_size ? 2 : 0), out);
	buf_addc(out, '\n');
	asm_done(&program);
}

void plan_explain(const struct plan *plan, struct buf *out)
{
	for (unsigned i = 0; i < plan->probes.n; i++)
		explain_probe(plan, i, out);
	explain_prologue(plan, out);
	for (size_t i = 0; i < plan->snippets.n; i++) {
		const struct gen_snippet *snippet = &plan->snippets.v[i];

		buf_addf(out,
			 "instructions #%zu (r6 is the context, r8 the CPU's count of lost events, r9 its ring%s):\n",
			 i, snippet->sleeps ? "; it may sleep to read what is not in memory" : "");
		disasm(snippet->code.insns.v, snippet->code.insns.n, out);
		buf_addc(out, '\n');
	}
	for (size_t i = 0; i < plan->notes.n; i++)
		buf_addf(out, "note: %s\n", plan->notes.v[i]);
}

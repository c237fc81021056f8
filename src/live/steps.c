/* SPDX-License-Identifier: MIT */
/* Compiles a probe's format into steps, and runs the steps over an event to print its message. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/print_priv.h"

/* %d prints the value as signed if its type is; %u, %x and %o print its bits. */
static void set_conversion(struct int_spec *s, char conv, const struct type *type)
{
	s->size = type->size ? type->size : 8;
	s->base = 10;
	switch (conv) {
	case 'd': s->is_signed = type->is_signed; return;
	case 'o': s->base = 8; break;
	case 'X':
		s->upper = true;
		s->base = 16;
		break;
	case 'x': s->base = 16; break;
	case 'p':
		s->base = 16;
		s->alt = s->is_pointer = true;
		return;
	}
	s->plus = s->space = false;
}

static struct step compile_piece(const struct live_probe *p, const struct format_piece *piece)
{
	struct step s = { .kind = STEP_INT, .literal = piece->literal, .literal_len = piece->literal_len };
	char width[12] = "", precision[13] = "";

	if (piece->literal) {
		s.kind = STEP_LITERAL;
		return s;
	}
	if (strchr("fFeEgG", piece->conv))
		s.kind = STEP_FLOAT;
	else if (piece->conv == 's' || piece->conv == 'c')
		s.kind = piece->conv == 's' ? STEP_TEXT : STEP_CHAR;
	else if (piece->conv == 'U' || piece->conv == 'K')
		s.kind = STEP_STACK;
	s.output = piece->output;
	s.number.width = piece->width;
	s.number.precision = piece->precision;
	s.number.left = strchr(piece->flags, '-');
	s.number.plus = strchr(piece->flags, '+');
	s.number.space = strchr(piece->flags, ' ');
	s.number.alt = strchr(piece->flags, '#');
	s.number.zero = strchr(piece->flags, '0');
	if (s.kind == STEP_INT)
		set_conversion(&s.number, piece->conv, &p->checked->outputs[piece->output].type);
	s.number.plain = s.kind == STEP_INT && s.number.base == 10 && piece->width < 0 && piece->precision < 0 &&
			 !s.number.plus && !s.number.space;
	if (piece->width >= 0)
		snprintf(width, sizeof(width), "%d", piece->width);
	if (piece->precision >= 0)
		snprintf(precision, sizeof(precision), ".%d", piece->precision);
	snprintf(s.spec, sizeof(s.spec), "%%%s%s%s%c", piece->flags, width, precision, piece->conv);
	return s;
}

static int add_literal(struct live_probe *p, const char *text)
{
	struct step s = { .kind = STEP_LITERAL, .literal = text, .literal_len = strlen(text) };

	return vec_push(&p->steps, s);
}

/* Without a format, the type of the output selects the step. */
static struct step plain_step(const struct live_probe *p, unsigned output)
{
	const struct output *out = &p->checked->outputs[output];
	struct step s = { .kind = STEP_INT, .output = output, .number = { .width = -1, .precision = -1 } };

	if (output_is_stack(out->kind)) {
		s.kind = STEP_STACK;
	} else if (out->kind == OUTPUT_STRING || out->type.kind == TYPE_CHARS) {
		s.kind = STEP_TEXT;
		s.quoted = true;
	} else if (out->type.kind == TYPE_FLOAT) {
		s.kind = STEP_FLOAT;
		strcpy(s.spec, "%g");
	} else if (out->type.size == 8 && !out->type.is_signed && p->checked->spec->kind != PROBE_USER) {
		set_conversion(&s.number, 'x', &out->type);
		s.number.is_hex = true;
	} else {
		set_conversion(&s.number, 'd', &out->type);
		s.number.plain = true;
	}
	return s;
}

/* Fields of tracepoints are printed with their names, arguments without. */
static int compile_plain(struct live_probe *p)
{
	int r = 0;

	for (unsigned i = 0; !r && i < p->checked->noutputs; i++) {
		const struct expr *e = p->checked->outputs[i].expr;

		if (i)
			r = add_literal(p, " ");
		if (!r && e && e->op == EXPR_VAR && e->var == VAR_FIELD) {
			r = add_literal(p, e->string);
			if (!r)
				r = add_literal(p, "=");
		}
		if (!r)
			r = vec_push(&p->steps, plain_step(p, i));
	}
	return r;
}

int steps_compile(struct live_probe *p)
{
	int r = 0;

	if (!p->checked->spec->format)
		return compile_plain(p);
	for (size_t i = 0; !r && i < p->checked->format.n; i++) {
		struct step s = compile_piece(p, &p->checked->format.v[i]);

		r = vec_push(&p->steps, s);
	}
	return r;
}

static void run_step(const struct step *s, const struct live_event *e, struct buf *out)
{
	bool unreadable = event_unreadable(e, s->output);
	size_t from = out->len;
	uint64_t v;

	if (s->kind == STEP_TEXT && !unreadable) {
		struct ut_text t;

		event_text(e, s->output, &t);
		text_print(&s->number, s->quoted, &t, out);
		return;
	}
	v = unreadable ? 0 : event_value(e, s->output);
	if (unreadable) {
		buf_adds(out, "<unreadable>");
	} else if (event_faulted(e, s->output)) {
		buf_addf(out, "<fault 0x%llx>", (unsigned long long)v);
	} else if (s->kind == STEP_CHAR) {
		buf_add_escaped(out, &(char){ (char)v }, 1);
	} else if (s->kind == STEP_FLOAT) {
		buf_addf(out, s->spec, double_of(v, e->probe->checked->outputs[s->output].type.size));
		return;
	} else {
		number_print(&s->number, v, out);
		return;
	}
	pad_since(&s->number, from, out);
}

void steps_run(const struct live_event *e, struct buf *out)
{
	const struct live_probe *p = e->probe;

	for (size_t i = 0; i < p->steps.n; i++) {
		const struct step *s = &p->steps.v[i];

		if (s->kind == STEP_LITERAL)
			buf_add(out, s->literal, s->literal_len);
		else if (s->kind != STEP_STACK)
			run_step(s, e, out);
	}
}

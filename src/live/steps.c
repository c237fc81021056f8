/* SPDX-License-Identifier: MIT */
/* A probe's format compiled into steps, and the steps run over an event: what stands in the last column. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/print_priv.h"

static void set_flags(struct int_spec *s, const char *flags)
{
	s->left = strchr(flags, '-');
	s->plus = strchr(flags, '+');
	s->space = strchr(flags, ' ');
	s->alt = strchr(flags, '#');
	s->zero = strchr(flags, '0');
}

/* %d prints by the type's own sign; %u, %x, %o print the bits of the type. */
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

static enum step_kind kind_of(char conv)
{
	if (strchr("fFeEgG", conv))
		return STEP_FLOAT;
	switch (conv) {
	case 's': return STEP_TEXT;
	case 'c': return STEP_CHAR;
	case 'U':
	case 'K': return STEP_STACK;
	default: return STEP_INT;
	}
}

static void compile_spec(struct step *s, const struct format_piece *piece)
{
	char width[12] = "", precision[13] = "";

	if (piece->width >= 0)
		snprintf(width, sizeof(width), "%d", piece->width);
	if (piece->precision >= 0)
		snprintf(precision, sizeof(precision), ".%d", piece->precision);
	snprintf(s->spec, sizeof(s->spec), "%%%s%s%s%c", piece->flags, width, precision, piece->conv);
}

static struct step compile_piece(const struct live_probe *p, const struct format_piece *piece)
{
	struct step s = { .kind = STEP_LITERAL, .literal = piece->literal, .literal_len = piece->literal_len };

	if (piece->literal)
		return s;
	s.kind = kind_of(piece->conv);
	s.output = piece->output;
	s.number.width = piece->width;
	s.number.precision = piece->precision;
	set_flags(&s.number, piece->flags);
	if (s.kind == STEP_INT)
		set_conversion(&s.number, piece->conv, &p->checked->outputs[piece->output].type);
	s.number.plain = s.kind == STEP_INT && s.number.base == 10 && piece->width < 0 && piece->precision < 0 &&
			 !s.number.plus && !s.number.space;
	if (s.kind == STEP_FLOAT)
		compile_spec(&s, piece);
	return s;
}

static int add_literal(struct live_probe *p, const char *text)
{
	struct step s = { .kind = STEP_LITERAL, .literal = text, .literal_len = strlen(text) };

	return vec_push(&p->steps, s);
}

/* Without a format: by the output's own type. */
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

/* Fields of tracepoints are told by name, arguments by their order. */
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

static void run_float(const struct step *s, uint64_t v, const struct type *type, struct buf *out)
{
	double d;
	float f;

	if (type->size == 4) {
		memcpy(&f, &v, sizeof(f)); /* little endian: the low half */
		d = f;
	} else {
		memcpy(&d, &v, sizeof(d));
	}
	buf_addf(out, s->spec, d);
}

static void run_missing(const struct step *s, const struct live_event *e, struct buf *out)
{
	size_t from = out->len;

	if (event_unreadable(e, s->output)) {
		buf_adds(out, "<unreadable>");
	} else {
		buf_adds(out, "<fault 0x");
		buf_addx(out, event_value(e, s->output));
		buf_addc(out, '>');
	}
	pad_since(&s->number, from, out);
}

static void run_char(const struct step *s, uint64_t v, struct buf *out)
{
	size_t from = out->len;
	char c = (char)v;

	buf_add_escaped(out, &c, 1);
	pad_since(&s->number, from, out);
}

static void run_text(const struct step *s, const struct live_event *e, struct buf *out)
{
	struct ut_text t;

	event_text(e, s->output, &t);
	text_print(s, &t, out);
}

static void run_step(const struct step *s, const struct live_event *e, struct buf *out)
{
	if (event_unreadable(e, s->output) || (s->kind != STEP_TEXT && event_faulted(e, s->output))) {
		run_missing(s, e, out);
		return;
	}
	switch (s->kind) {
	case STEP_INT: number_print(&s->number, event_value(e, s->output), out); break;
	case STEP_CHAR: run_char(s, event_value(e, s->output), out); break;
	case STEP_FLOAT:
		run_float(s, event_value(e, s->output), &e->probe->checked->outputs[s->output].type, out);
		break;
	default: run_text(s, e, out); break;
	}
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

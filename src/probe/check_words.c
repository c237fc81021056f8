/* SPDX-License-Identifier: MIT */
/* Messages about a probe: errors with a location in its text, notes, and names of expressions and types. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "probe/check.h"

const char *type_name(const struct type *t, char *ret)
{
	switch (t->kind) {
	case TYPE_FLOAT: return t->size == 4 ? "float" : "double";
	case TYPE_CHARS:
	case TYPE_LITERAL: return "text";
	default: snprintf(ret, 16, "%sint%d", t->is_signed ? "" : "u", t->size * 8); return ret;
	}
}

const char *expr_source(const struct checker *c, const struct expr *e, char ret[64])
{
	if (!e->len)
		snprintf(ret, 64, "%.60s", e->string ? e->string : "the value");
	else if (e->len > 60)
		strcpy(ret, "this expression");
	else
		snprintf(ret, 64, "%.*s", (int)e->len, c->spec->text + e->pos);
	return ret;
}

int check_error(const struct checker *c, const struct expr *e, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = probe_verror_at(c->spec->text, e->pos, e->len, c->err, fmt, ap);
	va_end(ap);
	return r;
}

int check_note(struct checker *c, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = sentences_add(&c->checked->notes, fmt, ap);
	va_end(ap);
	return r ? ut_err_nomem(c->err) : 0;
}

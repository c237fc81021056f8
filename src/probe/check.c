/* SPDX-License-Identifier: MIT */
/* Checks a probe against its scope, and determines the contents of its records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "probe/check.h"

/* An unreadable expression is an output as well: the printer reports why it is missing. */
static int add_readable(struct checker *c, const struct expr *e)
{
	return c->unreadable ? output_add(c, OUTPUT_VALUE, e, NULL) : output_add_plain(c, e);
}

static int bind_everything(struct checker *c)
{
	unsigned n = check_implicit_count(c);
	struct expr *e;
	int r = 0;

	if (n > OUTPUTS_MAX) {
		r = check_note(c, "%s has %u %s; the first %d are printed", c->scope->display, n, plural(n, "field"),
			       OUTPUTS_MAX);
		n = OUTPUTS_MAX;
	}
	for (unsigned i = 0; !r && i < n; i++) {
		c->unreadable = NULL;
		r = check_implicit(c, i, &e);
		if (!r)
			r = add_readable(c, e);
	}
	return r;
}

static int check_predicate(struct checker *c)
{
	struct expr *e = c->spec->predicate;
	char words[64];
	int r;

	if (!e)
		return 0;
	c->in_predicate = true;
	r = check_expr(c, e);
	c->in_predicate = false;
	if (!r && e->type.kind != TYPE_INT)
		return check_error(c, e, "the predicate must be a number or a comparison, but %s is %s",
				   expr_source(c, e, words), e->type.kind == TYPE_FLOAT ? "a float" : "text");
	return r;
}

static bool uses_duration(const struct expr *e)
{
	if (!e)
		return false;
	return (e->op == EXPR_VAR && e->var == VAR_DURATION) || uses_duration(e->a) || uses_duration(e->b) ||
	       uses_duration(e->c);
}

/* Checked again after parsing, since scaling pointer arithmetic adds levels. */
static int check_depths(struct checker *c)
{
	const struct probe_spec *spec = c->spec;

	if (expr_depth(spec->predicate) > EXPR_DEPTH_MAX)
		return check_error(c, spec->predicate, "the predicate is nested too deeply: %d levels are the limit",
				   EXPR_DEPTH_MAX);
	c->checked->needs_entry = uses_duration(spec->predicate);
	for (size_t i = 0; i < spec->args.n; i++) {
		if (expr_depth(spec->args.v[i]) > EXPR_DEPTH_MAX)
			return check_error(c, spec->args.v[i],
					   "the expression is nested too deeply: %d levels are the limit",
					   EXPR_DEPTH_MAX);
		c->checked->needs_entry |= uses_duration(spec->args.v[i]);
	}
	return 0;
}

static int check_probe(struct checker *c)
{
	int r = check_predicate(c);

	if (!r && c->spec->format)
		r = format_bind(c);
	else if (!r && !c->spec->args.n)
		r = bind_everything(c);
	else
		for (size_t i = 0; !r && i < c->spec->args.n; i++) {
			c->unreadable = NULL;
			r = check_expr(c, c->spec->args.v[i]);
			if (!r)
				r = add_readable(c, c->spec->args.v[i]);
		}
	return r ? r : check_depths(c);
}

int probe_check(struct probe_spec *spec, const struct probe_scope *scope, struct probe_checked **ret,
		struct ut_err *err)
{
	struct checker c = { .spec = spec, .scope = scope, .err = err };
	int r;

	c.checked = calloc(1, sizeof(*c.checked));
	if (!c.checked)
		return ut_err_nomem(err);
	r = check_probe(&c);
	if (r) {
		probe_checked_free(c.checked);
		return r;
	}
	c.checked->spec = spec;
	*ret = c.checked;
	return 0;
}

struct probe_checked *probe_checked_free(struct probe_checked *checked)
{
	if (!checked)
		return NULL;
	for (size_t i = 0; i < checked->format.n; i++)
		free(checked->format.v[i].literal);
	vec_done(&checked->format);
	sentences_done(&checked->notes);
	probe_spec_free(checked->spec);
	free(checked);
	return NULL;
}

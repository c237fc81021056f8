/* SPDX-License-Identifier: MIT */
/* Resolves names in expressions, with errors for unknown ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/err.h"
#include "base/text.h"
#include "probe/check.h"

#define INT_TYPE(bytes, sign) \
	{ \
		.kind = TYPE_INT, .size = (bytes), .is_signed = (sign) \
	}

static const struct builtin {
	const char *name;
	enum var var;
	struct type type;
	bool return_only;
} builtins[] = {
	{ "retval", VAR_RETVAL, INT_TYPE(8, false), true },
	{ "duration", VAR_DURATION, INT_TYPE(8, true), true }, /* signed, so that it prints in decimal */
	{ "pid", VAR_PID, INT_TYPE(4, true), false },
	{ "tid", VAR_TID, INT_TYPE(4, true), false },
	{ "comm", VAR_COMM, { .kind = TYPE_CHARS, .size = 16 }, false },
	{ "cpu", VAR_CPU, INT_TYPE(4, true), false },
	{ "time", VAR_TIME, INT_TYPE(8, true), false },
};
#define NBUILTINS (sizeof(builtins) / sizeof(builtins[0]))

static const char *const arg_names[] = { "arg1", "arg2",  "arg3",  "arg4",  "arg5",  "arg6",  "arg7",  "arg8",
					 "arg9", "arg10", "arg11", "arg12", "arg13", "arg14", "arg15", "arg16" };
#define NARG_NAMES (sizeof(arg_names) / sizeof(arg_names[0]))

static bool is_return(const struct checker *c) { return c->scope->kind == PROBE_RETURN; }

/* All valid names; the caller frees the array. NULL: out of memory. */
static const char **names_here(const struct checker *c, size_t *ret_n)
{
	const struct probe_scope *scope = c->scope;
	const char **ret = calloc(scope->nfields + NARG_NAMES + NBUILTINS, sizeof(*ret));
	size_t n = 0;

	if (!ret)
		return NULL;
	for (unsigned i = 0; i < scope->nargs && i < NARG_NAMES; i++)
		ret[n++] = arg_names[i];
	for (unsigned i = 0; i < scope->nfields; i++)
		ret[n++] = scope->fields[i].name;
	for (size_t i = 0; i < NBUILTINS; i++)
		if (!builtins[i].return_only || is_return(c))
			ret[n++] = builtins[i].name;
	*ret_n = n;
	return ret;
}

/* "a, b and c", as many as fit. */
static void list_names(const char *const *names, size_t n, char *ret, size_t size)
{
	size_t at = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const char *between = i == 0 ? "" : i + 1 == n ? " and " : ", ";
		size_t need = strlen(between) + strlen(names[i]);

		if (at + need + sizeof(" …") > size) {
			strcpy(ret + at, " …");
			return;
		}
		strcpy(ret + at, between);
		strcpy(ret + at + strlen(between), names[i]);
		at += need;
	}
}

static int unknown_name(struct checker *c, const struct expr *e)
{
	AUTO_FREE const char **names = NULL;
	char list[220];
	size_t n, near;

	names = names_here(c, &n);
	if (!names)
		return ut_err_nomem(c->err);
	if (suggest(e->string, names, n, &near, 1))
		return check_error(c, e, "unknown name '%.60s'; did you mean '%s'?", e->string, names[near]);
	list_names(names, n, list, sizeof(list));
	return check_error(c, e, "unknown name '%.60s'; %.100s has %s", e->string, c->scope->display, list);
}

/* The names of the scope's fields, to be freed by the caller. NULL: out of memory. */
static const char **field_names(const struct checker *c)
{
	const char **names = calloc(c->scope->nfields + 1, sizeof(*names));

	for (unsigned i = 0; names && i < c->scope->nfields; i++)
		names[i] = c->scope->fields[i].name;
	return names;
}

static int no_such_field(struct checker *c, const struct expr *e)
{
	AUTO_FREE const char **names = field_names(c);
	unsigned n = c->scope->nfields;
	char list[220];
	size_t near;

	if (!names)
		return ut_err_nomem(c->err);
	if (!check_has_fields(c))
		return check_error(c, e, "args-> accesses a field of a tracepoint; %.100s has arg1, arg2 …",
				   c->scope->display);
	if (suggest(e->string, names, n, &near, 1))
		return check_error(c, e, "%.100s has no field '%.60s'; did you mean '%s'?", c->scope->display,
				   e->string, names[near]);
	list_names(names, n, list, sizeof(list));
	return check_error(c, e, "%.100s has no field '%.60s'; it has %s", c->scope->display, e->string,
			   n ? list : "none");
}

/* "arg12" gives 12; -1 for other names. Numbers too large to be an argument are all alike. */
static int arg_number(const char *name)
{
	int n = 0;

	if (strncmp(name, "arg", 3) || !name[3])
		return -1;
	for (const char *p = name + 3; *p; p++) {
		if (!is_digit(*p))
			return -1;
		n = n > 9999 ? n : n * 10 + (*p - '0');
	}
	return n;
}

/* arg1 and retval. */
static int not_at_user_event(struct checker *c, const struct expr *e)
{
	AUTO_FREE const char **names = field_names(c);
	char list[220];

	if (!names)
		return ut_err_nomem(c->err);
	list_names(names, c->scope->nfields, list, sizeof(list));
	return check_error(c, e, "a user event has no %.60s; it has %s", e->string, list);
}

static int no_such_arg(struct checker *c, const struct expr *e)
{
	unsigned n = c->scope->nargs;
	char list[220];

	if (check_is_user(c))
		return not_at_user_event(c, e);
	if (is_return(c))
		return check_error(c, e,
				   "arguments are not available at a function's return; use retval and duration, or p: "
				   "for the arguments");
	if (check_has_fields(c) && c->scope->nfields) {
		const char *first = c->scope->fields[0].name;

		return check_error(c, e, "%.100s has named fields instead of numbered arguments, such as '%.60s'",
				   c->scope->display, first);
	}
	if (!n)
		return check_error(c, e, "%.100s has no arguments", c->scope->display);
	if (c->scope->kind == PROBE_ENTRY)
		return check_error(c, e,
				   "only a function's first %u arguments, arg1 to arg%u, can be read; %.60s cannot", n,
				   n, e->string);
	list_names(arg_names, n < NARG_NAMES ? n : NARG_NAMES, list, sizeof(list));
	return check_error(c, e, "%.100s has no %.60s; it has %u %s: %s", c->scope->display, e->string, n,
			   plural(n, "argument"), list);
}

/* Binds @e to a field or argument of the scope; an unreadable one is an error in a predicate. */
static int bind_to_field(struct checker *c, struct expr *e, enum var var, unsigned index, const struct probe_field *f)
{
	e->var = var;
	e->index = index;
	e->type = f->type;
	if (!f->unreadable)
		return 0;
	c->unreadable = f->unreadable;
	if (e->type.kind == TYPE_INT && !e->type.size)
		e->type = (struct type)INT_TYPE(8, false);
	if (c->in_predicate)
		return check_error(c, e, "the predicate needs %.60s of %.100s, which cannot be read because it %.160s",
				   e->string, c->scope->display, f->unreadable);
	return check_note(c, "%s of %s cannot be read because it %s", e->string, c->scope->display, f->unreadable);
}

static int check_arg(struct checker *c, struct expr *e, int n)
{
	if (n == 0)
		return check_error(c, e, "arguments start at arg1");
	if (e->string[3] == '0' || (unsigned)n > c->scope->nargs)
		return no_such_arg(c, e);
	return bind_to_field(c, e, VAR_ARG, (unsigned)n - 1, &c->scope->args[n - 1]);
}

static int find_field(const struct checker *c, const char *name)
{
	for (unsigned i = 0; i < c->scope->nfields; i++)
		if (!strcmp(c->scope->fields[i].name, name))
			return (int)i;
	return -1;
}

static int check_builtin(struct checker *c, struct expr *e, const struct builtin *b)
{
	if (b->return_only && check_is_user(c))
		return not_at_user_event(c, e);
	if (b->return_only && !is_return(c))
		return check_error(c, e, "%s is known only at a function's return: use an r: probe", b->name);
	e->var = b->var;
	e->type = b->type;
	if (find_field(c, b->name) < 0)
		return 0;
	return check_note(c, "'%s' is that of the current thread; the field of %s is args->%s", b->name,
			  c->scope->display, b->name);
}

int check_name(struct checker *c, struct expr *e)
{
	bool explicit_field = e->var == VAR_FIELD;
	int field = find_field(c, e->string), arg = arg_number(e->string);

	if (explicit_field && field < 0)
		return no_such_field(c, e);
	for (size_t i = 0; i < NBUILTINS && !explicit_field; i++)
		if (!strcmp(builtins[i].name, e->string) && !(builtins[i].return_only && field >= 0))
			return check_builtin(c, e, &builtins[i]);
	if (field >= 0)
		return bind_to_field(c, e, VAR_FIELD, (unsigned)field, &c->scope->fields[field]);
	if (arg >= 0)
		return check_arg(c, e, arg);
	return unknown_name(c, e);
}

unsigned check_implicit_count(const struct checker *c)
{
	if (is_return(c))
		return 1;
	return check_has_fields(c) ? c->scope->nfields : c->scope->nargs;
}

int check_implicit(struct checker *c, unsigned index, struct expr **ret)
{
	bool field = check_has_fields(c);
	struct expr *e;
	const char *name;

	*ret = NULL;
	if (index >= check_implicit_count(c) || (!field && index >= NARG_NAMES))
		return 0;
	name = field ? c->scope->fields[index].name : is_return(c) ? "retval" : arg_names[index];
	e = calloc(1, sizeof(*e));
	if (!e || !(e->string = strdup(name)) || vec_push(&c->spec->args, e)) {
		expr_free(e);
		return ut_err_nomem(c->err);
	}
	e->op = EXPR_VAR;
	e->var = field ? VAR_FIELD : VAR_ARG;
	e->pos = c->spec->name_pos;
	*ret = e;
	return check_name(c, e);
}

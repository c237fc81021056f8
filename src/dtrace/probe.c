/* SPDX-License-Identifier: MIT */
/* Probes: their arguments, the names of their macros, and what two of them cannot share. */
#include "dtrace/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"

#define ENABLED "_ENABLED"
#define PROBES_MAX 16384 /* each is compared with all others */

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

char *dtrace_macro_name(const char *provider, const char *probe)
{
	char *ret = malloc(strlen(provider) + strlen(probe) + 2), *to = ret;

	if (!ret)
		return NULL;
	while (*provider)
		*to++ = upper(*provider++);
	*to++ = '_';
	for (; *probe; probe++) {
		*to++ = upper(*probe);
		if (probe[0] == '_' && probe[1] == '_')
			probe++;
	}
	*to = '\0';
	return ret;
}

static void probe_done(struct dtrace_probe *probe)
{
	free(probe->name);
	free(probe->macro);
	free(probe->place);
	for (unsigned i = 0; i < probe->nargs; i++)
		free(probe->args[i].decl);
}

void dtrace_providers_done(struct dtrace_providers *p)
{
	for (size_t i = 0; i < p->all.n; i++) {
		for (size_t k = 0; k < p->all.v[i].probes.n; k++)
			probe_done(&p->all.v[i].probes.v[k]);
		vec_done(&p->all.v[i].probes);
		free(p->all.v[i].name);
	}
	for (size_t i = 0; i < p->aliases.n; i++)
		free(p->aliases.v[i].name);
	vec_done(&p->all);
	vec_done(&p->aliases);
	p->nprobes = 0;
}

/* Does one of two macros get in the way of the other, itself or as PROBE_ENABLED? */
static bool macros_clash(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	size_t shorter = la < lb ? la : lb;

	return !strncmp(a, b, shorter) &&
	       (!strcmp(a + shorter, b + shorter) || !strcmp(a + shorter, ENABLED) || !strcmp(b + shorter, ENABLED));
}

static int check_clash(const struct dtrace_parser *p, size_t provider, const struct dtrace_probe *probe,
		       const struct dtrace_token *t, struct ut_err *err)
{
	const char *hint = p->lexer.conditional ? "; the file has #if lines, which -C understands" : "";

	for (size_t i = 0; i < p->out->all.n; i++) {
		const struct dtrace_provider *other = &p->out->all.v[i];

		for (size_t k = 0; k < other->probes.n; k++) {
			const struct dtrace_probe *o = &other->probes.v[k];

			if (i == provider && !strcmp(o->name, probe->name))
				return dtrace_error_at(&p->lexer, t, err, "probe '%s' is already declared at %s%s",
						       probe->name, o->place, hint);
			if (macros_clash(o->macro, probe->macro))
				return dtrace_error_at(
					&p->lexer, t, err,
					"the macros of probe '%s' conflict with those of '%s' (%s); rename one",
					probe->name, o->name, o->place);
		}
	}
	return 0;
}

/* gcc replaces these words by 1 wherever a program has them. */
static bool is_compilers_macro(const char *name) { return !strcmp(name, "linux") || !strcmp(name, "unix"); }

static int check_reserved(const struct dtrace_parser *p, size_t provider, const struct dtrace_probe *probe,
			  const struct dtrace_token *t, struct ut_err *err)
{
	const char *name = p->out->all.v[provider].name;

	if (!strcmp(name, "usertrace") && !strcmp(probe->name, "event"))
		return dtrace_error_at(
			&p->lexer, t, err,
			"usertrace:event is reserved for the user events of usertrace.h; choose another name");
	if (is_compilers_macro(name) || is_compilers_macro(probe->name))
		return dtrace_error_at(&p->lexer, t, err,
				       "'%s' is a predefined macro of the C compiler; choose another name",
				       is_compilers_macro(name) ? name : probe->name);
	return 0;
}

/* The source between two tokens with single blanks, as C is written. */
static char *source_text(const struct dtrace_parser *p, const char *from, const char *to)
{
	struct dtrace_lexer l = p->lexer;
	struct dtrace_token t, before = { .kind = DTRACE_END };
	struct buf out = { 0 };

	for (l.at = from; l.at < to && !dtrace_lex(&l, &t, NULL) && t.text < to && t.kind != DTRACE_END; before = t) {
		bool tight = before.kind == DTRACE_END || (before.kind == DTRACE_SIGN && strchr("*([", *before.text)) ||
			     (t.kind == DTRACE_SIGN && strchr(")],[", *t.text)) ||
			     (dtrace_is_sign(&before, ')') && dtrace_is_sign(&t, '('));

		/* It becomes a comment, which nothing in it may begin or end. */
		if (!tight || dtrace_is_sign(&t, '/') || dtrace_is_sign(&before, '/'))
			buf_addc(&out, ' ');
		buf_add(&out, t.text, t.len);
	}
	return buf_take(&out);
}

static int add_arg(struct dtrace_parser *p, struct dtrace_probe *probe, const struct dtrace_token *first,
		   const struct dtrace_declared *d, struct ut_err *err)
{
	struct dtrace_arg *arg = &probe->args[probe->nargs];

	if (d->is_void)
		return dtrace_error_at(&p->lexer, first, err, "an argument cannot be void");
	if (d->is_struct)
		return dtrace_error_at(&p->lexer, first, err,
				       "a structure cannot be an argument by value; pass its address");
	if (probe->nargs == DTRACE_ARGS_MAX)
		return dtrace_error_at(
			&p->lexer, first, err,
			"probe '%s' has more than %d arguments; put some into a structure and pass its address",
			probe->name, DTRACE_ARGS_MAX);
	*arg = (struct dtrace_arg){ .decl = source_text(p, first->text, p->tok.text),
				    .cast = d->cast,
				    .is_truth = d->is_truth };
	if (!arg->decl)
		return ut_err_nomem(err);
	probe->nargs++;
	return 0;
}

/* `T a` or Solaris' `T a : U b`, where scripts see U; what the program passes is T. @probe is NULL: read and forget. */
static int read_arg(struct dtrace_parser *p, struct dtrace_probe *probe, struct ut_err *err)
{
	struct dtrace_token first = p->tok;
	struct dtrace_declared d;
	int ret;

	if (dtrace_is_sign(&p->tok, '.'))
		return dtrace_error_at(&p->lexer, &p->tok, err, "a probe has a fixed number of arguments");
	ret = dtrace_declaration(p, &d, err);
	if (!ret && probe)
		ret = add_arg(p, probe, &first, &d, err);
	if (!ret && dtrace_is_sign(&p->tok, ':')) {
		ret = dtrace_next(p, err);
		if (!ret)
			ret = dtrace_declaration(p, &d, err);
	}
	return ret;
}

/* `(void)` is `()`. */
static bool is_lone_void(const struct dtrace_parser *p)
{
	struct dtrace_parser ahead = *p;

	return dtrace_is_word(&p->tok, "void") && !dtrace_next(&ahead, NULL) && dtrace_is_sign(&ahead.tok, ')');
}

static int read_args(struct dtrace_parser *p, struct dtrace_probe *probe, struct ut_err *err)
{
	int ret = dtrace_expect(p, '(', "the declaration of a probe", err);

	if (!ret && is_lone_void(p))
		ret = dtrace_next(p, err);
	if (ret)
		return ret;
	if (dtrace_is_sign(&p->tok, ')'))
		return dtrace_next(p, err);
	ret = read_arg(p, probe, err);
	while (!ret && dtrace_is_sign(&p->tok, ',')) {
		ret = dtrace_next(p, err);
		if (!ret)
			ret = read_arg(p, probe, err);
	}
	if (!ret && p->tok.kind != DTRACE_END && !dtrace_is_sign(&p->tok, ')'))
		return dtrace_error_at(&p->lexer, &p->tok, err, "',' or ')' is missing before this");
	return ret ? ret : dtrace_expect(p, ')', "the declaration of a probe", err);
}

/* The arguments, Solaris' translated arguments, and the end. */
static int read_rest(struct dtrace_parser *p, struct dtrace_probe *probe, struct ut_err *err)
{
	int ret = 0;

	if (!dtrace_is_sign(&p->tok, ';'))
		ret = read_args(p, probe, err);
	if (!ret && dtrace_is_sign(&p->tok, ':')) {
		ret = dtrace_next(p, err);
		if (!ret)
			ret = read_args(p, NULL, err);
	}
	if (ret)
		return ret;
	if (dtrace_is_sign(&p->tok, ';'))
		return dtrace_next(p, err);
	if (dtrace_is_word(&p->tok, "probe") || dtrace_is_sign(&p->tok, '}'))
		return 0;
	return dtrace_expect(p, ';', "the declaration of a probe", err);
}

static int read_into(struct dtrace_parser *p, size_t provider, struct dtrace_probe *probe, struct ut_err *err)
{
	struct dtrace_token name;
	int ret = dtrace_next(p, err);

	name = p->tok;
	if (!ret && p->out->nprobes == PROBES_MAX)
		return dtrace_error_at(&p->lexer, &name, err, "more than %d probes", PROBES_MAX);
	if (!ret)
		ret = dtrace_read_name(p, "probe", true, &probe->name, err);
	if (ret)
		return ret;
	probe->macro = dtrace_macro_name(p->out->all.v[provider].name, probe->name);
	if (!probe->macro || asprintf(&probe->place, "%.*s:%u", (int)(name.file_len > 200 ? 200 : name.file_len),
				      name.file, name.line) < 0) {
		probe->place = NULL;
		return ut_err_nomem(err);
	}
	ret = check_clash(p, provider, probe, &name, err);
	if (!ret)
		ret = check_reserved(p, provider, probe, &name, err);
	return ret ? ret : read_rest(p, probe, err);
}

int dtrace_read_probe(struct dtrace_parser *p, size_t provider, struct ut_err *err)
{
	struct dtrace_probe probe = { 0 };
	int ret = read_into(p, provider, &probe, err);

	if (!ret && vec_push(&p->out->all.v[provider].probes, probe))
		ret = ut_err_nomem(err);
	if (ret)
		probe_done(&probe);
	else
		p->out->nprobes++;
	return ret;
}

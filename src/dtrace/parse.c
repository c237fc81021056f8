/* SPDX-License-Identifier: MIT */
/* The parser of provider files: providers and probes are read, typedefs noted, everything else is stepped over. */
#include "dtrace/tokens.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "dtrace/probe.h"

/* A word that a slip made of "provider"? */
static bool is_nearly_provider(const struct dtrace_token *t)
{
	static const char *const wanted[] = { "provider" };
	AUTO_FREE char *word = strndup(t->text, t->len < DTRACE_NAME_MAX ? t->len : DTRACE_NAME_MAX);
	size_t near;

	return word && suggest(word, wanted, 1, &near, 1);
}

/*
 * Steps over a declaration, a function or a clause of a D script: to its ';', or behind its '{…}'. "WORD NAME {" is
 * none of these.
 */
static int skip_item(struct dtrace_parser *p, struct ut_err *err)
{
	struct dtrace_token first = p->tok;
	unsigned words = 0;
	int ret = 0;

	for (unsigned n = 0; !ret; n++) {
		if (p->tok.kind == DTRACE_END)
			return dtrace_error_at(
				&p->lexer, &first, err,
				"expected a provider or a declaration; ';' is missing, or this is not a provider file");
		if (dtrace_is_sign(&p->tok, ';'))
			return dtrace_next(p, err);
		if (dtrace_is_sign(&p->tok, '{')) {
			if (n == 2 && words == 2 && is_nearly_provider(&first))
				return dtrace_error_at(&p->lexer, &first, err,
						       "unknown word '%.*s'; did you mean 'provider'?", (int)first.len,
						       first.text);
			return dtrace_skip_group(p, err);
		}
		words += p->tok.kind == DTRACE_WORD;
		if (dtrace_closes_group(&p->tok))
			return dtrace_error_at(&p->lexer, &p->tok, err, "unmatched '%c'", *p->tok.text);
		ret = dtrace_opens_group(&p->tok) ? dtrace_skip_group(p, err) : dtrace_next(p, err);
	}
	return ret;
}

static int add_alias(struct dtrace_parser *p, const struct dtrace_declared *d, struct ut_err *err)
{
	struct dtrace_alias alias = { .name = strndup(d->name.text, d->name.len),
				      .cast = d->cast,
				      .is_truth = d->is_truth,
				      .is_void = d->is_void,
				      .is_struct = d->is_struct };

	if (!alias.name || vec_push(&p->out->aliases, alias)) {
		free(alias.name);
		return ut_err_nomem(err);
	}
	return 0;
}

/* A typedef that is understood names a type for arguments; any other is stepped over. */
static int read_typedef(struct dtrace_parser *p, struct ut_err *err)
{
	struct dtrace_parser start = *p;
	struct dtrace_declared d;

	if (!dtrace_next(p, NULL) && !dtrace_declaration(p, &d, NULL) && d.has_name && dtrace_is_sign(&p->tok, ';')) {
		int ret = add_alias(p, &d, err);

		return ret ? ret : dtrace_next(p, err);
	}
	*p = start;
	return skip_item(p, err);
}

static int read_probes(struct dtrace_parser *p, size_t provider, struct ut_err *err)
{
	int ret = 0;

	while (!ret && !dtrace_is_sign(&p->tok, '}')) {
		if (dtrace_is_sign(&p->tok, ';'))
			ret = dtrace_next(p, err);
		else if (dtrace_is_word(&p->tok, "probe"))
			ret = dtrace_read_probe(p, provider, err);
		else if (p->tok.kind == DTRACE_END)
			ret = dtrace_error_at(&p->lexer, &p->tok, err, "the file ends in provider '%s'; '}' is missing",
					      p->out->all.v[provider].name);
		else
			ret = dtrace_error_at(
				&p->lexer, &p->tok, err,
				"expected a declaration such as 'probe gc__start(int generation);' in the provider");
	}
	return ret ? ret : dtrace_next(p, err);
}

/* The provider of this name, which may come in several parts. */
static int find_provider(struct dtrace_parser *p, char **name, size_t *ret, struct ut_err *err)
{
	struct dtrace_provider provider = { .name = *name };

	for (size_t i = 0; i < p->out->all.n; i++)
		if (!strcmp(p->out->all.v[i].name, *name)) {
			*ret = i;
			return 0;
		}
	if (vec_push(&p->out->all, provider))
		return ut_err_nomem(err);
	*name = NULL;
	*ret = p->out->all.n - 1;
	return 0;
}

static int read_provider(struct dtrace_parser *p, struct ut_err *err)
{
	AUTO_FREE char *name = NULL;
	size_t provider = 0;
	int ret = dtrace_next(p, err);

	if (!ret)
		ret = dtrace_read_name(p, "provider", false, &name, err);
	if (!ret)
		ret = dtrace_expect(p, '{', "the declaration of a provider", err);
	if (!ret)
		ret = find_provider(p, &name, &provider, err);
	return ret ? ret : read_probes(p, provider, err);
}

static int read_item(struct dtrace_parser *p, struct ut_err *err)
{
	if (dtrace_is_sign(&p->tok, ';'))
		return dtrace_next(p, err);
	if (dtrace_is_word(&p->tok, "provider"))
		return read_provider(p, err);
	if (dtrace_is_word(&p->tok, "probe"))
		return dtrace_error_at(&p->lexer, &p->tok, err, "a probe outside of any 'provider NAME { … };'");
	if (dtrace_is_word(&p->tok, "typedef"))
		return read_typedef(p, err);
	return skip_item(p, err);
}

int dtrace_parse(const char *name, const char *text, size_t len, struct dtrace_providers *ret, struct ut_err *err)
{
	struct dtrace_parser p = { .out = ret };
	int status;

	dtrace_lexer_init(&p.lexer, name, text, len);
	status = dtrace_next(&p, err);
	while (!status && p.tok.kind != DTRACE_END)
		status = read_item(&p, err);
	return status;
}

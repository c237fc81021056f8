/* SPDX-License-Identifier: MIT */
/* Steps over tokens that the pieces of the parser share. */
#include "dtrace/tokens.h"

#include <errno.h>
#include <string.h>

int dtrace_next(struct dtrace_parser *p, struct ut_err *err) { return dtrace_lex(&p->lexer, &p->tok, err); }

int dtrace_expect(struct dtrace_parser *p, char sign, const char *where, struct ut_err *err)
{
	if (dtrace_is_sign(&p->tok, sign))
		return dtrace_next(p, err);
	if (p->tok.kind == DTRACE_END)
		return dtrace_error_at(&p->lexer, &p->tok, err, "the file ends in %s; '%c' is missing", where, sign);
	return dtrace_error_at(&p->lexer, &p->tok, err, "'%c' is missing in %s, before this", sign, where);
}

bool dtrace_opens_group(const struct dtrace_token *t)
{
	return dtrace_is_sign(t, '(') || dtrace_is_sign(t, '[') || dtrace_is_sign(t, '{');
}

bool dtrace_closes_group(const struct dtrace_token *t)
{
	return dtrace_is_sign(t, ')') || dtrace_is_sign(t, ']') || dtrace_is_sign(t, '}');
}

int dtrace_skip_group(struct dtrace_parser *p, struct ut_err *err)
{
	struct dtrace_token first = p->tok;
	size_t depth = 0;
	int ret;

	do {
		if (p->tok.kind == DTRACE_END)
			return dtrace_error_at(&p->lexer, &first, err, "this '%c' is never closed", *first.text);
		depth += (size_t)dtrace_opens_group(&p->tok);
		depth -= (size_t)dtrace_closes_group(&p->tok);
		ret = dtrace_next(p, err);
	} while (!ret && depth);
	return ret;
}

/* A name of a provider or of a probe, as a string of its own. */
int dtrace_read_name(struct dtrace_parser *p, const char *of, bool digit_first, char **ret, struct ut_err *err)
{
	const struct dtrace_token *t = &p->tok;

	if (t->kind != DTRACE_WORD)
		return dtrace_error_at(&p->lexer, t, err, "the name of the %s is missing before this", of);
	if (!digit_first && *t->text >= '0' && *t->text <= '9')
		return dtrace_error_at(&p->lexer, t, err, "the name of a %s cannot begin with a digit", of);
	if (t->len > DTRACE_NAME_MAX)
		return dtrace_error_at(&p->lexer, t, err, "the name of a %s has at most %d bytes", of, DTRACE_NAME_MAX);
	*ret = strndup(t->text, t->len);
	return *ret ? dtrace_next(p, err) : ut_err_nomem(err);
}

/* SPDX-License-Identifier: MIT */
/* One probe as typed: the head, then the predicate, the format and the expressions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "probe/parse.h"

/* "(int)arg1" and "(u32)arg2" begin a list of expressions; any other parenthesis is the predicate. */
static int begins_predicate(struct lexer *lx, bool *ret)
{
	size_t start = lx->tok.pos;
	int r;

	*ret = false;
	if (lx->tok.kind != TOK_LPAREN)
		return 0;
	r = lex_next(lx);
	if (r)
		return r;
	*ret = !parse_is_type(lx);
	lx->pos = start;
	return lex_next(lx);
}

/* Tokens that continue an expression and cannot begin one. */
static bool continues_expr(enum token_kind kind)
{
	return kind == TOK_QUESTION || (kind >= TOK_DIV && kind <= TOK_LOR && kind != TOK_MINUS);
}

static int parse_predicate(struct lexer *lx, struct probe_spec *spec)
{
	size_t start = lx->tok.pos;
	bool is_predicate;
	int r = begins_predicate(lx, &is_predicate);

	if (r || !is_predicate)
		return r;
	r = lex_next(lx);
	if (!r)
		r = parse_expr(lx, "predicate", &spec->predicate);
	if (r)
		return r;
	if (lx->tok.kind != TOK_RPAREN)
		return parse_unexpected(lx, "predicate", "')'");
	r = lex_next(lx);
	if (!r && continues_expr(lx->tok.kind))
		return probe_error_at(lx->text, start, lx->tok.pos - start, lx->err,
				      "the parentheses after the name enclose the predicate; put the whole condition "
				      "into one pair, or a format before an expression to print");
	return r;
}

static int parse_format(struct lexer *lx, struct probe_spec *spec)
{
	if (lx->tok.kind != TOK_STRING)
		return 0;
	spec->format = lx->tok.string;
	spec->format_pos = lx->tok.pos + 1;
	if (lx->tok.string_len && spec->format[lx->tok.string_len - 1] == '\n')
		spec->format[lx->tok.string_len - 1] = '\0';
	lx->tok.string = NULL;
	return lex_next(lx);
}

static int parse_argument(struct lexer *lx, struct probe_spec *spec)
{
	struct expr *e = NULL;
	int r = parse_expr(lx, "expression", &e);

	if (r)
		return r;
	if (vec_push(&spec->args, e)) {
		expr_free(e);
		return ut_err_nomem(lx->err);
	}
	return 0;
}

/* The end of the text, or what is wrong there. */
static int parse_end(struct lexer *lx, const struct probe_spec *spec)
{
	const struct token *t = &lx->tok;

	if (t->kind == TOK_END)
		return 0;
	if (t->kind == TOK_RPAREN)
		return probe_error_at(lx->text, t->pos, t->len, lx->err, "unmatched ')'");
	if (t->kind == TOK_STRING && !spec->format)
		return probe_error_at(lx->text, t->pos, t->len, lx->err,
				      "the predicate in parentheses must come first, then the format, then the "
				      "expressions: u:python:gc__start (arg1 == 2) \"gen %%d\", arg1");
	if (t->kind == TOK_STRING)
		return probe_error_at(lx->text, t->pos, t->len, lx->err,
				      "an operator or ',' is missing before this string");
	return parse_unexpected(lx, "expression", "an operator or ','");
}

static int parse_list(struct lexer *lx, struct probe_spec *spec)
{
	int r;

	if (spec->format && lx->tok.kind != TOK_COMMA)
		return lx->tok.kind == TOK_END ? 0 : parse_unexpected(lx, "probe", "a ',' after the format");
	do {
		r = lx->tok.kind == TOK_COMMA ? lex_next(lx) : 0;
		if (!r)
			r = parse_argument(lx, spec);
	} while (!r && lx->tok.kind == TOK_COMMA);
	return r ? r : parse_end(lx, spec);
}

static int parse_after_head(struct lexer *lx, struct probe_spec *spec)
{
	int r = lex_next(lx);

	if (!r)
		r = parse_predicate(lx, spec);
	if (!r)
		r = parse_format(lx, spec);
	if (r || lx->tok.kind == TOK_END || lx->tok.kind == TOK_RPAREN)
		return r ? r : parse_end(lx, spec);
	if (!spec->format && lx->tok.kind == TOK_COMMA)
		return probe_error_at(lx->text, lx->tok.pos, 1, lx->err, "unexpected ','");
	return parse_list(lx, spec);
}

int probe_parse(const char *text, struct probe_spec **ret, struct ut_err *err)
{
	struct probe_spec *spec;
	struct lexer lx;
	size_t end;
	int r;

	if (strlen(text) > PROBE_TEXT_MAX)
		return ut_err_set(err, -EINVAL, "the probe is too long (%zu bytes); the limit is %d", strlen(text),
				  PROBE_TEXT_MAX);
	spec = calloc(1, sizeof(*spec));
	if (!spec)
		return ut_err_nomem(err);
	spec->text = strdup(text);
	r = spec->text ? parse_head(spec, &end, err) : ut_err_nomem(err);
	if (!r) {
		lex_init(&lx, spec->text, end, err);
		r = parse_after_head(&lx, spec);
		lex_done(&lx);
	}
	if (r)
		probe_spec_free(spec);
	else
		*ret = spec;
	return r;
}

struct probe_spec *probe_spec_free(struct probe_spec *spec)
{
	if (!spec)
		return NULL;
	for (size_t i = 0; i < spec->args.n; i++)
		expr_free(spec->args.v[i]);
	vec_done(&spec->args);
	expr_free(spec->predicate);
	free(spec->text);
	free(spec->where);
	free(spec->provider);
	free(spec->name);
	free(spec->format);
	free(spec);
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* Expressions: C's operators with C's precedence, by precedence climbing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "probe/parse.h"

/* A parenthesis takes two of them: one for the expression, one for the operand. */
#define NESTING_MAX (2 * EXPR_DEPTH_MAX)

struct parser {
	struct lexer *lx;
	const char *what;
	unsigned nesting; /* of parentheses and unary operators: bounds the recursion here */
};

static const struct binary {
	enum token_kind tok;
	enum expr_op op;
	int prec;
} binaries[] = {
	{ TOK_MUL, EXPR_MUL, 10 },  { TOK_DIV, EXPR_DIV, 10 }, { TOK_MOD, EXPR_MOD, 10 }, { TOK_PLUS, EXPR_ADD, 9 },
	{ TOK_MINUS, EXPR_SUB, 9 }, { TOK_SHL, EXPR_SHL, 8 },  { TOK_SHR, EXPR_SHR, 8 },  { TOK_LT, EXPR_LT, 7 },
	{ TOK_LE, EXPR_LE, 7 },	    { TOK_GT, EXPR_GT, 7 },    { TOK_GE, EXPR_GE, 7 },	  { TOK_EQ, EXPR_EQ, 6 },
	{ TOK_NE, EXPR_NE, 6 },	    { TOK_AND, EXPR_AND, 5 },  { TOK_XOR, EXPR_XOR, 4 },  { TOK_OR, EXPR_OR, 3 },
	{ TOK_LAND, EXPR_LAND, 2 }, { TOK_LOR, EXPR_LOR, 1 },
};

static int parse_cond(struct parser *p, struct expr **ret);

static int fail_at(const struct lexer *lx, size_t pos, size_t len, const char *sentence)
{
	return probe_error_at(lx->text, pos, len, lx->err, "%s", sentence);
}

static int unknown_operator(const struct lexer *lx, const char *what)
{
	static const struct {
		const char *op, *hint;
	} hints[] = {
		{ "=", "did you mean '=='?" },
		{ "===", "did you mean '=='?" },
		{ "!==", "did you mean '!='?" },
		{ "<>", "did you mean '!='?" },
		{ "=~", "compare strings with == and !=" },
		{ "[", "read memory with a cast: *(u32 *)(arg1 + 8)" },
		{ "++", "values cannot be modified" },
		{ "--", "values cannot be modified; write a space between two minus signs" },
		{ ";", "a probe has one format and a list of expressions" },
	};
	const char *hint = "values cannot be modified";

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (strlen(hints[i].op) == lx->tok.len && !memcmp(hints[i].op, lx->text + lx->tok.pos, lx->tok.len))
			hint = hints[i].hint;
	return probe_error_at(lx->text, lx->tok.pos, lx->tok.len, lx->err, "unknown operator '%.*s' in the %s; %s",
			      (int)lx->tok.len, lx->text + lx->tok.pos, what, hint);
}

int parse_unexpected(const struct lexer *lx, const char *what, const char *wanted)
{
	const struct token *t = &lx->tok;

	if (t->kind == TOK_UNKNOWN)
		return unknown_operator(lx, what);
	if (t->kind == TOK_ARROW || t->kind == TOK_DOT)
		return fail_at(lx, t->pos, t->len,
			       "structures are not supported; read a member by its offset: *(u32 *)(arg1 + 8)");
	if (lex_name_is(lx, "and"))
		return fail_at(lx, t->pos, t->len, "unknown operator 'and'; did you mean '&&'?");
	if (lex_name_is(lx, "or"))
		return fail_at(lx, t->pos, t->len, "unknown operator 'or'; did you mean '||'?");
	if (t->kind == TOK_END)
		return probe_error_at(lx->text, t->pos, 0, lx->err, "the %s ends too early; %s is missing", what,
				      wanted);
	return probe_error_at(lx->text, t->pos, t->len, lx->err, "%s is missing in the %s, before this", wanted, what);
}

static int too_deep(const struct lexer *lx, size_t pos)
{
	return probe_error_at(lx->text, pos, 1, lx->err, "the expression is nested too deeply: %d levels are the limit",
			      EXPR_DEPTH_MAX);
}

/* Makes a node over text[pos, end) and moves the operands into it; they are freed on failure. */
static int make_node(struct parser *p, enum expr_op op, size_t pos, size_t end, struct expr **a, struct expr **b,
		     struct expr **ret)
{
	struct expr *e = calloc(1, sizeof(*e));

	if (!e)
		return ut_err_nomem(p->lx->err);
	e->op = op;
	e->pos = pos;
	e->len = end - pos;
	e->a = a ? *a : NULL;
	e->b = b ? *b : NULL;
	if (a)
		*a = NULL;
	if (b)
		*b = NULL;
	*ret = e;
	return expr_depth(e) > EXPR_DEPTH_MAX ? too_deep(p->lx, pos) : 0;
}

static void auto_expr_(struct expr **e) { expr_free(*e); }
#define AUTO_EXPR __attribute__((cleanup(auto_expr_)))

static int make_int(struct parser *p, size_t pos, size_t end, uint64_t value, bool is_unsigned, struct expr **ret)
{
	int r = make_node(p, EXPR_INT, pos, end, NULL, NULL, ret);

	if (r)
		return r;
	(*ret)->value = value;
	(*ret)->type = (struct type){ .kind = TYPE_INT, .size = 8, .is_signed = !is_unsigned };
	return 0;
}

static int no_calls(const struct lexer *lx, size_t pos, size_t len)
{
	if (len >= 6 && !memcmp(lx->text + pos, "STRCMP", 6))
		return fail_at(lx, pos, len, "STRCMP is not needed: write arg1 == \"text\"");
	if (len == 6 && !memcmp(lx->text + pos, "sizeof", 6))
		return fail_at(lx, pos, len, "sizeof is not supported; write the number");
	return fail_at(lx, pos, len, "functions cannot be called in a probe");
}

/* The name after "args->" (BCC's and bpftrace's way to name a tracepoint's field). */
static int parse_args_field(struct parser *p, size_t start, struct expr **ret)
{
	int r = lex_next(p->lx);

	if (r)
		return r;
	if (p->lx->tok.kind != TOK_NAME)
		return parse_unexpected(p->lx, p->what, "the name of a field");
	r = make_node(p, EXPR_VAR, start, p->lx->pos, NULL, NULL, ret);
	if (r)
		return r;
	(*ret)->var = VAR_FIELD;
	(*ret)->string = strndup(p->lx->text + p->lx->tok.pos, p->lx->tok.len);
	return (*ret)->string ? lex_next(p->lx) : ut_err_nomem(p->lx->err);
}

static int parse_name(struct parser *p, struct expr **ret)
{
	struct lexer *lx = p->lx;
	size_t pos = lx->tok.pos, len = lx->tok.len;
	bool is_args = lex_name_is(lx, "args"), is_null = lex_name_is(lx, "NULL"), is_not = lex_name_is(lx, "not");
	int r = lex_next(lx);

	if (r)
		return r;
	if (is_null)
		return make_int(p, pos, pos + len, 0, false, ret);
	if (is_args && (lx->tok.kind == TOK_ARROW || lx->tok.kind == TOK_DOT))
		return parse_args_field(p, pos, ret);
	if (is_not)
		return fail_at(lx, pos, len, "unknown operator 'not'; did you mean '!'?");
	if (lx->tok.kind == TOK_LPAREN)
		return no_calls(lx, pos, len);
	r = make_node(p, EXPR_VAR, pos, pos + len, NULL, NULL, ret);
	if (r)
		return r;
	(*ret)->string = strndup(lx->text + pos, len);
	return (*ret)->string ? 0 : ut_err_nomem(lx->err);
}

static int parse_string(struct parser *p, struct expr **ret)
{
	struct token *t = &p->lx->tok;
	int r = make_node(p, EXPR_STRING, t->pos, t->pos + t->len, NULL, NULL, ret);

	if (r)
		return r;
	(*ret)->string = t->string;
	(*ret)->string_len = t->string_len;
	t->string = NULL;
	return lex_next(p->lx);
}

static int parse_unary(struct parser *p, struct expr **ret);

/* After "(" when a type follows. */
static int parse_cast(struct parser *p, size_t start, struct expr **ret)
{
	AUTO_EXPR struct expr *a = NULL, *zero = NULL;
	struct type type;
	bool is_bool;
	size_t end;
	int r = parse_type(p->lx, &type, &is_bool);

	if (r)
		return r;
	if (p->lx->tok.kind != TOK_RPAREN)
		return parse_unexpected(p->lx, "cast", "')'");
	r = lex_next(p->lx);
	if (!r)
		r = parse_unary(p, &a);
	if (r)
		return r;
	end = a->pos + a->len;
	if (is_bool) { /* (bool)x is x != 0 */
		r = make_int(p, start, end, 0, false, &zero);
		return r ? r : make_node(p, EXPR_NE, start, end, &a, &zero, ret);
	}
	r = make_node(p, EXPR_CAST, start, end, &a, NULL, ret);
	if (!r)
		(*ret)->type = type;
	return r;
}

static int parse_parens(struct parser *p, struct expr **ret)
{
	size_t start = p->lx->tok.pos;
	int r = lex_next(p->lx);

	if (r)
		return r;
	if (parse_is_type(p->lx))
		return parse_cast(p, start, ret);
	r = parse_cond(p, ret);
	if (r)
		return r;
	if (p->lx->tok.kind != TOK_RPAREN)
		return parse_unexpected(p->lx, p->what, "')'");
	(*ret)->pos = start; /* marks show the parentheses too */
	(*ret)->len = p->lx->pos - start;
	return lex_next(p->lx);
}

static int parse_primary(struct parser *p, struct expr **ret)
{
	const struct token *t = &p->lx->tok;
	int r;

	switch (t->kind) {
	case TOK_INT:
		r = make_int(p, t->pos, t->pos + t->len, t->value, t->is_unsigned, ret);
		return r ? r : lex_next(p->lx);
	case TOK_STRING: return parse_string(p, ret);
	case TOK_NAME: return parse_name(p, ret);
	case TOK_LPAREN: return parse_parens(p, ret);
	case TOK_AND: return fail_at(p->lx, t->pos, t->len, "the address of a value cannot be taken");
	default: return parse_unexpected(p->lx, p->what, "a value");
	}
}

static bool unary_of(enum token_kind kind, enum expr_op *ret)
{
	switch (kind) {
	case TOK_MINUS: *ret = EXPR_NEG; return true;
	case TOK_NOT: *ret = EXPR_NOT; return true;
	case TOK_TILDE: *ret = EXPR_BITNOT; return true;
	case TOK_MUL: *ret = EXPR_DEREF; return true;
	default: return false;
	}
}

static int parse_prefixed(struct parser *p, struct expr **ret)
{
	AUTO_EXPR struct expr *a = NULL;
	size_t start = p->lx->tok.pos;
	enum expr_op op;
	int r;

	if (p->lx->tok.kind == TOK_PLUS) {
		r = lex_next(p->lx);
		return r ? r : parse_unary(p, ret);
	}
	if (!unary_of(p->lx->tok.kind, &op))
		return parse_primary(p, ret);
	r = lex_next(p->lx);
	if (!r)
		r = parse_unary(p, &a);
	return r ? r : make_node(p, op, start, a->pos + a->len, &a, NULL, ret);
}

static int parse_unary(struct parser *p, struct expr **ret)
{
	int r;

	if (++p->nesting > NESTING_MAX)
		return too_deep(p->lx, p->lx->tok.pos);
	r = parse_prefixed(p, ret);
	p->nesting--;
	return r;
}

static const struct binary *find_binary(enum token_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(binaries); i++)
		if (binaries[i].tok == kind)
			return &binaries[i];
	return NULL;
}

static int parse_binary(struct parser *p, int min_prec, struct expr **ret)
{
	AUTO_EXPR struct expr *left = NULL;
	const struct binary *binary;
	int r = parse_unary(p, &left);

	while (!r && (binary = find_binary(p->lx->tok.kind)) && binary->prec >= min_prec) {
		AUTO_EXPR struct expr *a = left, *b = NULL;

		left = NULL;
		r = lex_next(p->lx);
		if (!r)
			r = parse_binary(p, binary->prec + 1, &b);
		if (!r)
			r = make_node(p, binary->op, a->pos, b->pos + b->len, &a, &b, &left);
	}
	if (r)
		return r;
	*ret = left;
	left = NULL;
	return 0;
}

/* "? b : c" behind @a, which is moved into the result. */
static int parse_branches(struct parser *p, struct expr **a, struct expr **ret)
{
	AUTO_EXPR struct expr *b = NULL, *c = NULL;
	int r = lex_next(p->lx);

	if (!r)
		r = parse_cond(p, &b);
	if (r)
		return r;
	if (p->lx->tok.kind != TOK_COLON)
		return parse_unexpected(p->lx, p->what, "the ':' of '? :'");
	r = lex_next(p->lx);
	if (!r)
		r = parse_cond(p, &c);
	if (!r)
		r = make_node(p, EXPR_COND, (*a)->pos, c->pos + c->len, a, &b, ret);
	if (r)
		return r;
	(*ret)->c = c;
	c = NULL;
	return expr_depth(*ret) > EXPR_DEPTH_MAX ? too_deep(p->lx, (*ret)->pos) : 0;
}

static int parse_cond(struct parser *p, struct expr **ret)
{
	AUTO_EXPR struct expr *a = NULL;
	int r;

	if (++p->nesting > NESTING_MAX)
		return too_deep(p->lx, p->lx->tok.pos);
	r = parse_binary(p, 1, &a);
	if (!r && p->lx->tok.kind == TOK_QUESTION) {
		r = parse_branches(p, &a, ret);
	} else if (!r) {
		*ret = a;
		a = NULL;
	}
	p->nesting--;
	return r;
}

int parse_expr(struct lexer *lx, const char *what, struct expr **ret)
{
	struct parser p = { .lx = lx, .what = what };
	struct expr *e = NULL;
	int r = parse_cond(&p, &e);

	if (r)
		expr_free(e);
	else
		*ret = e;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* Types of expressions. Values have 64 bits; an operation is unsigned when a 64-bit unsigned operand takes part. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "probe/check.h"
#include "probe/eval.h"

static struct type int_type(uint8_t size, bool is_signed)
{
	return (struct type){ .kind = TYPE_INT, .size = size, .is_signed = is_signed };
}

static bool is_u64(const struct expr *e) { return e->type.size == 8 && !e->type.is_signed; }

static struct type common_type(const struct expr *a, const struct expr *b)
{
	return int_type(8, !is_u64(a) && !is_u64(b));
}

static int need_int(struct checker *c, const struct expr *e)
{
	char words[64], type[16];

	switch (e->type.kind) {
	case TYPE_FLOAT:
		return check_error(c, e, "%s is a %s: floats can be printed with %%f, but not used in expressions",
				   expr_source(c, e, words), type_name(&e->type, type));
	case TYPE_CHARS:
		return check_error(c, e, "%s is a string: compare it with == \"string\", or print it with %%s",
				   expr_source(c, e, words));
	case TYPE_LITERAL: return check_error(c, e, "a string can only be compared, with == and !=");
	default: return 0;
	}
}

static int need_ints(struct checker *c, const struct expr *e)
{
	int r = need_int(c, e->a);

	if (!r && e->b)
		r = need_int(c, e->b);
	return r || !e->c ? r : need_int(c, e->c);
}

static bool is_null(const struct expr *e) { return e->op == EXPR_INT && !e->value; }

/* Comparison of a string of a user event. */
static int check_user_string(struct checker *c, const struct expr *e)
{
	static const char *const kinds[] = { "begin",	       "end",  "mark",	 "count", "open", "thread-exited",
					     "process-exited", "exec", "evicted" };
	const struct expr *text = e->a, *literal = e->b;
	char words[64], type[16];

	if (text->type.kind != TYPE_CHARS)
		return check_error(c, text, "%s is %s, not a string; name, text, kind and comm are strings",
				   expr_source(c, text, words), type_name(&text->type, type));
	if (text->var != VAR_FIELD || text->index != USER_KIND)
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(literal->string, kinds[i]))
			return 0;
	return check_error(c, literal,
			   "kind must be \"begin\", \"end\", \"mark\" or \"count\", or for spans without an end "
			   "\"open\", \"thread-exited\", \"process-exited\", \"exec\" or \"evicted\"");
}

/* Comparison of strings: moves the literal to the right. */
static int check_string_compare(struct checker *c, struct expr *e)
{
	size_t max = check_is_user(c) ? USER_LITERAL_MAX : LITERAL_MAX;
	char words[64], type[16];
	struct expr *text = e->a;

	if (text->type.kind == TYPE_LITERAL || (check_is_user(c) && is_null(text))) {
		e->a = e->b;
		e->b = text;
		text = e->a;
	}
	if (check_is_user(c) && text->type.kind == TYPE_CHARS && text->var == VAR_FIELD && is_null(e->b))
		return 0;
	if (text->type.kind == TYPE_LITERAL || text->type.kind == TYPE_FLOAT)
		return check_error(c, e,
				   "a string can only be compared with comm, a string field, or an argument that "
				   "points to a string");
	if (e->b->type.kind != TYPE_LITERAL)
		return check_error(c, e, "a string can only be compared with a \"constant\", not with another value");
	if (!check_is_user(c) && text->type.kind == TYPE_INT && text->type.size != 8)
		return check_error(c, text, "%s is %s, too small for a pointer to a string",
				   expr_source(c, text, words), type_name(&text->type, type));
	if (e->b->string_len > max)
		return check_error(c, e->b, "strings in comparisons must not exceed %zu bytes", max);
	if (text->op == EXPR_VAR && text->var == VAR_COMM && e->b->string_len > 15)
		return check_error(c, e->b, "this can never be equal: the kernel truncates comm to 15 bytes");
	return check_is_user(c) ? check_user_string(c, e) : 0;
}

static bool is_string(const struct expr *e) { return e->type.kind == TYPE_CHARS || e->type.kind == TYPE_LITERAL; }

static int check_compare(struct checker *c, struct expr *e)
{
	bool equality = e->op == EXPR_EQ || e->op == EXPR_NE;

	e->type = int_type(4, true);
	if (equality && (is_string(e->a) || is_string(e->b)))
		return check_string_compare(c, e);
	return need_ints(c, e);
}

/* Pointer arithmetic as in C: multiplies @e by the size of the pointee. */
static int scale_by_pointee(struct checker *c, struct expr **e, uint8_t size)
{
	struct expr *mul, *k;

	if (size == 1)
		return 0;
	if ((*e)->op == EXPR_INT) {
		(*e)->value *= size;
		return 0;
	}
	mul = calloc(1, sizeof(*mul));
	k = calloc(1, sizeof(*k));
	if (!mul || !k) {
		free(mul);
		free(k);
		return ut_err_nomem(c->err);
	}
	*k = (struct expr){ .op = EXPR_INT, .pos = (*e)->pos, .len = (*e)->len, .value = size };
	k->type = int_type(8, true);
	*mul = (struct expr){ .op = EXPR_MUL, .pos = (*e)->pos, .len = (*e)->len, .a = *e, .b = k };
	mul->type = common_type(*e, k);
	*e = mul;
	return 0;
}

static int check_add(struct checker *c, struct expr *e)
{
	uint8_t left = e->a->type.pointee_size, right = e->b->type.pointee_size;

	e->type = common_type(e->a, e->b);
	if (!left && !right)
		return 0;
	if (left && right)
		return check_error(c, e, "two pointers cannot be added or subtracted; cast them to u64 first");
	if (right && e->op == EXPR_SUB)
		return check_error(c, e, "a pointer cannot be subtracted from a number");
	e->type = left ? e->a->type : e->b->type;
	return left ? scale_by_pointee(c, &e->b, left) : scale_by_pointee(c, &e->a, right);
}

static int check_arithmetic(struct checker *c, struct expr *e)
{
	int r = need_ints(c, e);

	if (r)
		return r;
	e->type = common_type(e->a, e->b);
	switch (e->op) {
	case EXPR_ADD:
	case EXPR_SUB: return check_add(c, e);
	case EXPR_DIV:
	case EXPR_MOD: return is_null(e->b) ? check_error(c, e->b, "division by zero") : 0;
	case EXPR_SHL:
	case EXPR_SHR:
		e->type = int_type(8, !is_u64(e->a));
		if ((e->b->op == EXPR_INT && e->b->value > 63) ||
		    (e->b->op == EXPR_NEG && e->b->a->op == EXPR_INT && e->b->a->value))
			return check_error(c, e->b, "values have 64 bits; a shift must be from 0 to 63");
		return 0;
	case EXPR_LAND:
	case EXPR_LOR: e->type = int_type(4, true); return 0;
	default: return 0;
	}
}

static int check_deref(struct checker *c, struct expr *e)
{
	char words[64];
	int r = need_int(c, e->a);

	if (r)
		return r;
	if (!e->a->type.pointee_size) {
		bool simple = e->a->op == EXPR_VAR || e->a->op == EXPR_INT || c->spec->text[e->a->pos] == '(';

		return check_error(c, e, "'*' needs the size of the value: cast to a pointer first, *(u32 *)%s%s%s",
				   simple ? "" : "(", expr_source(c, e->a, words), simple ? "" : ")");
	}
	e->type = int_type(e->a->type.pointee_size, e->a->type.pointee_signed);
	return 0;
}

static int check_unary(struct checker *c, struct expr *e)
{
	if (check_is_user(c) && (e->op == EXPR_DEREF || (e->op == EXPR_CAST && e->type.pointee_size)))
		return check_error(c, e,
				   "program memory cannot be read here: a user event records only its own fields");
	if (e->op == EXPR_DEREF)
		return check_deref(c, e);
	if (e->op == EXPR_NOT)
		e->type = int_type(4, true);
	else if (e->op != EXPR_CAST)
		e->type = int_type(8, !is_u64(e->a));
	return need_int(c, e->a);
}

static bool same_type(const struct type *a, const struct type *b)
{
	return a->kind == b->kind && a->size == b->size && a->is_signed == b->is_signed &&
	       a->is_pointer == b->is_pointer && a->pointee_size == b->pointee_size &&
	       a->pointee_signed == b->pointee_signed;
}

int check_expr(struct checker *c, struct expr *e)
{
	int r = e->a ? check_expr(c, e->a) : 0;

	if (!r && e->b)
		r = check_expr(c, e->b);
	if (!r && e->c)
		r = check_expr(c, e->c);
	if (r)
		return r;
	switch (e->op) {
	case EXPR_INT: return 0;
	case EXPR_STRING: e->type = (struct type){ .kind = TYPE_LITERAL }; return 0;
	case EXPR_VAR: return check_name(c, e);
	case EXPR_NEG:
	case EXPR_NOT:
	case EXPR_BITNOT:
	case EXPR_CAST:
	case EXPR_DEREF: return check_unary(c, e);
	case EXPR_COND:
		e->type = same_type(&e->b->type, &e->c->type) ? e->b->type : common_type(e->b, e->c);
		return need_ints(c, e);
	case EXPR_LT:
	case EXPR_LE:
	case EXPR_GT:
	case EXPR_GE:
	case EXPR_EQ:
	case EXPR_NE: return check_compare(c, e);
	default: return check_arithmetic(c, e);
	}
}

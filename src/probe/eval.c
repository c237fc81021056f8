/* SPDX-License-Identifier: MIT */
/* Evaluates checked expressions of user events, with the results of gen_expr.c. */
#include <string.h>

#include "probe/eval.h"

#define INT_TYPE(sign) \
	{ \
		.kind = TYPE_INT, .size = 8, .is_signed = (sign) \
	}

/* duration is signed, as for r:, so that it prints in decimal. */
static const struct probe_field user_fields[USER_FIELDS] = {
	[USER_KIND] = { .name = "kind", .type = { .kind = TYPE_CHARS } },
	[USER_NAME] = { .name = "name", .type = { .kind = TYPE_CHARS } },
	[USER_VALUE] = { .name = "value", .type = INT_TYPE(true) },
	[USER_ID] = { .name = "id", .type = INT_TYPE(false) },
	[USER_TEXT] = { .name = "text", .type = { .kind = TYPE_CHARS } },
	[USER_DURATION] = { .name = "duration", .type = INT_TYPE(true) },
};

static const struct probe_scope user_scope = {
	.kind = PROBE_USER,
	.display = "a user event",
	.fields = user_fields,
	.nfields = USER_FIELDS,
};

const struct probe_scope *eval_user_scope(void) { return &user_scope; }

static uint64_t extend_value(uint64_t v, const struct type *type)
{
	unsigned unused = type->size >= 8 ? 0 : 64 - 8u * type->size;

	return type->is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v << unused >> unused;
}

struct ut_text eval_string(const struct expr *e, const struct eval_scope *scope)
{
	if (e->var == VAR_FIELD)
		return scope->texts[e->index];
	return (struct ut_text){ .bytes = scope->comm, .len = strnlen(scope->comm, sizeof(scope->comm)) };
}

static bool strings_equal(const struct expr *e, const struct eval_scope *scope)
{
	struct ut_text text = eval_string(e->a, scope);
	bool is_there = ut_text_is_there(&text);

	if (e->b->op == EXPR_INT) /* NULL */
		return !is_there;
	return is_there && text.len == e->b->string_len && !memcmp(text.bytes, e->b->string, text.len);
}

static uint64_t eval_var(const struct expr *e, const struct eval_scope *scope)
{
	switch (e->var) {
	case VAR_FIELD: return scope->values[e->index];
	case VAR_PID: return scope->pid;
	case VAR_TID: return scope->tid;
	case VAR_CPU: return scope->cpu;
	case VAR_TIME: return scope->time_ns;
	default: return 0; /* the checker rejects all others */
	}
}

static bool is_unsigned64(const struct type *t) { return t->size == 8 && !t->is_signed; }

static bool compare_values(const struct expr *e, uint64_t a, uint64_t b)
{
	bool u = is_unsigned64(&e->a->type) || is_unsigned64(&e->b->type);
	bool less = u ? a < b : (int64_t)a < (int64_t)b;

	switch (e->op) {
	case EXPR_LT: return less;
	case EXPR_LE: return less || a == b;
	case EXPR_GT: return !less && a != b;
	case EXPR_GE: return !less;
	case EXPR_EQ: return a == b;
	default: return a != b;
	}
}

/* Truncates as C does, but divides magnitudes, so that INT64_MIN / -1 does not trap. */
static uint64_t divide(const struct expr *e, uint64_t a, uint64_t b)
{
	bool mod = e->op == EXPR_MOD, sign = !is_unsigned64(&e->type), minus_a, minus_b;
	uint64_t ret;

	if (!b)
		return mod ? a : 0;
	minus_a = sign && (int64_t)a < 0;
	minus_b = sign && (int64_t)b < 0;
	a = minus_a ? 0 - a : a;
	b = minus_b ? 0 - b : b;
	ret = mod ? a % b : a / b;
	return minus_a != (minus_b && !mod) ? 0 - ret : ret;
}

static uint64_t calculate(const struct expr *e, uint64_t a, uint64_t b)
{
	uint64_t ret;

	switch (e->op) {
	case EXPR_MUL: ret = a * b; break;
	case EXPR_ADD: ret = a + b; break;
	case EXPR_SUB: ret = a - b; break;
	case EXPR_AND: ret = a & b; break;
	case EXPR_OR: ret = a | b; break;
	case EXPR_XOR: ret = a ^ b; break;
	case EXPR_SHL: ret = a << (b & 63); break;
	case EXPR_SHR: ret = e->a->type.is_signed ? (uint64_t)((int64_t)a >> (b & 63)) : a >> (b & 63); break;
	case EXPR_DIV:
	case EXPR_MOD: ret = divide(e, a, b); break;
	default: return compare_values(e, a, b);
	}
	return extend_value(ret, &e->type);
}

static uint64_t eval_unary(const struct expr *e, const struct eval_scope *scope)
{
	uint64_t a = eval_expr(e->a, scope);

	switch (e->op) {
	case EXPR_NOT: return !a;
	case EXPR_NEG: return extend_value(0 - a, &e->type);
	case EXPR_BITNOT: return extend_value(~a, &e->type);
	default: return extend_value(a, &e->type); /* EXPR_CAST */
	}
}

uint64_t eval_expr(const struct expr *e, const struct eval_scope *scope)
{
	switch (e->op) {
	case EXPR_INT: return e->value;
	case EXPR_STRING:
	case EXPR_DEREF: /* the checker rejects both */ return 0;
	case EXPR_VAR: return eval_var(e, scope);
	case EXPR_NEG:
	case EXPR_NOT:
	case EXPR_BITNOT:
	case EXPR_CAST: return eval_unary(e, scope);
	case EXPR_LAND: return eval_expr(e->a, scope) && eval_expr(e->b, scope);
	case EXPR_LOR: return eval_expr(e->a, scope) || eval_expr(e->b, scope);
	case EXPR_COND: return extend_value(eval_expr(eval_expr(e->a, scope) ? e->b : e->c, scope), &e->type);
	case EXPR_EQ:
	case EXPR_NE:
		if (e->a->type.kind == TYPE_CHARS)
			return strings_equal(e, scope) == (e->op == EXPR_EQ);
		break;
	default: break;
	}
	return calculate(e, eval_expr(e->a, scope), eval_expr(e->b, scope));
}

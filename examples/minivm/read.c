// SPDX-License-Identifier: MIT
/*
 * Compiles source to bytecode in one pass. The language is minimal:
 *
 *	(def (NAME PARAMETER...) BODY...)   (let ((NAME VALUE)...) BODY...)   (set NAME VALUE)
 *	(if COND THEN [ELSE])  (while COND BODY...)  (do BODY...)  (and A B)  (or A B)  (spawn FUNCTION ARGUMENT...)
 *	(+ A B...)  (- A B)  (* A B)  (< A B)  (= A B)  (FUNCTION ARGUMENT...)  (PRIMITIVE ARGUMENT...)
 *	nil  12  "text"  NAME                ; comment
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"

#define LOCALS_MAX 64
#define NAME_MAX_LEN 40
#define NESTING_MAX 200

struct reader {
	const char *name, *at;
	unsigned line, nesting;
	struct program *program;
	struct function *f;
	char locals[LOCALS_MAX][NAME_MAX_LEN];
	unsigned visible; /* locals in scope */
	unsigned depth; /* values above the locals */
	char *err;
	size_t err_size;
	jmp_buf give_up;
};

_Noreturn static void wrong(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void wrong(struct reader *r, const char *format, ...)
{
	int len = snprintf(r->err, r->err_size, "%s:%u: ", r->name, r->line);
	va_list args;

	va_start(args, format);
	if (len >= 0 && (size_t)len < r->err_size)
		vsnprintf(r->err + len, r->err_size - (size_t)len, format, args);
	va_end(args);
	longjmp(r->give_up, 1);
}

/* ---- words ---- */

/* Returns the next significant character without consuming it; 0 at the end. */
static char peek(struct reader *r)
{
	for (;; r->at++) {
		if (*r->at == ';')
			r->at += strcspn(r->at, "\n");
		if (*r->at == '\n')
			r->line++;
		else if (!isspace((unsigned char)*r->at))
			return *r->at;
	}
}

static void expect(struct reader *r, char c)
{
	char found = peek(r);

	if (!found)
		wrong(r, "unexpected end of file, '%c' expected", c);
	if (found != c)
		wrong(r, "unexpected '%.20s', '%c' expected", r->at, c);
	r->at++;
}

static void read_name(struct reader *r, char ret[NAME_MAX_LEN])
{
	size_t len;

	peek(r);
	len = strcspn(r->at, " \t\r\n();\"");
	if (!*r->at)
		wrong(r, "unexpected end of file, name expected");
	if (!len)
		wrong(r, "unexpected '%c', name expected", *r->at);
	if (len >= NAME_MAX_LEN)
		wrong(r, "the name '%.20s...' is too long", r->at);
	memcpy(ret, r->at, len);
	ret[len] = 0;
	r->at += len;
}

/* ---- instructions ---- */

static unsigned emit(struct reader *r, enum op op, int64_t operand, int change)
{
	struct function *f = r->f;

	if (operand > OPERAND_MOST || operand < -OPERAND_MOST)
		wrong(r, "number %lld is too large", (long long)operand);
	if (f->count == f->room) {
		f->room = f->room ? 2 * f->room : 32;
		f->code = realloc(f->code, f->room * sizeof(*f->code));
		f->depth = realloc(f->depth, f->room * sizeof(*f->depth));
		if (!f->code || !f->depth)
			wrong(r, "out of memory");
	}
	f->depth[f->count] = (uint16_t)r->depth;
	f->code[f->count] = (uint32_t)op | (uint32_t)operand << 8;
	r->depth += (unsigned)change;
	if (r->depth > 1000)
		wrong(r, "the expression is too deep");
	if (r->depth > f->most_depth)
		f->most_depth = r->depth;
	return f->count++;
}

/* Patches an earlier jump to the current position. */
static void lands_here(struct reader *r, unsigned jump)
{
	r->f->code[jump] = (r->f->code[jump] & 0xff) | r->f->count << 8;
}

/* ---- expressions: each pushes one value ---- */

static void expression(struct reader *r);

static int find_local(const struct reader *r, const char *name)
{
	for (unsigned i = r->visible; i--;) {
		if (!strcmp(r->locals[i], name))
			return (int)i;
	}
	return -1;
}

static unsigned local(struct reader *r, const char *name)
{
	int found = find_local(r, name);

	if (found < 0)
		wrong(r, "'%s' is not a variable here", name);
	return (unsigned)found;
}

static void add_local(struct reader *r, const char *name)
{
	if (r->visible == LOCALS_MAX)
		wrong(r, "more than %d variables in '%s'", LOCALS_MAX, r->f->name);
	memcpy(r->locals[r->visible++], name, strlen(name) + 1);
	if (r->visible > r->f->locals)
		r->f->locals = r->visible;
}

/* Expressions up to the closing parenthesis; leaves the value of the last one. */
static void body(struct reader *r)
{
	if (peek(r) == ')') {
		emit(r, OP_NIL, 0, 1);
	} else {
		expression(r);
		while (peek(r) != ')') {
			emit(r, OP_POP, 0, -1);
			expression(r);
		}
	}
	expect(r, ')');
}

static void form_let(struct reader *r)
{
	unsigned visible = r->visible;
	char name[NAME_MAX_LEN];

	expect(r, '(');
	while (peek(r) != ')') {
		expect(r, '(');
		read_name(r, name);
		expression(r);
		add_local(r, name);
		emit(r, OP_SET, r->visible - 1, -1);
		expect(r, ')');
	}
	expect(r, ')');
	body(r);
	r->visible = visible;
}

static void form_set(struct reader *r)
{
	char name[NAME_MAX_LEN];
	unsigned slot;

	read_name(r, name);
	slot = local(r, name);
	expression(r);
	emit(r, OP_SET, slot, -1);
	emit(r, OP_LOCAL, slot, 1);
	expect(r, ')');
}

static void form_if(struct reader *r)
{
	unsigned to_else, to_end;

	expression(r);
	to_else = emit(r, OP_JUMP_FALSE, 0, -1);
	expression(r);
	to_end = emit(r, OP_JUMP, 0, -1);
	lands_here(r, to_else);
	if (peek(r) == ')')
		emit(r, OP_NIL, 0, 1);
	else
		expression(r);
	lands_here(r, to_end);
	expect(r, ')');
}

static void form_and(struct reader *r)
{
	unsigned to_false, to_end;

	expression(r);
	to_false = emit(r, OP_JUMP_FALSE, 0, -1);
	expression(r);
	to_end = emit(r, OP_JUMP, 0, -1);
	lands_here(r, to_false);
	emit(r, OP_NIL, 0, 1);
	lands_here(r, to_end);
	expect(r, ')');
}

static void form_or(struct reader *r)
{
	unsigned slot, to_second, to_end;

	add_local(r, "");
	slot = r->visible - 1;
	expression(r);
	emit(r, OP_SET, slot, -1);
	emit(r, OP_LOCAL, slot, 1);
	to_second = emit(r, OP_JUMP_FALSE, 0, -1);
	emit(r, OP_LOCAL, slot, 1);
	to_end = emit(r, OP_JUMP, 0, -1);
	lands_here(r, to_second);
	r->visible--;
	expression(r);
	lands_here(r, to_end);
	expect(r, ')');
}

static void form_while(struct reader *r)
{
	unsigned top = r->f->count, to_end;

	expression(r);
	to_end = emit(r, OP_JUMP_FALSE, 0, -1);
	body(r);
	emit(r, OP_POP, 0, -1);
	emit(r, OP_LOOP, top, 0);
	lands_here(r, to_end);
	emit(r, OP_NIL, 0, 1);
}

static unsigned arguments(struct reader *r)
{
	unsigned count = 0;

	for (; peek(r) != ')'; count++)
		expression(r);
	expect(r, ')');
	return count;
}

static struct function *known(struct reader *r, const char *name)
{
	struct function *f = program_find(r->program, name);

	if (!f)
		wrong(r, "'%s' is not a function", name);
	return f;
}

static void call(struct reader *r, const char *name, enum op op)
{
	struct function *f = known(r, name);
	unsigned count = arguments(r);

	if (count != f->arity)
		wrong(r, "'%s' requires %u arguments, not %u", name, f->arity, count);
	emit(r, op, f - r->program->functions, 1 - (int)count);
}

static void form_spawn(struct reader *r)
{
	char name[NAME_MAX_LEN];

	read_name(r, name);
	call(r, name, OP_SPAWN);
}

static const struct form {
	const char *name;
	void (*read)(struct reader *r);
} forms[] = {
	{ "let", form_let }, { "set", form_set }, { "if", form_if }, { "while", form_while },
	{ "do", body },	     { "and", form_and }, { "or", form_or }, { "spawn", form_spawn },
};

static const struct operator
{
	const char *name;
	enum op op;
	bool many;
}
operators[] = {
	{ "+", OP_ADD, true },	 { "*", OP_MUL, true },	   { "-", OP_SUB, false },
	{ "<", OP_LESS, false }, { "=", OP_EQUAL, false },
};

static void operation(struct reader *r, const struct operator* o)
{
	unsigned count = 1;

	expression(r);
	for (; peek(r) != ')'; count++) {
		expression(r);
		emit(r, o->op, 0, -1);
	}
	expect(r, ')');
	if (count < 2 || (count > 2 && !o->many))
		wrong(r, "'%s' requires %s arguments, not %u", o->name, o->many ? "two or more" : "two", count);
}

static bool primitive(struct reader *r, const char *name)
{
	for (unsigned i = 0; i < primitive_count; i++) {
		const struct primitive *p = &primitives[i];
		unsigned count;

		if (strcmp(p->name, name))
			continue;
		count = arguments(r);
		if (count != p->arity)
			wrong(r, "'%s' requires %u arguments, not %u", name, p->arity, count);
		emit(r, OP_PRIM, i, 1 - (int)count);
		return true;
	}
	return false;
}

static void list(struct reader *r)
{
	char name[NAME_MAX_LEN];

	read_name(r, name);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!strcmp(name, forms[i].name)) {
			forms[i].read(r);
			return;
		}
	}
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (!strcmp(name, operators[i].name)) {
			operation(r, &operators[i]);
			return;
		}
	}
	if (!primitive(r, name))
		call(r, name, OP_CALL);
}

static void text(struct reader *r)
{
	struct program *p = r->program;
	size_t len = strcspn(r->at, "\"\n");

	if (r->at[len] != '"')
		wrong(r, "unterminated string");
	if (p->text_count == TEXTS_MAX)
		wrong(r, "more than %d strings", TEXTS_MAX);
	p->texts[p->text_count] = (struct text_constant){ strndup(r->at, len), len };
	if (!p->texts[p->text_count].bytes)
		wrong(r, "out of memory");
	r->at += len + 1;
	emit(r, OP_TEXT, p->text_count++, 1);
}

static void atom(struct reader *r)
{
	char name[NAME_MAX_LEN], *end;
	long long number;

	read_name(r, name);
	number = strtoll(name, &end, 10);
	if (!*end)
		emit(r, OP_INT, number, 1);
	else if (!strcmp(name, "nil"))
		emit(r, OP_NIL, 0, 1);
	else
		emit(r, OP_LOCAL, local(r, name), 1);
}

static void expression(struct reader *r)
{
	if (++r->nesting > NESTING_MAX)
		wrong(r, "more than %d nested expressions", NESTING_MAX);
	switch (peek(r)) {
	case '(':
		r->at++;
		list(r);
		break;
	case '"':
		r->at++;
		text(r);
		break;
	case 0: wrong(r, "unexpected end of file, expression expected");
	default: atom(r);
	}
	r->nesting--;
}

/* ---- definitions, in two passes: names first, since a function may be called before it is defined ---- */

static struct function *new_function(struct reader *r, const char *name)
{
	struct function *f = &r->program->functions[r->program->function_count];

	if (program_find(r->program, name))
		wrong(r, "'%s' is defined twice", name);
	if (r->program->function_count == FUNCTIONS_MAX)
		wrong(r, "more than %d functions", FUNCTIONS_MAX);
	f->name = strdup(name);
	if (!f->name)
		wrong(r, "out of memory");
	r->program->function_count++;
	return f;
}

static void heading(struct reader *r, bool first_pass)
{
	char name[NAME_MAX_LEN];

	expect(r, '(');
	read_name(r, name);
	if (strcmp(name, "def"))
		wrong(r, "unexpected '%s', 'def' expected", name);
	expect(r, '(');
	read_name(r, name);
	r->f = first_pass ? new_function(r, name) : program_find(r->program, name);
	for (r->visible = 0; peek(r) != ')';) {
		read_name(r, name);
		add_local(r, name);
	}
	expect(r, ')');
	r->f->arity = r->visible;
}

static void skip_body(struct reader *r)
{
	for (unsigned open = 1; open;) {
		char c = peek(r);

		if (!c)
			wrong(r, "unexpected end of file in '%s'", r->f->name);
		r->at++;
		if (c == '"')
			r->at += strcspn(r->at, "\"\n");
		if (c == '"' && *r->at)
			r->at++;
		open += (c == '(') - (c == ')');
	}
}

static void read_all(struct reader *r, const char *source, bool first_pass)
{
	r->at = source;
	r->line = 1;
	while (peek(r)) {
		heading(r, first_pass);
		if (first_pass) {
			skip_body(r);
			continue;
		}
		body(r);
		emit(r, OP_RETURN, 0, -1);
	}
}

/* Returns false if wrong() was called. */
static bool read_program(struct reader *r, const char *source)
{
	const struct function *f;

	if (setjmp(r->give_up))
		return false;
	read_all(r, source, true);
	read_all(r, source, false);
	f = program_find(r->program, "main");
	if (!f || f->arity != 1)
		wrong(r, "no function 'main' with one parameter");
	return true;
}

struct program *program_read(const char *name, const char *source, char *err, size_t err_size)
{
	struct reader r = { .name = name, .program = calloc(1, sizeof(*r.program)), .err = err, .err_size = err_size };

	if (!r.program)
		snprintf(err, err_size, "out of memory");
	else if (!read_program(&r, source))
		return program_free(r.program);
	return r.program;
}

struct function *program_find(struct program *p, const char *name)
{
	for (unsigned i = 0; i < p->function_count; i++) {
		if (!strcmp(p->functions[i].name, name))
			return &p->functions[i];
	}
	return NULL;
}

struct program *program_free(struct program *p)
{
	for (unsigned i = 0; p && i < p->function_count; i++) {
		struct function *f = &p->functions[i];

		free(f->name);
		free(f->code);
		free(f->depth);
	}
	for (unsigned i = 0; p && i < p->text_count; i++)
		free(p->texts[i].bytes);
	free(p);
	return NULL;
}

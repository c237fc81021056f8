/* SPDX-License-Identifier: MIT */
/* Parses the operands of USDT notes as the compiler wrote them. Register names are in register.c. */
#include "probe/operand.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "elf/image.h"
#include "probe/register.h"

/* The text of one operand while it is parsed. A first failure makes it unreadable and ends the parsing. */
struct scan {
	const char *at, *end;
	struct operand *op;
};

static bool mark_unreadable(struct operand *op, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the reason, and keeps the known parts of the type. Returns false, for the caller to return. */
static bool mark_unreadable(struct operand *op, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(op->reason, sizeof(op->reason), fmt, ap);
	va_end(ap);
	op->kind = OPERAND_UNREADABLE;
	op->base = op->index = X86_NONE;
	op->scale = 1;
	op->shift = 0;
	op->disp = 0;
	op->value = op->sym_vaddr = 0;
	op->has_symbol = false;
	op->symbol[0] = '\0';
	return false;
}

static bool is_symbol_char(char c) { return is_word_char(c) || c == '.' || c == '$' || (unsigned char)c >= 0x80; }

static void skip_spaces(struct scan *s)
{
	while (s->at < s->end && is_blank(*s->at))
		s->at++;
}

static char peek_char(struct scan *s)
{
	skip_spaces(s);
	return s->at < s->end ? *s->at : '\0';
}

static bool accept(struct scan *s, char c)
{
	if (peek_char(s) != c || s->at == s->end)
		return false;
	s->at++;
	return true;
}

/* The longest run of symbol characters at the cursor. */
static size_t word_length(const struct scan *s)
{
	size_t n = 0;

	while (s->at + n < s->end && is_symbol_char(s->at[n]))
		n++;
	return n;
}

/* A whole word as the assembler reads it: 0x… hexadecimal, 0… octal, else decimal. */
static bool parse_integer(struct scan *s, uint64_t *ret)
{
	size_t n = word_length(s), i = 0;
	unsigned base = 10;
	uint64_t v = 0;

	if (n > 2 && s->at[0] == '0' && (s->at[1] | 0x20) == 'x') {
		base = 16;
		i = 2;
	} else if (n > 1 && s->at[0] == '0') {
		base = 8;
	}
	for (; i < n; i++) {
		int digit = hex_value(s->at[i]);

		if (digit < 0 || digit >= (int)base)
			return mark_unreadable(s->op, "contains the invalid number %.*s", (int)(n < 40 ? n : 40),
					       s->at);
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (uint64_t)digit, &v))
			return mark_unreadable(s->op, "contains a number that exceeds 64 bits");
	}
	s->at += n;
	*ret = v;
	return true;
}

/* A suffix after a symbol's '@' asks the linker for a relocation. */
static bool reject_relocation(struct scan *s, const char *suffix, size_t n)
{
	static const char *const thread_local_marks[] = { "tpoff", "dtpoff", "gottpoff", "tlsgd", "tlsld", "tlsdesc" };
	int shown = (int)(n < 24 ? n : 24);

	for (size_t i = 0; i < sizeof(thread_local_marks) / sizeof(*thread_local_marks); i++)
		if (strlen(thread_local_marks[i]) == n && strncasecmp(suffix, thread_local_marks[i], n) == 0)
			return mark_unreadable(s->op,
					       "is thread-local (@%.*s): its address differs from thread to thread",
					       shown, suffix);
	if (n >= 3 && strncasecmp(suffix, "GOT", 3) == 0)
		return mark_unreadable(s->op,
				       "uses the global offset table (@%.*s), whose address the note does not contain",
				       shown, suffix);
	return mark_unreadable(s->op, "needs a relocation (@%.*s)", shown, suffix);
}

static bool parse_symbol(struct scan *s)
{
	struct operand *op = s->op;
	size_t n = word_length(s);
	const char *name = s->at;

	s->at += n;
	if (accept(s, '@'))
		return reject_relocation(s, s->at, word_length(s));
	if (op->has_symbol)
		return mark_unreadable(op, "combines two symbols");
	if (n >= sizeof(op->symbol))
		return mark_unreadable(op, "refers to a symbol whose name is too long (%zu bytes)", n);
	memcpy(op->symbol, name, n);
	op->symbol[n] = '\0';
	op->has_symbol = true;
	return true;
}

/* One number or symbol with the sign before it. */
static bool parse_term(struct scan *s, bool minus, uint64_t *sum)
{
	uint64_t v;
	char c;

	while (accept(s, '-'))
		minus = !minus;
	c = peek_char(s);
	if (is_digit(c)) {
		if (!parse_integer(s, &v))
			return false;
		*sum += minus ? 0 - v : v;
		return true;
	}
	if (!is_symbol_char(c))
		return mark_unreadable(s->op, c ? "is not understood at '%.*s'" : "is incomplete%.*s",
				       c ? (int)(s->end - s->at < 24 ? s->end - s->at : 24) : 0, s->at);
	if (minus)
		return mark_unreadable(s->op, "subtracts a symbol");
	return parse_symbol(s);
}

/* Numbers and at most one symbol, in any order: 8, -4, sym, 12+sym, sym+12, sym-4. */
static bool parse_sum(struct scan *s, uint64_t *ret)
{
	uint64_t sum = 0;
	bool ok = parse_term(s, false, &sum);

	while (ok && (peek_char(s) == '+' || peek_char(s) == '-')) {
		bool negative = *s->at == '-';

		s->at++;
		ok = parse_term(s, negative, &sum);
	}
	*ret = sum;
	return ok;
}

/* A register name after '%'. False with a reason when it is none of the general registers. */
static bool parse_register(struct scan *s, struct register_name *ret)
{
	size_t n = word_length(s);
	const char *name = s->at;
	int shown = (int)(n < 24 ? n : 24);

	s->at += n;
	if (register_find(name, n, ret))
		return true;
	if (register_is_vector(name, n))
		return mark_unreadable(s->op, "is in %%%.*s, which the kernel does not provide", shown, name);
	return mark_unreadable(
		s->op, n ? "names %%%.*s, which is not a readable register" : "has no register name after '%%'%.*s",
		shown, name);
}

static bool parse_register_operand(struct scan *s)
{
	struct operand *op = s->op;
	struct register_name r;
	const char *name = s->at;

	if (s->end - s->at >= 3 && (memcmp(s->at, "fs:", 3) == 0 || memcmp(s->at, "gs:", 3) == 0))
		return mark_unreadable(op, "is thread-local (%%%.2s:…): its address differs from thread to thread",
				       name);
	if (!parse_register(s, &r))
		return false;
	if (r.reg == X86_RIP)
		return mark_unreadable(op, "names the instruction pointer");
	if (r.bytes < op->size)
		return mark_unreadable(op, "is declared as %u bytes wide, but %%%.*s has %u", op->size,
				       (int)(s->at - name), name, r.bytes);
	op->kind = OPERAND_REG;
	op->base = r.reg;
	op->shift = r.shift;
	return true;
}

/* %REG inside parentheses: 64 bits, since the CPU would truncate an address in a smaller one. */
static bool parse_address_register(struct scan *s, enum reg *ret)
{
	struct register_name r;
	const char *name;

	if (!accept(s, '%'))
		return mark_unreadable(s->op, s->at < s->end ? "lacks a register" : "is incomplete");
	name = s->at;
	if (!parse_register(s, &r))
		return false;
	if (r.bytes != 8)
		return mark_unreadable(s->op, "has an address in %%%.*s, which is not a 64-bit register",
				       (int)(s->at - name), name);
	*ret = r.reg;
	return true;
}

static bool parse_scale(struct scan *s)
{
	uint64_t scale;

	if (!is_digit(peek_char(s)))
		return mark_unreadable(s->op, s->at < s->end ? "lacks a scale" : "is incomplete");
	if (!parse_integer(s, &scale))
		return false;
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return mark_unreadable(s->op, "has the scale %llu; it must be 1, 2, 4 or 8", (unsigned long long)scale);
	s->op->scale = (uint8_t)scale;
	return true;
}

/* After '(': [%base][,%index[,scale]]) */
static bool parse_base_index(struct scan *s)
{
	struct operand *op = s->op;

	if (peek_char(s) != ',' && !parse_address_register(s, &op->base))
		return false;
	if (accept(s, ',')) {
		if (!parse_address_register(s, &op->index))
			return false;
		if (op->index == X86_RSP || op->index == X86_RIP || op->base == X86_RIP)
			return mark_unreadable(op, "has an invalid index register");
		if (accept(s, ',') && !parse_scale(s))
			return false;
	}
	if (!accept(s, ')'))
		return mark_unreadable(op, s->at < s->end ? "has no ')' where one is expected"
							  : "is incomplete: ')' is missing");
	return true;
}

static bool parse_memory(struct scan *s)
{
	struct operand *op = s->op;
	uint64_t disp = 0;

	op->kind = OPERAND_MEM;
	if (peek_char(s) != '(' && !parse_sum(s, &disp))
		return false;
	if (accept(s, '(') && !parse_base_index(s))
		return false;
	op->disp = (int64_t)disp;
	if (op->base != X86_RIP)
		return true;
	op->base = X86_NONE;
	return op->has_symbol || mark_unreadable(op, "is relative to an instruction that the note does not specify");
}

/* Truncates to @size bytes, then extends by the sign. */
static uint64_t extend_to_size(uint64_t v, uint8_t size, bool is_signed)
{
	unsigned unused = 64 - 8u * size;

	return is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v << unused >> unused;
}

static bool parse_constant(struct scan *s)
{
	struct operand *op = s->op;
	uint64_t v;

	if (!parse_sum(s, &v))
		return false;
	op->kind = op->has_symbol ? OPERAND_ADDR : OPERAND_CONST;
	if (op->has_symbol)
		op->disp = (int64_t)v;
	else
		op->value = extend_to_size(v, op->size, op->is_signed);
	return true;
}

/* [-]SIZE[f]@ */
static bool parse_size_mark(struct scan *s)
{
	struct operand *op = s->op;
	unsigned size = 0;
	const char *digits;

	op->is_signed = accept(s, '-');
	for (digits = s->at; s->at < s->end && is_digit(*s->at) && size < 1000; s->at++)
		size = size * 10 + (unsigned)(*s->at - '0');
	if (s->at == digits)
		return mark_unreadable(op, "has no size ('SIZE@' is missing)");
	if (size == 1 || size == 2 || size == 4 || size == 8)
		op->size = (uint8_t)size;
	op->is_float = s->at < s->end && *s->at == 'f';
	s->at += op->is_float;
	if (!accept(s, '@'))
		return mark_unreadable(op, "has no size ('SIZE@' is missing)");
	if (!op->size)
		return mark_unreadable(op, "is %u bytes wide; only 1, 2, 4 and 8 can be read", size);
	if (op->is_float && op->size < 4)
		return mark_unreadable(op, "is a floating-point number of %u bytes; only 4 and 8 can be read", size);
	return true;
}

static bool parse_location(struct scan *s)
{
	bool ok;

	if (!peek_char(s))
		return mark_unreadable(s->op, "has no location after its size");
	if (accept(s, '$'))
		ok = parse_constant(s);
	else if (accept(s, '%'))
		ok = parse_register_operand(s);
	else
		ok = parse_memory(s);
	if (ok && peek_char(s))
		ok = mark_unreadable(s->op, "is not understood from '%.*s' on",
				     (int)(s->end - s->at < 24 ? s->end - s->at : 24), s->at);
	return ok;
}

void operand_parse(const char *text, size_t len, struct operand *ret)
{
	struct scan s = { .at = text, .end = text + len, .op = ret };
	size_t cut;

	*ret = (struct operand){ .base = X86_NONE, .index = X86_NONE, .scale = 1 };
	while (s.end > s.at && is_blank(s.end[-1]))
		s.end--;
	skip_spaces(&s);
	cut = (size_t)(s.end - s.at) < sizeof(ret->text) ? (size_t)(s.end - s.at) : sizeof(ret->text) - 1;
	memcpy(ret->text, s.at, cut);
	if (parse_size_mark(&s))
		parse_location(&s);
}

/* True when a new operand begins at @p: [-][SIZE][f]@ */
static bool begins_operand(const char *p)
{
	p += *p == '-';
	while (is_digit(*p))
		p++;
	p += *p == 'f';
	return *p == '@';
}

/* End of the operand at @p. Spaces inside parentheses belong to it, unless the closing one is missing. */
static const char *operand_end(const char *p)
{
	bool inside = false;

	for (; *p; p++) {
		if (is_blank(*p)) {
			const char *next = p + strspn(p, " \t");

			if (!inside || !*next || begins_operand(next))
				return p;
			p = next - 1;
		} else if (*p == '(' || *p == ')') {
			inside = *p == '(';
		}
	}
	return p;
}

int operands_parse(const char *args, struct operands *ret)
{
	ret->n = 0;
	for (;;) {
		const char *end;

		args += strspn(args, " \t");
		if (!*args)
			return 0;
		if (ret->n == OPERANDS_MAX)
			return -E2BIG;
		end = operand_end(args);
		operand_parse(args, (size_t)(end - args), &ret->v[ret->n++]);
		args = end;
	}
}

void operand_resolve(struct operand *op, struct elf_image *img)
{
	char name[sizeof(op->symbol)];
	struct elf_symbol s;
	int r;

	if (!op->has_symbol)
		return;
	memcpy(name, op->symbol, sizeof(name));
	r = elf_symbol_find(img, name, &s);
	if (r == 1 && s.is_tls)
		mark_unreadable(op, "is %s, a thread-local variable: its address differs from thread to thread", name);
	else if (r == 1)
		op->sym_vaddr = s.vaddr;
	else if (r == -EEXIST)
		mark_unreadable(op, "refers to %s, which is ambiguous in this file", name);
	else if (r < 0)
		mark_unreadable(op, "refers to %s, but the symbol table cannot be read (%s)", name, strerror(-r));
	else if (strncmp(name, ".L", 2) == 0)
		mark_unreadable(op, "refers to %s, a compiler-generated label that is in no symbol table", name);
	else
		mark_unreadable(op, "refers to %s, which is in no symbol table of the file", name);
}

const char *operand_type_name(const struct operand *op)
{
	if (op->is_float)
		return op->size == 4 ? "float" : op->size == 8 ? "double" : "unknown";
	switch (op->size) {
	case 1: return op->is_signed ? "int8" : "uint8";
	case 2: return op->is_signed ? "int16" : "uint16";
	case 4: return op->is_signed ? "int32" : "uint32";
	case 8: return op->is_signed ? "int64" : "uint64";
	default: return "unknown";
	}
}

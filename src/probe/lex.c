/* SPDX-License-Identifier: MIT */
/* The lexer of the probe language, for everything after the probe's name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/err.h"
#include "probe/lex.h"

/* Longest first. */
static const struct {
	const char *text;
	enum token_kind kind;
} operators[] = {
	{ "<<=", TOK_UNKNOWN }, { ">>=", TOK_UNKNOWN }, { "===", TOK_UNKNOWN }, { "!==", TOK_UNKNOWN },
	{ "->", TOK_ARROW },	{ "<<", TOK_SHL },	{ ">>", TOK_SHR },	{ "<=", TOK_LE },
	{ ">=", TOK_GE },	{ "==", TOK_EQ },	{ "!=", TOK_NE },	{ "&&", TOK_LAND },
	{ "||", TOK_LOR },	{ "++", TOK_UNKNOWN },	{ "--", TOK_UNKNOWN },	{ "+=", TOK_UNKNOWN },
	{ "-=", TOK_UNKNOWN },	{ "*=", TOK_UNKNOWN },	{ "/=", TOK_UNKNOWN },	{ "%=", TOK_UNKNOWN },
	{ "&=", TOK_UNKNOWN },	{ "|=", TOK_UNKNOWN },	{ "^=", TOK_UNKNOWN },	{ "=~", TOK_UNKNOWN },
	{ "<>", TOK_UNKNOWN },	{ "(", TOK_LPAREN },	{ ")", TOK_RPAREN },	{ ",", TOK_COMMA },
	{ "?", TOK_QUESTION },	{ ":", TOK_COLON },	{ ".", TOK_DOT },	{ "!", TOK_NOT },
	{ "~", TOK_TILDE },	{ "*", TOK_MUL },	{ "/", TOK_DIV },	{ "%", TOK_MOD },
	{ "+", TOK_PLUS },	{ "-", TOK_MINUS },	{ "<", TOK_LT },	{ ">", TOK_GT },
	{ "&", TOK_AND },	{ "^", TOK_XOR },	{ "|", TOK_OR },	{ "=", TOK_UNKNOWN },
	{ "[", TOK_UNKNOWN },	{ "]", TOK_UNKNOWN },	{ ";", TOK_UNKNOWN },	{ "{", TOK_UNKNOWN },
	{ "}", TOK_UNKNOWN },
};

#define MICRO "\xc2\xb5" /* U+00B5, as times are printed */

static bool is_name_start(char c) { return is_alpha(c) || c == '_'; }

void lex_init(struct lexer *lx, const char *text, size_t pos, struct ut_err *err)
{
	memset(lx, 0, sizeof(*lx));
	lx->text = text;
	lx->pos = pos;
	lx->err = err;
}

void lex_done(struct lexer *lx)
{
	free(lx->tok.string);
	lx->tok.string = NULL;
}

bool lex_name_is(const struct lexer *lx, const char *name)
{
	return lx->tok.kind == TOK_NAME && lx->tok.len == strlen(name) &&
	       !memcmp(lx->text + lx->tok.pos, name, lx->tok.len);
}

/* One to two hexadecimal digits, or one to three octal ones. */
static bool lex_coded_char(const char *text, size_t *pos, char *ret)
{
	bool hex = text[*pos] == 'x';
	size_t p = *pos + hex, max = p + (hex ? 2 : 3);
	unsigned v = 0, base = hex ? 16 : 8;

	for (; p < max; p++) {
		int d = hex_value(text[p]);

		if (d < 0 || (unsigned)d >= base)
			break;
		v = v * base + (unsigned)d;
	}
	if (p == *pos + hex || v == 0 || v > 255)
		return false;
	*ret = (char)v;
	*pos = p;
	return true;
}

bool lex_char(const char *text, size_t *pos, char *ret)
{
	static const char names[] = "ntr\\\"'abfve?", values[] = "\n\t\r\\\"'\a\b\f\v\x1b?";
	size_t p = *pos;
	const char *known;

	if (text[p] != '\\') {
		*ret = text[p];
		(*pos)++;
		return true;
	}
	p++;
	if (text[p] == 'x' || (text[p] >= '0' && text[p] <= '7')) {
		if (!lex_coded_char(text, &p, ret))
			return false;
		*pos = p;
		return true;
	}
	known = text[p] ? strchr(names, text[p]) : NULL;
	if (!known)
		return false;
	*ret = values[known - names];
	*pos = p + 1;
	return true;
}

static int bad_escape(struct lexer *lx, size_t pos)
{
	size_t len = lx->text[pos + 1] ? 2 : 1;

	if (lx->text[pos + 1] == '0' || lx->text[pos + 1] == 'x')
		return probe_error_at(
			lx->text, pos, len, lx->err,
			"an escape needs a code from 1 to 255 (\\x1b, \\033); a string cannot contain NUL");
	return probe_error_at(
		lx->text, pos, len, lx->err,
		"unknown escape in a string; use \\n \\t \\r \\e \\\\ \\\" \\' \\a \\b \\f \\v, \\x1b or \\033");
}

static int lex_string(struct lexer *lx)
{
	size_t start = lx->pos, p = start + 1, n = 0;
	char *s = malloc(strlen(lx->text + start) + 1);

	if (!s)
		return ut_err_nomem(lx->err);
	lx->tok.string = s;
	while (lx->text[p] != '"') {
		if (!lx->text[p])
			return probe_error_at(lx->text, start, 1, lx->err, "this string has no closing '\"'");
		if (!lex_char(lx->text, &p, &s[n]))
			return bad_escape(lx, p);
		n++;
	}
	s[n] = '\0';
	lx->tok.kind = TOK_STRING;
	lx->tok.string_len = n;
	lx->pos = p + 1;
	return 0;
}

static int lex_char_constant(struct lexer *lx)
{
	size_t start = lx->pos, p = start + 1;
	char c;

	if (lx->text[p] == '\'' || !lx->text[p])
		return probe_error_at(lx->text, start, 1, lx->err, "a character is missing between the quotes");
	if (!lex_char(lx->text, &p, &c))
		return bad_escape(lx, p);
	if (lx->text[p] != '\'')
		return probe_error_at(
			lx->text, start, p - start, lx->err,
			"single quotes enclose one character of one byte; use \"double quotes\" for strings");
	lx->tok.kind = TOK_INT;
	lx->tok.value = (uint64_t)(int64_t)(signed char)c;
	lx->pos = p + 1;
	return 0;
}

static bool lex_suffix(const char *s, size_t len, bool *ret_unsigned)
{
	static const char *const known[] = { "", "u", "l", "ll", "ul", "ull", "lu", "llu" };
	char low[4] = "";

	if (len > 3)
		return false;
	for (size_t i = 0; i < len; i++)
		low[i] = to_lower(s[i]);
	*ret_unsigned = strchr(low, 'u') != NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(low, known[i]))
			return true;
	return false;
}

/* End of the word at @p, which may be a unit: "µ" counts as a letter. */
static size_t word_end(const char *text, size_t p)
{
	while (is_word_char(text[p]) || !strncmp(text + p, MICRO, sizeof(MICRO) - 1))
		p += is_word_char(text[p]) ? 1 : sizeof(MICRO) - 1;
	return p;
}

/* Nanoseconds in a unit of time; 0 when it is none. */
static uint64_t unit_ns(const char *s, size_t len)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1000 }, { MICRO "s", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len && !memcmp(units[i].name, s, len))
			return units[i].ns;
	return 0;
}

/* The end of a number: a unit of time, a suffix as in C, or an error. */
static int lex_number_end(struct lexer *lx, size_t start, size_t p, size_t end, unsigned base, uint64_t *v)
{
	uint64_t ns = unit_ns(lx->text + p, end - p);

	if (ns && (base == 10 || p == start + 1)) {
		if (__builtin_mul_overflow(*v, ns, v))
			return probe_error_at(lx->text, start, end - start, lx->err,
					      "this time exceeds 64 bits of nanoseconds");
		return 0;
	}
	if (lex_suffix(lx->text + p, end - p, &lx->tok.is_unsigned))
		return 0;
	return probe_error_at(lx->text, start, end - start, lx->err, "'%.*s' is not a number%s", (int)(end - start),
			      lx->text + start,
			      base == 8	   ? ": a leading 0 means octal, as in C"
			      : base == 10 ? "; the suffixes are U and L, and ns, us, ms and s for times"
					   : "");
}

static int lex_number(struct lexer *lx)
{
	size_t start = lx->pos, end = word_end(lx->text, start), p = start;
	unsigned base = 10;
	uint64_t v = 0;
	int d, r;

	if (lx->text[end] == '.' && is_digit(lx->text[end + 1]))
		return probe_error_at(
			lx->text, start, end + 2 - start, lx->err,
			"expressions support only integers; floats can be printed, but not used in expressions");
	if (lx->text[p] == '0' && to_lower(lx->text[p + 1]) == 'x' && hex_value(lx->text[p + 2]) >= 0) {
		base = 16;
		p += 2;
	} else if (lx->text[p] == '0') {
		base = 8;
	}
	for (; p < end && (d = hex_value(lx->text[p])) >= 0 && (unsigned)d < base; p++)
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (unsigned)d, &v))
			return probe_error_at(lx->text, start, end - start, lx->err, "this number exceeds 64 bits");
	r = lex_number_end(lx, start, p, end, base, &v);
	if (r)
		return r;
	lx->tok.is_unsigned |= v > INT64_MAX;
	lx->tok.kind = TOK_INT;
	lx->tok.value = v;
	lx->pos = end;
	return 0;
}

static int lex_operator(struct lexer *lx)
{
	const char *at = lx->text + lx->pos;

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		size_t len = strlen(operators[i].text);

		if (strncmp(at, operators[i].text, len))
			continue;
		lx->tok.kind = operators[i].kind;
		lx->pos += len;
		return 0;
	}
	if (*at == '$')
		return probe_error_at(lx->text, lx->pos, 1, lx->err,
				      "names are written without '$': pid, cpu, retval, arg1");
	return probe_error_at(lx->text, lx->pos, 1, lx->err, "unexpected character");
}

static int lex_one(struct lexer *lx)
{
	const char *at = lx->text + lx->pos;

	if (!*at)
		return 0;
	if (*at == '"')
		return lex_string(lx);
	if (*at == '\'')
		return lex_char_constant(lx);
	if (is_digit(*at))
		return lex_number(lx);
	if (!is_name_start(*at))
		return lex_operator(lx);
	while (is_word_char(lx->text[lx->pos]))
		lx->pos++;
	lx->tok.kind = TOK_NAME;
	return 0;
}

int lex_next(struct lexer *lx)
{
	int r;

	lex_done(lx);
	while (is_space(lx->text[lx->pos]))
		lx->pos++;
	lx->tok = (struct token){ .kind = TOK_END, .pos = lx->pos };
	r = lex_one(lx);
	lx->tok.len = lx->pos - lx->tok.pos;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* Type names of C, for casts. */
#include <errno.h>
#include <string.h>

#include "probe/parse.h"

struct named_type {
	const char *name;
	uint8_t size; /* 0: void */
	bool is_signed, is_bool;
};

static const struct named_type typedefs[] = {
	{ "int8_t", 1, true, false },	  { "int16_t", 2, true, false },   { "int32_t", 4, true, false },
	{ "int64_t", 8, true, false },	  { "uint8_t", 1, false, false },  { "uint16_t", 2, false, false },
	{ "uint32_t", 4, false, false },  { "uint64_t", 8, false, false }, { "u8", 1, false, false },
	{ "u16", 2, false, false },	  { "u32", 4, false, false },	   { "u64", 8, false, false },
	{ "s8", 1, true, false },	  { "s16", 2, true, false },	   { "s32", 4, true, false },
	{ "s64", 8, true, false },	  { "i8", 1, true, false },	   { "i16", 2, true, false },
	{ "i32", 4, true, false },	  { "i64", 8, true, false },	   { "__u8", 1, false, false },
	{ "__u16", 2, false, false },	  { "__u32", 4, false, false },	   { "__u64", 8, false, false },
	{ "__s8", 1, true, false },	  { "__s16", 2, true, false },	   { "__s32", 4, true, false },
	{ "__s64", 8, true, false },	  { "size_t", 8, false, false },   { "ssize_t", 8, true, false },
	{ "uintptr_t", 8, false, false }, { "intptr_t", 8, true, false },  { "ptrdiff_t", 8, true, false },
	{ "bool", 1, false, true },	  { "_Bool", 1, false, true },	   { "void", 0, false, false },
};

/* The keywords that C combines in any order. */
enum word { WORD_CHAR, WORD_SHORT, WORD_INT, WORD_LONG, WORD_SIGNED, WORD_UNSIGNED, WORDS };
static const char *const words[WORDS] = { "char", "short", "int", "long", "signed", "unsigned" };

static const char *const not_here[] = { "struct", "union", "enum", "float", "double" };

static const struct named_type *find_typedef(const struct lexer *lx)
{
	for (size_t i = 0; i < sizeof(typedefs) / sizeof(typedefs[0]); i++)
		if (lex_name_is(lx, typedefs[i].name))
			return &typedefs[i];
	return NULL;
}

static int find_word(const struct lexer *lx)
{
	for (int i = 0; i < WORDS; i++)
		if (lex_name_is(lx, words[i]))
			return i;
	return -1;
}

static bool is_qualifier(const struct lexer *lx) { return lex_name_is(lx, "const") || lex_name_is(lx, "volatile"); }

static bool is_not_here(const struct lexer *lx)
{
	for (size_t i = 0; i < sizeof(not_here) / sizeof(not_here[0]); i++)
		if (lex_name_is(lx, not_here[i]))
			return true;
	return false;
}

bool parse_is_type(const struct lexer *lx)
{
	return find_typedef(lx) || find_word(lx) >= 0 || is_qualifier(lx) || is_not_here(lx);
}

static int skip_qualifiers(struct lexer *lx)
{
	int r = 0;

	while (!r && is_qualifier(lx))
		r = lex_next(lx);
	return r;
}

static int skip_word(struct lexer *lx)
{
	int r = lex_next(lx);

	return r ? r : skip_qualifiers(lx);
}

/* False for combinations that C does not have, such as "short char". */
static bool combine(const unsigned *seen, struct named_type *ret)
{
	bool is_signed = !seen[WORD_UNSIGNED], none = true;

	for (int i = 0; i < WORDS; i++)
		none &= !seen[i];
	if (none || seen[WORD_SIGNED] + seen[WORD_UNSIGNED] > 1 || seen[WORD_INT] > 1 || seen[WORD_LONG] > 2 ||
	    seen[WORD_CHAR] + seen[WORD_SHORT] > 1 || (seen[WORD_CHAR] && (seen[WORD_INT] || seen[WORD_LONG])) ||
	    (seen[WORD_SHORT] && seen[WORD_LONG]))
		return false;
	*ret = (struct named_type){ .is_signed = is_signed, .size = 4 };
	if (seen[WORD_CHAR])
		ret->size = 1;
	else if (seen[WORD_SHORT])
		ret->size = 2;
	else if (seen[WORD_LONG])
		ret->size = 8;
	return true;
}

static int parse_words(struct lexer *lx, struct named_type *ret, bool *ret_char)
{
	unsigned seen[WORDS] = { 0 };
	size_t start = lx->tok.pos, end = start;
	int w, r;

	while ((w = find_word(lx)) >= 0) {
		seen[w]++;
		end = lx->tok.pos + lx->tok.len;
		r = skip_word(lx);
		if (r)
			return r;
	}
	*ret_char = seen[WORD_CHAR];
	if (!combine(seen, ret))
		return probe_error_at(lx->text, start, end - start, lx->err, "C has no such type");
	return 0;
}

static int parse_base(struct lexer *lx, struct named_type *ret, bool *ret_char)
{
	const struct named_type *known = find_typedef(lx);

	*ret_char = false;
	if (is_not_here(lx))
		return probe_error_at(lx->text, lx->tok.pos, lx->tok.len, lx->err,
				      "casts support integers and pointers to integers; read a member by its offset: "
				      "*(u32 *)(arg1 + 8)");
	if (!known)
		return parse_words(lx, ret, ret_char);
	*ret = *known;
	return skip_word(lx);
}

int parse_type(struct lexer *lx, struct type *ret, bool *ret_is_bool)
{
	size_t start = lx->tok.pos;
	struct named_type base = { 0 };
	unsigned stars = 0;
	bool is_char = false;
	int r = skip_qualifiers(lx);

	if (!r)
		r = parse_base(lx, &base, &is_char);
	while (!r && lx->tok.kind == TOK_MUL) {
		stars++;
		r = skip_word(lx);
	}
	if (r)
		return r;
	if (!stars && !base.size)
		return probe_error_at(lx->text, start, 4, lx->err, "a value cannot be void");
	*ret_is_bool = !stars && base.is_bool;
	*ret = (struct type){ .kind = TYPE_INT, .size = stars ? 8 : base.size, .is_signed = !stars && base.is_signed };
	if (stars) {
		ret->pointee_size = stars > 1 ? 8 : base.size;
		ret->pointee_signed = stars == 1 && base.is_signed;
		ret->is_pointer = stars == 1 && is_char;
	}
	return 0;
}

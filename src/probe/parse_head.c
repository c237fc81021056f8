/* SPDX-License-Identifier: MIT */
/* The head of a probe: KIND:WHERE[:PROVIDER]:NAME[+OFFSET], e:NAME, and s:SIGNAL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/err.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "probe/parse.h"

#define KINDS \
	"u (USDT probe), p (function entry), r (function return), t (kernel tracepoint), e (user event, e:NAME) and " \
	"s (a signal's handler, s:SIGSEGV)"

/* The first position from @pos on of one of @stops, a space or the end of the text. */
static size_t scan_until(const char *text, size_t pos, const char *stops)
{
	while (text[pos] && !is_space(text[pos]) && !strchr(stops, text[pos]))
		pos++;
	return pos;
}

static int no_kernel_functions(const char *text, size_t pos, size_t len, struct ut_err *err)
{
	return probe_error_at(text, pos, len, err,
			      "kernel functions cannot be traced, only those of programs and libraries: "
			      "p:LIBRARY:FUNCTION, such as p:c:malloc; use t:CATEGORY:EVENT for kernel tracepoints");
}

/* The error for an unknown kind: another tracer's name for a kind, a kernel function, or a missing kind. */
static int unknown_probe_kind(const char *text, size_t pos, size_t len, struct ut_err *err)
{
	static const struct {
		const char *word, *kind;
	} words[] = {
		{ "usdt", "u" },   { "sdt", "u" },    { "uprobe", "p" }, { "uretprobe", "r" }, { "tracepoint", "t" },
		{ "U", "u" },	   { "P", "p" },      { "R", "r" },	 { "T", "t" },	       { "E", "e" },
		{ "S", "s" },	   { "signal", "s" }, { "sig", "s" },	 { "user", "e" },      { "usertrace", "e" },
		{ "marker", "e" }, { "event", "e" },
	};
	static const char *const kernel[] = { "kprobe", "kretprobe", "kfunc", "kretfunc", "fentry", "fexit", "k" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == len && !memcmp(words[i].word, text + pos, len))
			return probe_error_at(text, pos, len, err,
					      "unknown kind '%s'; did you mean '%s'? There are " KINDS, words[i].word,
					      words[i].kind);
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
		if (strlen(kernel[i]) == len && !memcmp(kernel[i], text + pos, len))
			return no_kernel_functions(text, pos, len, err);
	return probe_error_at(text, pos, len, err, "a probe begins with its kind, as in u:%.*s:NAME; there are " KINDS,
			      (int)(len > 60 ? 60 : len), text + pos);
}

static int parse_kind(struct probe_spec *spec, size_t *pos, struct ut_err *err)
{
	const char *text = spec->text;
	size_t start = *pos, end = scan_until(text, start, ":\"(");
	static const struct {
		char letter;
		enum probe_kind kind;
	} kinds[] = {
		{ 'u', PROBE_USDT },	   { 'p', PROBE_ENTRY }, { 'r', PROBE_RETURN },
		{ 't', PROBE_TRACEPOINT }, { 'e', PROBE_USER },	 { 's', PROBE_SIGNAL },
	};

	if (!text[start])
		return probe_error_at(text, start, 0, err,
				      "the probe is empty; a probe is KIND:WHERE:NAME, such as u:python:gc__start");
	if (text[end] != ':')
		return probe_error_at(
			text, start, end - start, err,
			"a probe is KIND:WHERE:NAME, such as u:python:gc__start or p:c:malloc; the kinds are " KINDS);
	*pos = end + 1;
	spec->kind = PROBE_ENTRY;
	if (end == start) /* ":c:malloc": BCC's short form of p: */
		return 0;
	for (size_t i = 0; end - start == 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].letter == text[start]) {
			spec->kind = kinds[i].kind;
			return 0;
		}
	}
	return unknown_probe_kind(text, start, end - start, err);
}

static const char *where_word(enum probe_kind kind)
{
	switch (kind) {
	case PROBE_USDT: return "a provider, library or path";
	case PROBE_TRACEPOINT: return "a category";
	default: return "a library or path";
	}
}

static const char *name_word(enum probe_kind kind)
{
	switch (kind) {
	case PROBE_USDT: return "probe";
	case PROBE_TRACEPOINT:
	case PROBE_USER: return "event";
	case PROBE_SIGNAL: return "signal";
	default: return "function";
	}
}

static bool is_function_probe(const struct probe_spec *spec)
{
	return spec->kind == PROBE_ENTRY || spec->kind == PROBE_RETURN;
}

/* The error for a WHERE without a ':' after it. */
static int no_name(const struct probe_spec *spec, size_t start, size_t end, struct ut_err *err)
{
	const char *text = spec->text;

	if (end == start)
		return probe_error_at(text, end, 0, err, "%s and the %s are missing after ':'", where_word(spec->kind),
				      name_word(spec->kind));
	if (is_function_probe(spec) && !memchr(text + start, '/', end - start))
		return no_kernel_functions(text, start, end - start, err);
	if (is_space(text[end]) && strchr(text + end, ':') && memchr(text + start, '/', end - start))
		return probe_error_at(text, end, 1, err,
				      "put a path with spaces in double quotes: u:\"/opt/my program\":NAME");
	return probe_error_at(text, end, 0, err, "the %s is missing: %.*s:NAME", name_word(spec->kind),
			      (int)(end > 100 ? 100 : end), text);
}

static int parse_where(struct probe_spec *spec, size_t *pos, struct ut_err *err)
{
	const char *text = spec->text;
	size_t start = *pos, end;
	bool quoted = text[start] == '"';

	if (quoted) {
		const char *close = strchr(text + ++start, '"');

		if (!close)
			return probe_error_at(text, start - 1, 1, err, "this path has no closing '\"'");
		end = (size_t)(close - text);
		if (text[end + 1] != ':')
			return probe_error_at(text, end + 1, 1, err,
					      "':' and a name are missing after the quoted path");
	} else {
		end = scan_until(text, start, ":\"");
		if (text[end] != ':')
			return no_name(spec, start, end, err);
	}
	if (end == start && is_function_probe(spec))
		return no_kernel_functions(text, start, scan_until(text, end, "\"") - start, err);
	if (end == start)
		return probe_error_at(text, start, 0, err, "%s is missing between the colons", where_word(spec->kind));
	spec->where = strndup(text + start, end - start);
	spec->where_pos = start;
	*pos = end + quoted + 1;
	return spec->where ? 0 : ut_err_nomem(err);
}

static bool follows_operator(const char *text, size_t start, size_t pos)
{
	return pos - start >= 8 && !memcmp(text + pos - 8, "operator", 8);
}

/* End of a function's name. A '(' belongs to it only in C++'s operator(). */
static int scan_function(const char *text, size_t start, size_t *ret_end, struct ut_err *err)
{
	size_t end = scan_until(text, start, "\"(");

	while (text[end] == '(') {
		if (!follows_operator(text, start, end) || text[end + 1] != ')')
			return probe_error_at(text, end, 1, err,
					      "put a space between the function's name and the predicate; signatures "
					      "are not supported, arguments are arg1, arg2 …");
		end = scan_until(text, end + 2, "\"(");
	}
	*ret_end = end;
	return 0;
}

static bool is_named_freely(const struct probe_spec *spec)
{
	return is_function_probe(spec) || spec->kind == PROBE_USER || spec->kind == PROBE_SIGNAL;
}

static int check_name_bytes(const struct probe_spec *spec, size_t start, size_t end, struct ut_err *err)
{
	for (size_t i = start; i < end; i++) {
		unsigned char c = (unsigned char)spec->text[i];

		if (c < 0x20 || c == 0x7f)
			return probe_error_at(spec->text, i, 1, err, "a name cannot contain a control character");
		if (!is_named_freely(spec) && c < 0x80 && !is_alnum((char)c) && !strchr("_-*?$.", c))
			return probe_error_at(spec->text, i, 1, err, "the name of %s cannot contain '%c'",
					      spec->kind == PROBE_USDT ? "a probe" : "an event", c);
	}
	return 0;
}

/* The documentation of DTrace writes gc-start for gc__start in the object file. */
static int set_usdt_name(struct probe_spec *spec, size_t start, size_t end, struct ut_err *err)
{
	char *out = malloc(2 * (end - start) + 1), *p = out;

	if (!out)
		return ut_err_nomem(err);
	for (size_t i = start; i < end; i++) {
		if (spec->text[i] == '-')
			*p++ = '_';
		*p++ = spec->text[i] == '-' ? '_' : spec->text[i];
	}
	*p = '\0';
	spec->name = out;
	return 0;
}

/* A whole number that fills text[start, end). */
static bool parse_whole_number(const char *text, size_t start, size_t end, uint64_t *ret)
{
	char digits[32];

	if (end - start >= sizeof(digits))
		return false;
	memcpy(digits, text + start, end - start);
	digits[end - start] = '\0';
	return parse_u64(digits, ret) == 0;
}

/* Parses "+0x1f" at the end of a function's name, and moves *@end before it. */
static int parse_offset(struct probe_spec *spec, size_t start, size_t *end, struct ut_err *err)
{
	const char *text = spec->text, *plus = memrchr(text + start, '+', *end - start);
	size_t at;

	if (!plus)
		return 0;
	at = (size_t)(plus - text);
	if (!is_digit(text[at + 1])) {
		if (follows_operator(text, start, at) || (at > start && follows_operator(text, start, at - 1)))
			return 0;
		return probe_error_at(text, at, *end - at, err, "a number is missing after '+': FUNCTION+0x1f");
	}
	if (!parse_whole_number(text, at + 1, *end, &spec->offset))
		return probe_error_at(text, at + 1, *end - at - 1, err,
				      "'%.*s' is not an offset; write FUNCTION+31 or FUNCTION+0x1f",
				      (int)(*end - at - 1 > 60 ? 60 : *end - at - 1), text + at + 1);
	if (spec->kind == PROBE_RETURN)
		return probe_error_at(text, at, *end - at, err,
				      "r: traces the return of the function and takes no offset; p: does");
	spec->has_offset = true;
	*end = at;
	return 0;
}

/* p:PATH:0x1234 names an address of the file. */
static int parse_address(struct probe_spec *spec, size_t start, size_t end, struct ut_err *err)
{
	if (!is_digit(spec->text[start]))
		return 0;
	if (spec->kind == PROBE_RETURN)
		return probe_error_at(spec->text, start, end - start, err,
				      "r: needs a function name, because a wrong address would corrupt the program's "
				      "stack; p: takes addresses");
	if (spec->has_offset)
		return probe_error_at(spec->text, end, 1, err,
				      "an address takes no offset: add the offset to the address");
	if (!parse_whole_number(spec->text, start, end, &spec->offset))
		return probe_error_at(spec->text, start, end - start, err,
				      "'%.*s' is not an address; write p:PATH:0x1234",
				      (int)(end - start > 60 ? 60 : end - start), spec->text + start);
	spec->has_address = true;
	return 0;
}

static int parse_function(struct probe_spec *spec, size_t start, size_t *ret_end, struct ut_err *err)
{
	size_t end = start;
	int r = scan_function(spec->text, start, &end, err);

	if (r)
		return r;
	*ret_end = end;
	r = check_name_bytes(spec, start, end, err);
	if (!r)
		r = parse_offset(spec, start, &end, err);
	if (!r)
		r = parse_address(spec, start, end, err);
	if (r)
		return r;
	if (end == start)
		return probe_error_at(spec->text, start, 0, err, "the function is missing after ':'");
	spec->name = strndup(spec->text + start, end - start);
	if (!spec->name)
		return ut_err_nomem(err);
	if (spec->has_offset && glob_is_pattern(spec->name))
		return probe_error_at(spec->text, end, *ret_end - end, err,
				      "an offset needs one function, not a pattern");
	return 0;
}

static int parse_plain_name(struct probe_spec *spec, size_t start, size_t *ret_end, struct ut_err *err)
{
	const char *text = spec->text, *colon;
	size_t end = scan_until(text, start, "\"(");
	int r;

	/* WHERE:PROVIDER:NAME is offered for u: only. */
	colon = spec->kind == PROBE_USDT ? memchr(text + start, ':', end - start) : NULL;
	if (colon == text + start)
		return probe_error_at(text, start, 1, err, "the provider is missing between the colons");
	if (colon) {
		spec->provider = strndup(text + start, (size_t)(colon - text) - start);
		if (!spec->provider)
			return ut_err_nomem(err);
		start = (size_t)(colon - text) + 1;
	}
	*ret_end = end;
	spec->name_pos = start;
	if (end == start)
		return probe_error_at(spec->text, start, 0, err, "the %s is missing after ':'", name_word(spec->kind));
	r = check_name_bytes(spec, start, end, err);
	if (r)
		return r;
	if (spec->kind == PROBE_USDT)
		return set_usdt_name(spec, start, end, err);
	spec->name = strndup(spec->text + start, end - start);
	return spec->name ? 0 : ut_err_nomem(err);
}

/* A name in quotes, with the escapes of a string. */
static int parse_quoted_user(struct probe_spec *spec, size_t start, size_t *ret_end, struct ut_err *err)
{
	struct lexer lx;
	int r;

	lex_init(&lx, spec->text, start, err);
	r = lex_next(&lx);
	if (!r) {
		spec->name = lx.tok.string;
		lx.tok.string = NULL;
	}
	lex_done(&lx);
	if (r)
		return r;
	spec->name_pos = start + 1;
	*ret_end = lx.pos;
	if (spec->text[lx.pos] && !is_space(spec->text[lx.pos]) && !strchr("(\"", spec->text[lx.pos]))
		return probe_error_at(spec->text, lx.pos, 1, err, "a space is missing after the name in quotes");
	return 0;
}

/* e:NAME. Programs name their events as they like: colons, slashes and minus signs are part of the name. */
static int parse_user(struct probe_spec *spec, size_t start, size_t *ret_end, struct ut_err *err)
{
	size_t end = scan_until(spec->text, start, "\"(");
	int r;

	spec->where = strndup("", 0);
	if (!spec->where)
		return ut_err_nomem(err);
	spec->where_pos = start;
	if (spec->text[start] == '"')
		return parse_quoted_user(spec, start, ret_end, err);
	if (end == start)
		return probe_error_at(spec->text, start, 0, err,
				      "the event is missing after ':'; use e:NAME, or e:* for every user event");
	*ret_end = end;
	spec->name_pos = start;
	r = check_name_bytes(spec, start, end, err);
	if (r)
		return r;
	spec->name = strndup(spec->text + start, end - start);
	return spec->name ? 0 : ut_err_nomem(err);
}

/* s:SIGSEGV, s:SEGV, s:11, or a pattern: the name becomes the one that is printed. */
static int resolve_signal(struct probe_spec *spec, struct ut_err *err)
{
	char names[64][SIGNAL_NAME_SIZE];
	const char *list[64];
	uint64_t number;
	size_t best;

	if (glob_is_pattern(spec->name))
		return 0;
	if (parse_u64(spec->name, &number))
		number = 0;
	for (int i = 0; i < 64; i++) {
		list[i] = signal_name(i + 1, names[i]);
		if (number != (uint64_t)i + 1 && strcasecmp(spec->name, list[i]) && strcasecmp(spec->name, list[i] + 3))
			continue;
		free(spec->name);
		spec->name = strdup(list[i]);
		return spec->name ? 0 : ut_err_nomem(err);
	}
	if (suggest(spec->name, list, 64, &best, 1))
		return probe_error_at(spec->text, spec->name_pos, strlen(spec->name), err,
				      "unknown signal '%.60s'; did you mean '%s'?", spec->name, list[best]);
	return probe_error_at(spec->text, spec->name_pos, strlen(spec->name), err,
			      "unknown signal '%.60s'; use a name such as s:SIGSEGV, or s:* for every signal",
			      spec->name);
}

static int parse_signal(struct probe_spec *spec, size_t start, size_t *ret_end, struct ut_err *err)
{
	int r;

	if (spec->text[scan_until(spec->text, start, "\"(")] != '"' && scan_until(spec->text, start, "\"(") == start)
		return probe_error_at(
			spec->text, start, 0, err,
			"the signal is missing after ':'; use a name such as s:SIGSEGV, or s:* for every signal");
	r = parse_user(spec, start, ret_end, err);
	return r ? r : resolve_signal(spec, err);
}

int parse_head(struct probe_spec *spec, size_t *ret_end, struct ut_err *err)
{
	size_t pos = 0;
	int r;

	while (is_space(spec->text[pos]))
		pos++;
	r = parse_kind(spec, &pos, err);
	if (!r && spec->kind == PROBE_USER)
		return parse_user(spec, pos, ret_end, err);
	if (!r && spec->kind == PROBE_SIGNAL)
		return parse_signal(spec, pos, ret_end, err);
	if (!r)
		r = parse_where(spec, &pos, err);
	if (r)
		return r;
	spec->name_pos = pos;
	return is_function_probe(spec) ? parse_function(spec, pos, ret_end, err)
				       : parse_plain_name(spec, pos, ret_end, err);
}

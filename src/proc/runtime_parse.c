/* SPDX-License-Identifier: MIT */
/* The text of a runtime's .ini file to what it says. Pure; every mistake is told with file and line. */
#include "proc/runtime_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"

#define LINES_MAX 10000
#define MATCH_LITERALS_MIN 3	/* a pattern such as "*" or "a*" would claim half of the system */

enum section { SECTION_NONE, SECTION_RUNTIME, SECTION_PROBES };

struct parser {
	const char *origin;
	unsigned line;
	enum section section;
	struct runtime runtime;
	unsigned first_bare_probe;	/* line of the first probe without "PROVIDER:" */
	struct ut_err *err;
};

static int fail(const struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int fail(const struct parser *p, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	return ut_err_set(p->err, -EINVAL, "%s:%u: %s", p->origin, p->line, what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static char *trim(char *s)
{
	size_t len;

	while (is_blank(*s))
		s++;
	len = strlen(s);
	while (len && is_blank(s[len - 1]))
		s[--len] = '\0';
	return s;
}

/* Ends the line at a comment: '#' at its start or behind a blank, outside of double quotes. */
static void cut_comment(char *line)
{
	bool quoted = false;

	for (char *s = line; *s; s++) {
		if (quoted && *s == '\\' && s[1])
			s++;
		else if (*s == '"')
			quoted = !quoted;
		else if (*s == '#' && !quoted && (s == line || is_blank(s[-1])))
			*s = '\0';
		if (!*s)
			return;
	}
}

static bool quotes_are_closed(const char *s)
{
	bool quoted = false;

	for (; *s; s++) {
		if (quoted && *s == '\\' && s[1])
			s++;
		else if (*s == '"')
			quoted = !quoted;
	}
	return !quoted;
}

typedef typeof(((struct runtime *)NULL)->match) strings;	/* the header's three lists of texts have one type */

static int push_copy(struct parser *p, strings *to, const char *value)
{
	char *copy = strdup(value);

	if (!copy || vec_push(to, copy)) {
		free(copy);
		return ut_err_nomem(p->err);
	}
	return 0;
}

static int set_once(struct parser *p, char **where, const char *key, const char *value)
{
	if (*where)
		return fail(p, "'%s' comes a second time", key);
	*where = strdup(value);
	return *where ? 0 : ut_err_nomem(p->err);
}

static int key_name(struct parser *p, const char *value) { return set_once(p, &p->runtime.name, "name", value); }

static int key_language(struct parser *p, const char *value)
{
	return set_once(p, &p->runtime.language, "language", value);
}

static int key_kind(struct parser *p, const char *value)
{
	p->runtime.library = strcmp(value, "library") == 0;
	if (!p->runtime.library && strcmp(value, "runtime") != 0 && strcmp(value, "server") != 0)
		return fail(p, "unknown kind '%s': it is runtime, server or library", value);
	return 0;
}

static int key_match(struct parser *p, const char *value)
{
	size_t literals = 0;

	for (const char *s = value; *s; s++)
		literals += *s != '*' && *s != '?';
	if (strchr(value, '/'))
		return fail(p, "'%s' holds a '/': match is compared with the base name of a file", value);
	if (literals < MATCH_LITERALS_MIN)
		return fail(p, "the pattern '%s' fits too many files: it needs at least %d plain characters", value,
			    MATCH_LITERALS_MIN);
	return push_copy(p, &p->runtime.match, value);
}

static int key_provider(struct parser *p, const char *value) { return push_copy(p, &p->runtime.provider, value); }
static int key_hint(struct parser *p, const char *value) { return push_copy(p, &p->runtime.hint, value); }

/* "PROBE | what it shows"; the probe itself may hold a '|', so the last one counts. */
static int key_offer(struct parser *p, const char *value)
{
	const char *bar = NULL;
	struct runtime_offer offer;

	for (const char *s = strstr(value, " | "); s; s = strstr(s + 1, " | "))
		bar = s;
	if (!bar || bar == value)
		return fail(p, "an offer is written 'PROBE | what it shows'");
	offer.probe = strndup(value, (size_t)(bar - value));
	offer.what = strdup(bar + 3);
	if (!offer.probe || !offer.what || vec_push(&p->runtime.offer, offer)) {
		free(offer.probe);
		free(offer.what);
		return ut_err_nomem(p->err);
	}
	return 0;
}

static const struct key {
	const char *name;
	int (*set)(struct parser *p, const char *value);
} keys[] = {
	{"name", key_name}, {"language", key_language}, {"kind", key_kind}, {"match", key_match},
	{"provider", key_provider}, {"offer", key_offer}, {"hint", key_hint},
};

static int unknown_key(const struct parser *p, const char *name)
{
	const char *names[ARRAY_SIZE(keys)];
	size_t best;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		names[i] = keys[i].name;
	if (suggest(name, names, ARRAY_SIZE(keys), &best, 1))
		return fail(p, "unknown key '%s' in [runtime]; did you mean '%s'?", name, names[best]);
	return fail(p, "unknown key '%s' in [runtime]; there are name, language, kind, match, provider, offer, hint",
		    name);
}

static int runtime_line(struct parser *p, const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(key, keys[i].name) == 0)
			return keys[i].set(p, value);
	return unknown_key(p, key);
}

static void format_free(struct runtime_format *f)
{
	free(f->provider);
	free(f->probe);
	free(f->format);
}

/* A probe without "PROVIDER:" belongs to the first provider, which may come later: provider is NULL until then. */
static int probe_line(struct parser *p, const char *key, const char *value)
{
	const char *colon = strchr(key, ':');
	struct runtime_format f = {0};

	if (!quotes_are_closed(value))
		return fail(p, "the format of '%s' has no closing quote", key);
	if (colon == key || (colon && !colon[1]))
		return fail(p, "'%s' is no probe: it is written NAME or PROVIDER:NAME", key);
	if (!colon && !p->first_bare_probe)
		p->first_bare_probe = p->line;
	f.provider = colon ? strndup(key, (size_t)(colon - key)) : NULL;
	f.probe = strdup(colon ? colon + 1 : key);
	f.format = strdup(value);
	if ((colon && !f.provider) || !f.probe || !f.format || vec_push(&p->runtime.format, f)) {
		format_free(&f);
		return ut_err_nomem(p->err);
	}
	return 0;
}

static int section_line(struct parser *p, const char *line)
{
	if (strcmp(line, "[runtime]") == 0)
		p->section = SECTION_RUNTIME;
	else if (strcmp(line, "[probes]") == 0)
		p->section = SECTION_PROBES;
	else
		return fail(p, "unknown section '%s'; there are [runtime] and [probes]", line);
	return 0;
}

static int parse_line(struct parser *p, char *line)
{
	char *equals, *key, *value;

	if (*line == ';')
		return 0;
	cut_comment(line);
	line = trim(line);
	if (!*line)
		return 0;
	if (*line == '[')
		return section_line(p, line);
	if (p->section == SECTION_NONE)
		return fail(p, "'%.60s' stands before any section; the file begins with [runtime]", line);
	equals = strchr(line, '=');
	if (!equals)
		return fail(p, "'%.60s' is no 'key = value'", line);
	*equals = '\0';
	key = trim(line);
	value = trim(equals + 1);
	if (!*key)
		return fail(p, "the key before '=' is missing");
	if (!*value)
		return fail(p, "'%s' has no value", key);
	return p->section == SECTION_RUNTIME ? runtime_line(p, key, value) : probe_line(p, key, value);
}

static int parse_lines(struct parser *p, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		int r;

		if (++p->line > LINES_MAX)
			return fail(p, "more than %d lines", LINES_MAX);
		r = parse_line(p, line);
		if (r)
			return r;
	}
	return 0;
}

/* What only the whole file can tell. */
static int finish(struct parser *p)
{
	struct runtime *r = &p->runtime;

	p->line = 1;
	if (!r->name)
		return fail(p, "[runtime] has no name");
	if (!r->match.n)
		return fail(p, "[runtime] has no match: how is %s recognised?", r->name);
	if (!r->language && !(r->language = strdup("")))
		return ut_err_nomem(p->err);
	for (size_t i = 0; i < r->format.n; i++) {
		if (r->format.v[i].provider)
			continue;
		if (!r->provider.n) {
			p->line = p->first_bare_probe;
			return fail(p, "probe '%s' has no provider, and [runtime] names none", r->format.v[i].probe);
		}
		r->format.v[i].provider = strdup(r->provider.v[0]);
		if (!r->format.v[i].provider)
			return ut_err_nomem(p->err);
	}
	return 0;
}

static void strings_free(strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	vec_done(s);
}

void runtime_done(struct runtime *r)
{
	free(r->name);
	free(r->language);
	strings_free(&r->match);
	strings_free(&r->provider);
	strings_free(&r->hint);
	for (size_t i = 0; i < r->offer.n; i++) {
		free(r->offer.v[i].probe);
		free(r->offer.v[i].what);
	}
	vec_done(&r->offer);
	for (size_t i = 0; i < r->format.n; i++)
		format_free(&r->format.v[i]);
	vec_done(&r->format);
}

/* Puts @r among the others, in the place of one of the same name. Takes it over on success. */
static int add_runtime(struct runtimes *into, const struct runtime *r, struct ut_err *err)
{
	for (size_t i = 0; i < into->all.n; i++)
		if (strcmp(into->all.v[i].name, r->name) == 0) {
			runtime_done(&into->all.v[i]);
			into->all.v[i] = *r;
			return 0;
		}
	return vec_push(&into->all, *r) ? ut_err_nomem(err) : 0;
}

int runtimes_parse(const char *origin, const char *text, size_t len, struct runtimes *into, struct ut_err *err)
{
	struct parser p = {.origin = origin, .err = err};
	AUTO_FREE char *copy = NULL;
	int r;

	if (memchr(text, '\0', len)) {
		p.line = 1;
		return fail(&p, "holds a NUL byte: this is no text file");
	}
	copy = strndup(text, len);
	if (!copy)
		return ut_err_nomem(err);
	r = parse_lines(&p, copy);
	if (!r)
		r = finish(&p);
	if (!r)
		r = add_runtime(into, &p.runtime, err);
	if (r)
		runtime_done(&p.runtime);
	return r;
}

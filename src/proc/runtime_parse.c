/* SPDX-License-Identifier: MIT */
/* The text of a runtime's .ini file to what it says. Pure; every mistake is told with file and line. */
#include "proc/runtime_priv.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/text.h"

#define LINES_MAX 10000
#define MATCH_LITERALS_MIN 3 /* a pattern such as "*" or "a*" would claim half of the system */

#define PREFIX_MAX 64

static char *trim(char *s)
{
	size_t len;

	while (is_line_blank(*s))
		s++;
	len = strlen(s);
	while (len && is_line_blank(s[len - 1]))
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
		else if (*s == '#' && !quoted && (s == line || is_line_blank(s[-1])))
			*s = '\0';
		if (!*s)
			return;
	}
}

static int key_kind(struct ini_parser *p, const char *value)
{
	if (p->kind_given)
		return ini_fail(p, "duplicate key 'kind'");
	p->kind_given = true;
	p->runtime.library = strcmp(value, "library") == 0;
	if (!p->runtime.library && strcmp(value, "runtime") != 0 && strcmp(value, "server") != 0)
		return ini_fail(p, "unknown kind '%s': must be runtime, server or library", value);
	return 0;
}

static int key_match(struct ini_parser *p, const char *value)
{
	size_t literals = 0;

	for (const char *s = value; *s; s++)
		literals += *s != '*' && *s != '?';
	if (strchr(value, '/'))
		return ini_fail(p, "'%s' contains a '/', but match applies to the base name of a file", value);
	if (literals < MATCH_LITERALS_MIN)
		return ini_fail(p, "the pattern '%s' matches too many files: it needs at least %d literal characters",
				value, MATCH_LITERALS_MIN);
	return ini_push_copy(p, &p->runtime.match, value);
}

/* "PROBE | what it shows"; the probe itself may hold a '|', so the last one counts. */
static int key_offer(struct ini_parser *p, const char *value)
{
	const char *bar = NULL;
	struct runtime_offer offer;

	for (const char *s = strstr(value, " | "); s; s = strstr(s + 1, " | "))
		bar = s;
	if (!bar || bar == value)
		return ini_fail(p, "an offer has the form 'PROBE | DESCRIPTION'");
	offer.probe = strndup(value, (size_t)(bar - value));
	offer.what = strdup(bar + 3);
	if (!offer.probe || !offer.what || vec_push(&p->runtime.offer, offer)) {
		free(offer.probe);
		free(offer.what);
		return ut_err_nomem(p->err);
	}
	return 0;
}

/* «"node v"», where \" and \\ stand for themselves; NULL when it is not that. */
static char *unquote(const char *s)
{
	char *ret = malloc(strlen(s) + 1), *to = ret;

	if (!ret || *s++ != '"')
		goto bad;
	for (; *s && *s != '"'; s++) {
		if (*s == '\\' && (s[1] == '"' || s[1] == '\\'))
			s++;
		*to++ = *s;
	}
	*to = '\0';
	if (s[0] == '"' && !s[1] && to > ret)
		return ret;
bad:
	free(ret);
	return NULL;
}

/* What stands behind "version = text". */
static int version_prefix(struct ini_parser *p, const char *value, char **ret)
{
	while (is_line_blank(*value))
		value++;
	*ret = unquote(value);
	if (!*ret)
		return ini_fail(p, "the string before the version must be in double quotes: version = text \"node v\"");
	return strlen(*ret) > PREFIX_MAX
		       ? ini_fail(p, "the string before the version is longer than %d bytes", PREFIX_MAX)
		       : 0;
}

static int key_version(struct ini_parser *p, const char *value)
{
	struct runtime_version v = { 0 };
	int r = 0;

	v.in_text = !strncmp(value, "text", 4) && (is_line_blank(value[4]) || value[4] == '"');
	if (v.in_text)
		r = version_prefix(p, value + 4, &v.prefix);
	else if (strcmp(value, "name") != 0)
		r = ini_fail(p, "unknown version '%s': must be name, or text \"PREFIX\"", value);
	if (!r && vec_push(&p->runtime.version, v))
		r = ut_err_nomem(p->err);
	if (r)
		free(v.prefix);
	return r;
}

static int key_symbol(struct ini_parser *p, const char *value)
{
	if (!*value || strpbrk(value, " \t*?"))
		return ini_fail(p, "'%s' is not a function name: symbol must be a whole name", value);
	return ini_push_copy(p, &p->runtime.symbol, value);
}

/* "since 3.12: python3 -X perf", or what holds for all versions. */
static int key_map(struct ini_parser *p, const char *value)
{
	struct runtime_map m = { 0 };
	const char *since = value + 5, *colon = strchr(value, ':');

	if (!strncmp(value, "since", 5) && is_line_blank(*since)) {
		while (is_line_blank(*since))
			since++;
		if (!colon || colon <= since || strspn(since, "0123456789.") != (size_t)(colon - since) || !colon[1])
			return ini_fail(p, "a map for some versions has the form 'map = since 3.12: COMMAND'");
		m.since = strndup(since, (size_t)(colon - since));
		for (value = colon + 1; is_line_blank(*value);)
			value++;
	}
	m.text = strdup(value);
	if (!m.text || vec_push(&p->runtime.map, m)) {
		free(m.since);
		free(m.text);
		return ut_err_nomem(p->err);
	}
	return 0;
}

static const struct ini_key keys[] = {
	{ "name", INI_STRING, NULL, offsetof(struct runtime, name) },
	{ "language", INI_STRING, NULL, offsetof(struct runtime, language) },
	{ "kind", INI_SET, key_kind, 0 },
	{ "match", INI_SET, key_match, 0 },
	{ "symbol", INI_SET, key_symbol, 0 },
	{ "provider", INI_STRINGS, NULL, offsetof(struct runtime, provider) },
	{ "version", INI_SET, key_version, 0 },
	{ "collector", INI_THREAD, NULL, offsetof(struct runtime, collector) },
	{ "service", INI_THREAD, NULL, offsetof(struct runtime, service) },
	{ "none", INI_STRING, NULL, offsetof(struct runtime, none) },
	{ "offer", INI_SET, key_offer, 0 },
	{ "hint", INI_STRINGS, NULL, offsetof(struct runtime, hint) },
	{ "map", INI_SET, key_map, 0 },
};

static void format_free(struct runtime_format *f)
{
	free(f->provider);
	free(f->probe);
	free(f->format);
}

/* A probe without "PROVIDER:" belongs to the first provider, which may come later: provider is NULL until then. */
static int probe_line(struct ini_parser *p, const char *key, const char *value)
{
	const char *colon = strchr(key, ':');
	struct runtime_format f = { 0 };

	if (!ini_quotes_are_closed(value))
		return ini_fail(p, "the format of '%s' has no closing quote", key);
	if (colon == key || (colon && !colon[1]))
		return ini_fail(p, "'%s' is not a probe: it must be NAME or PROVIDER:NAME", key);
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

static int section_line(struct ini_parser *p, char *line)
{
	size_t len = strlen(line);

	if (strcmp(line, "[runtime]") == 0) {
		p->section = INI_RUNTIME;
	} else if (strcmp(line, "[probes]") == 0) {
		p->section = INI_PROBES;
	} else if (!strncmp(line, "[span", 5) && (is_line_blank(line[5]) || line[5] == ']') && line[len - 1] == ']') {
		line[len - 1] = '\0';
		p->section = INI_SPAN;
		return span_section(p, trim(line + 5));
	} else {
		return ini_fail(p, "unknown section '%s'; valid sections: [runtime], [probes] and [span KIND]", line);
	}
	return 0;
}

static int key_line(struct ini_parser *p, const char *key, const char *value)
{
	switch (p->section) {
	case INI_RUNTIME: return ini_set_key(p, &p->runtime, keys, ARRAY_SIZE(keys), "[runtime]", key, value);
	case INI_SPAN: return span_line(p, key, value);
	default: return probe_line(p, key, value);
	}
}

static int parse_ini_line(struct ini_parser *p, char *line)
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
	if (p->section == INI_NONE)
		return ini_fail(p, "'%.60s' is outside any section; the file must begin with [runtime]", line);
	equals = strchr(line, '=');
	if (!equals)
		return ini_fail(p, "'%.60s' is not of the form 'key = value'", line);
	*equals = '\0';
	key = trim(line);
	value = trim(equals + 1);
	if (!*key)
		return ini_fail(p, "the key before '=' is missing");
	if (!*value)
		return ini_fail(p, "'%s' has no value", key);
	return key_line(p, key, value);
}

static int parse_lines(struct ini_parser *p, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		int r;

		if (++p->line > LINES_MAX)
			return ini_fail(p, "more than %d lines", LINES_MAX);
		r = parse_ini_line(p, line);
		if (r)
			return r;
	}
	return 0;
}

/* What only the whole file can tell. */
static int check_runtime(struct ini_parser *p)
{
	struct runtime *r = &p->runtime;

	p->line = 1;
	if (!r->name)
		return ini_fail(p, "[runtime] has no name");
	if (!r->match.n && !r->symbol.n)
		return ini_fail(p, "[runtime] has no match, so %s cannot be recognized", r->name);
	if (!r->language && !(r->language = strdup("")))
		return ut_err_nomem(p->err);
	for (size_t i = 0; i < r->format.n; i++) {
		if (r->format.v[i].provider)
			continue;
		if (!r->provider.n) {
			p->line = p->first_bare_probe;
			return ini_fail(p, "probe '%s' has no provider, and neither has [runtime]",
					r->format.v[i].probe);
		}
		r->format.v[i].provider = strdup(r->provider.v[0]);
		if (!r->format.v[i].provider)
			return ut_err_nomem(p->err);
	}
	return spans_finish(p);
}

static void strings_free(ini_strings *s)
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
	strings_free(&r->symbol);
	strings_free(&r->provider);
	strings_free(&r->hint);
	strings_free(&r->collector);
	strings_free(&r->service);
	free(r->none);
	free(r->origin);
	for (size_t i = 0; i < r->version.n; i++)
		free(r->version.v[i].prefix);
	vec_done(&r->version);
	for (size_t i = 0; i < r->map.n; i++) {
		free(r->map.v[i].since);
		free(r->map.v[i].text);
	}
	vec_done(&r->map);
	for (size_t i = 0; i < r->offer.n; i++) {
		free(r->offer.v[i].probe);
		free(r->offer.v[i].what);
	}
	vec_done(&r->offer);
	for (size_t i = 0; i < r->format.n; i++)
		format_free(&r->format.v[i]);
	vec_done(&r->format);
	for (size_t i = 0; i < r->span.n; i++)
		span_done(&r->span.v[i]);
	vec_done(&r->span);
}

/* Puts @r among the others, in the place of one of the same name. Takes it over on success. */
static int insert_runtime(struct runtimes *into, const struct runtime *r, struct ut_err *err)
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
	struct ini_parser p = { .origin = origin, .err = err };
	AUTO_FREE char *copy = NULL;
	int r;

	if (memchr(text, '\0', len)) {
		p.line = 1;
		return ini_fail(&p, "contains a NUL byte and is not a text file");
	}
	copy = strndup(text, len);
	p.runtime.origin = strdup(origin);
	if (!copy || !p.runtime.origin) {
		runtime_done(&p.runtime);
		return ut_err_nomem(err);
	}
	r = parse_lines(&p, copy);
	if (!r)
		r = check_runtime(&p);
	if (!r)
		r = insert_runtime(into, &p.runtime, err);
	if (r)
		runtime_done(&p.runtime);
	else
		runtime_cache_reset(into);
	return r;
}

/* SPDX-License-Identifier: MIT */
/* The [span KIND] sections of a runtime's .ini file: the probes that begin and end a span, and its names. */
#include "proc/runtime_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/text.h"

#define VALUES_MAX 64 /* names that a message compares with */
#define VALUE_LEN_MAX 32

static struct runtime_span *newest_span(struct ini_parser *p) { return &p->runtime.span.v[p->runtime.span.n - 1]; }

int span_section(struct ini_parser *p, char *kind)
{
	struct runtime_span s = { .line = p->line };

	if (!*kind)
		return ini_fail(p, "the kind is missing, as in [span gc]; valid kinds: %s", RUNTIME_KINDS);
	if (ini_check_kind(p, kind))
		return -EINVAL;
	s.stops = !strcmp(kind, "gc") || !strcmp(kind, "gc-phase") || !strcmp(kind, "safepoint");
	s.kind = strdup(kind);
	if (!s.kind || vec_push(&p->runtime.span, s)) {
		free(s.kind);
		return ut_err_nomem(p->err);
	}
	p->stops_given = p->by_given = false;
	return 0;
}

/* The layers that know the probe language check the rest. */
static int add_span_probe(struct ini_parser *p, enum runtime_role role, const char *text)
{
	struct runtime_span *s = newest_span(p);
	struct runtime_span_probe probe = { .role = role, .line = p->line };

	if (!text[0] || !strchr("upr", text[0]) || text[1] != ':' || !text[2])
		return ini_fail(p, "'%.80s' is not a probe: it must begin with u:, p: or r:", text);
	if (!ini_quotes_are_closed(text))
		return ini_fail(p, "the format of '%.80s' has no closing quote", text);
	for (size_t i = 0; i < s->probe.n; i++)
		if (s->probe.v[i].role == role && !strcmp(s->probe.v[i].text, text))
			return ini_fail(p, "duplicate probe '%.80s', first in line %u", text, s->probe.v[i].line);
	probe.text = strdup(text);
	if (!probe.text || vec_push(&s->probe, probe)) {
		free(probe.text);
		return ut_err_nomem(p->err);
	}
	return 0;
}

static int key_begin(struct ini_parser *p, const char *value) { return add_span_probe(p, RUNTIME_BEGIN, value); }
static int key_end(struct ini_parser *p, const char *value) { return add_span_probe(p, RUNTIME_END, value); }
static int key_inside(struct ini_parser *p, const char *value) { return add_span_probe(p, RUNTIME_INSIDE, value); }

static int key_by(struct ini_parser *p, const char *value)
{
	static const char *const names[] = {
		[RUNTIME_BY_THREAD] = "thread",
		[RUNTIME_BY_PROCESS] = "process",
		[RUNTIME_BY_ID] = "id",
	};

	if (p->by_given)
		return ini_fail(p, "duplicate key 'by'");
	p->by_given = true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i])) {
			newest_span(p)->by = (enum runtime_by)i;
			return 0;
		}
	return ini_fail(p, "unknown value '%s' of by: must be thread, process or id", value);
}

static int key_stops(struct ini_parser *p, const char *value)
{
	if (p->stops_given)
		return ini_fail(p, "duplicate key 'stops'");
	p->stops_given = true;
	newest_span(p)->stops = !strcmp(value, "yes");
	if (!newest_span(p)->stops && strcmp(value, "no") != 0)
		return ini_fail(p, "unknown value '%s' of stops: must be yes or no", value);
	return 0;
}

/* A copy of the next word of *@s, which is moved behind it; NULL when there is none, or no memory. */
static char *next_word(const char **s)
{
	const char *start = *s;
	size_t len;

	while (is_line_blank(*start))
		start++;
	len = strcspn(start, " \t\r");
	*s = start + len;
	while (is_line_blank(**s))
		(*s)++;
	return len ? strndup(start, len) : NULL;
}

static bool is_value_name(const char *s)
{
	size_t len = strlen(s);

	if (!len || len >= VALUE_LEN_MAX || is_digit(*s))
		return false;
	for (; *s; s++)
		if (!is_word_char(*s) && *s != '-')
			return false;
	return true;
}

static int key_only(struct ini_parser *p, const char *text)
{
	AUTO_FREE char *value = next_word(&text);
	AUTO_FREE char *glob = strdup(text);
	struct runtime_only only;

	if (!value || !glob)
		return ut_err_nomem(p->err);
	if (!is_value_name(value) || !*glob)
		return ini_fail(p, "'only' has the form 'VALUE GLOB', as in 'only = manager ZGC*'");
	only = (struct runtime_only){ value, glob };
	if (vec_push(&newest_span(p)->only, only))
		return ut_err_nomem(p->err);
	value = glob = NULL;
	return 0;
}

static bool parse_integer(const char *s, long long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(s, &end, 0);
	return end != s && !*end && !errno;
}

static int key_word(struct ini_parser *p, const char *text)
{
	AUTO_FREE char *value = next_word(&text);
	AUTO_FREE char *number = next_word(&text);
	AUTO_FREE char *words = strdup(text);
	struct runtime_span *s = newest_span(p);
	struct runtime_word word;

	if (!value || !words)
		return ut_err_nomem(p->err);
	if (!is_value_name(value) || !number || !*words)
		return ini_fail(p, "'word' has the form 'VALUE NUMBER WORDS', as in 'word = full 1 full'");
	if (!parse_integer(number, &word.number))
		return ini_fail(
			p, "'%s' is not a number: 'word' has the form 'VALUE NUMBER WORDS', as in 'word = full 1 full'",
			number);
	for (size_t i = 0; i < s->word.n; i++)
		if (s->word.v[i].number == word.number && !strcmp(s->word.v[i].value, value))
			return ini_fail(p, "%s %lld already has a word: '%s'", value, word.number, s->word.v[i].text);
	word.value = value;
	word.text = words;
	if (vec_push(&s->word, word))
		return ut_err_nomem(p->err);
	value = words = NULL;
	return 0;
}

static const struct ini_key keys[] = {
	{ "title", INI_STRING, NULL, offsetof(struct runtime_span, title) },
	{ "begin", INI_SET, key_begin, 0 },
	{ "end", INI_SET, key_end, 0 },
	{ "inside", INI_SET, key_inside, 0 },
	{ "by", INI_SET, key_by, 0 },
	{ "only", INI_SET, key_only, 0 },
	{ "stops", INI_SET, key_stops, 0 },
	{ "part-of", INI_KIND, NULL, offsetof(struct runtime_span, part_of) },
	{ "with", INI_KIND, NULL, offsetof(struct runtime_span, with) },
	{ "word", INI_SET, key_word, 0 },
	{ "since", INI_VERSION, NULL, offsetof(struct runtime_span, since) },
	{ "before", INI_VERSION, NULL, offsetof(struct runtime_span, before) },
	{ "needs", INI_STRING, NULL, offsetof(struct runtime_span, needs) },
	{ "unseen", INI_STRING, NULL, offsetof(struct runtime_span, unseen) },
};

int span_line(struct ini_parser *p, const char *key, const char *value)
{
	char section[40];

	snprintf(section, sizeof(section), "[span %s]", newest_span(p)->kind);
	return ini_set_key(p, newest_span(p), keys, ARRAY_SIZE(keys), section, key, value);
}

/* The names of the values in a format: each «name=%». */
struct value_names {
	size_t n;
	char name[VALUES_MAX][VALUE_LEN_MAX];
};

static void add_value_names(const char *format, struct value_names *ret)
{
	for (const char *s = format; (s = strstr(s, "=%")) && ret->n < VALUES_MAX; s += 2) {
		const char *start = s;
		size_t len;

		while (start > format && (is_word_char(start[-1]) || start[-1] == '-'))
			start--;
		len = (size_t)(s - start);
		if (!len || len >= VALUE_LEN_MAX)
			continue;
		memcpy(ret->name[ret->n], start, len);
		ret->name[ret->n++][len] = '\0';
	}
}

static bool has_value(const struct value_names *names, const char *value)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->name[i], value))
			return true;
	return false;
}

static int check_value(struct ini_parser *p, const struct value_names *names, const char *key, const char *value)
{
	const char *list[VALUES_MAX];
	size_t best;

	if (has_value(names, value) || names->n == VALUES_MAX)
		return 0;
	for (size_t i = 0; i < names->n; i++)
		list[i] = names->name[i];
	if (suggest(value, list, names->n, &best, 1))
		return ini_fail(p, "'%s' uses the value '%s', which no format of this span has; did you mean '%s'?",
				key, value, list[best]);
	return ini_fail(p, "'%s' uses the value '%s', which no format of this span has (%s=%%d)", key, value, value);
}

static int check_values(struct ini_parser *p, const struct runtime_span *s)
{
	struct value_names names = { 0 };
	int r = 0;

	for (size_t i = 0; i < s->probe.n; i++)
		add_value_names(s->probe.v[i].text, &names);
	for (size_t i = 0; i < s->only.n && !r; i++)
		r = check_value(p, &names, "only", s->only.v[i].value);
	for (size_t i = 0; i < s->word.n && !r; i++)
		r = check_value(p, &names, "word", s->word.v[i].value);
	return r;
}

static int check_ids(struct ini_parser *p, const struct runtime_span *s)
{
	for (size_t i = 0; i < s->probe.n && s->by == RUNTIME_BY_ID; i++) {
		struct value_names names = { 0 };

		if (s->probe.v[i].role == RUNTIME_INSIDE)
			continue;
		add_value_names(s->probe.v[i].text, &names);
		p->line = s->probe.v[i].line;
		if (!has_value(&names, "id"))
			return ini_fail(p, "'by = id' needs a value id in the format of each begin and end, as in "
					   "\"id=%%d\", arg1");
	}
	return 0;
}

static bool has_other(const struct ini_parser *p, const struct runtime_span *s, const char *kind)
{
	for (size_t i = 0; i < p->runtime.span.n && kind; i++)
		if (&p->runtime.span.v[i] != s && !strcmp(p->runtime.span.v[i].kind, kind))
			return true;
	return !kind;
}

static int check_span(struct ini_parser *p, const struct runtime_span *s)
{
	size_t roles[3] = { 0 };
	int r;

	p->line = s->line;
	for (size_t i = 0; i < s->probe.n; i++)
		roles[s->probe.v[i].role]++;
	if (!roles[RUNTIME_BEGIN])
		return ini_fail(p, "[span %s] has no begin", s->kind);
	if (!roles[RUNTIME_END])
		return ini_fail(p, "[span %s] has no end", s->kind);
	if (s->since && s->before && runtime_version_compare(s->since, s->before) >= 0)
		return ini_fail(p, "[span %s] applies to no version: since %s, but before %s", s->kind, s->since,
				s->before);
	if (!has_other(p, s, s->part_of))
		return ini_fail(p, "it is part of spans of the kind %s, but there is no other [span %s]", s->part_of,
				s->part_of);
	if (!has_other(p, s, s->with))
		return ini_fail(p, "it is watched with spans of the kind %s, but there is no other [span %s]", s->with,
				s->with);
	r = check_values(p, s);
	return r ? r : check_ids(p, s);
}

int spans_finish(struct ini_parser *p)
{
	for (size_t i = 0; i < p->runtime.span.n; i++) {
		int r = check_span(p, &p->runtime.span.v[i]);

		if (r)
			return r;
	}
	if (!p->runtime.none || !p->runtime.span.n)
		return 0;
	p->line = p->runtime.span.v[0].line;
	return ini_fail(p, "'none' declares that there are no spans, but there is one");
}

void span_done(struct runtime_span *s)
{
	free(s->kind);
	free(s->title);
	free(s->part_of);
	free(s->with);
	free(s->since);
	free(s->before);
	free(s->needs);
	free(s->unseen);
	for (size_t i = 0; i < s->probe.n; i++)
		free(s->probe.v[i].text);
	vec_done(&s->probe);
	for (size_t i = 0; i < s->only.n; i++) {
		free(s->only.v[i].value);
		free(s->only.v[i].glob);
	}
	vec_done(&s->only);
	for (size_t i = 0; i < s->word.n; i++) {
		free(s->word.v[i].value);
		free(s->word.v[i].text);
	}
	vec_done(&s->word);
}

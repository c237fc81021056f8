/* SPDX-License-Identifier: MIT */
/* What lines of a runtime definition have in common: keys, quotes, errors with their line. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "proc/runtime_priv.h"

#define KEYS_MAX 16 /* of a section */
#define COMM_MAX 15 /* the kernel keeps no more of a thread's name */

int ini_fail(const struct ini_parser *p, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return ut_err_set(p->err, -EINVAL, "%s:%u: %s", p->origin, p->line, what);
}

int ini_check_kind(struct ini_parser *p, const char *name)
{
	char text[] = RUNTIME_KINDS, *rest = text, *word;
	const char *names[16];
	size_t n = 0, best;

	while ((word = strsep(&rest, " ")) && n < ARRAY_SIZE(names)) {
		if (!strcmp(word, name))
			return 0;
		names[n++] = word;
	}
	if (suggest(name, names, n, &best, 1))
		return ini_fail(p, "unknown kind of span '%s'; did you mean '%s'?", name, names[best]);
	return ini_fail(p, "unknown kind of span '%s'; valid kinds: %s", name, RUNTIME_KINDS);
}

bool ini_quotes_are_closed(const char *s)
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

int ini_push_copy(struct ini_parser *p, ini_strings *to, const char *value)
{
	char *copy = strdup(value);

	if (!copy || vec_push(to, copy)) {
		free(copy);
		return ut_err_nomem(p->err);
	}
	return 0;
}

/* "GC Thread*": a thread's name as the kernel has it, or how it begins. */
static int push_thread(struct ini_parser *p, ini_strings *to, const char *key, const char *value)
{
	const char *star = strchr(value, '*');
	size_t len = star ? (size_t)(star - value) : strlen(value);

	if (star && star[1])
		return ini_fail(p, "'%s': '*' is allowed only at the end of a thread name", value);
	if (!len)
		return ini_fail(p, "'%s' matches every thread: it needs a prefix", value);
	if (len > COMM_MAX)
		return ini_fail(
			p, "'%s' is longer than %d bytes, to which the kernel truncates thread names; write '%.*s%s'",
			value, COMM_MAX, COMM_MAX, value, star ? "*" : "");
	for (size_t i = 0; i < to->n; i++)
		if (!strcmp(to->v[i], value))
			return ini_fail(p, "duplicate line '%s = %s'", key, value);
	return ini_push_copy(p, to, value);
}

static bool is_version(const char *s)
{
	for (;; s++) {
		size_t digits = strspn(s, "0123456789");

		s += digits;
		if (!digits || (*s && *s != '.'))
			return false;
		if (!*s)
			return true;
	}
}

static int unknown_key(const struct ini_parser *p, const struct ini_key *of, size_t n, const char *section,
		       const char *name)
{
	const char *names[KEYS_MAX];
	char list[200];
	size_t best, len = 0;

	for (size_t i = 0; i < n; i++) {
		names[i] = of[i].name;
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", names[i]);
	}
	if (suggest(name, names, n, &best, 1))
		return ini_fail(p, "unknown key '%s' in %s; did you mean '%s'?", name, section, names[best]);
	return ini_fail(p, "unknown key '%s' in %s; valid keys: %s", name, section, list);
}

int ini_set_key(struct ini_parser *p, void *object, const struct ini_key *of, size_t n, const char *section,
		const char *key, const char *value)
{
	void *to;
	size_t i;

	for (i = 0; i < n && strcmp(key, of[i].name) != 0; i++)
		;
	if (i == n)
		return unknown_key(p, of, n, section, key);
	to = (char *)object + of[i].offset;
	switch (of[i].form) {
	case INI_SET: return of[i].set(p, value);
	case INI_STRINGS: return ini_push_copy(p, to, value);
	case INI_THREAD: return push_thread(p, to, key, value);
	case INI_KIND:
		if (ini_check_kind(p, value))
			return -EINVAL;
		break;
	case INI_VERSION:
		if (!is_version(value) || strlen(value) > 31)
			return ini_fail(
				p, "'%s' is not a version: it must be numbers separated by dots, as in '%s = 3.12'",
				value, key);
		break;
	case INI_STRING: break;
	}
	if (*(char **)to)
		return ini_fail(p, "duplicate key '%s'", key);
	*(char **)to = strdup(value);
	return *(char **)to ? 0 : ut_err_nomem(p->err);
}

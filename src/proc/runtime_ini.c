/* SPDX-License-Identifier: MIT */
/* What lines of a runtime definition have in common: keys, quotes, errors with their line. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "proc/runtime_priv.h"

#define KEYS_MAX 16 /* of a section */

int ini_fail(const struct ini_parser *p, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return ut_err_set(p->err, -EINVAL, "%s:%u: %s", p->origin, p->line, what);
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

int ini_set_once(struct ini_parser *p, char **where, const char *key, const char *value)
{
	if (*where)
		return ini_fail(p, "duplicate key '%s'", key);
	*where = strdup(value);
	return *where ? 0 : ut_err_nomem(p->err);
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

int ini_set_key(struct ini_parser *p, const struct ini_key *of, size_t n, const char *section, const char *key,
		const char *value)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(key, of[i].name) == 0)
			return of[i].set(p, value);
	return unknown_key(p, of, n, section, key);
}

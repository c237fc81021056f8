/* SPDX-License-Identifier: MIT */
/* The probes that did not match the pattern, and the similar ones of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "catalog/catalog.h"

static int compare_words(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

long catalog_others(struct catalog *c, const char ***ret)
{
	const char **names = calloc(c->others.v.n + 1, sizeof(*names));
	long n = 0;

	if (!names)
		return -ENOMEM;
	if (c->others.v.n)
		qsort(c->others.v.v, c->others.v.n, sizeof(char *), compare_words);
	for (size_t i = 0; i < c->others.v.n; i++)
		if (!n || strcmp(names[n - 1], c->others.v.v[i]))
			names[n++] = c->others.v.v[i];
	*ret = names;
	return n;
}

/* «gc_*» is compared as «gc_», without its wildcards. */
static char *plain_pattern(const char *pattern)
{
	char *ret = strdup(pattern), *to = ret;

	for (const char *from = pattern; ret && *from; from++)
		if (*from != '*' && *from != '?')
			*to++ = *from;
	if (ret)
		*to = '\0';
	return ret;
}

size_t catalog_near(const struct catalog *c, const char **names, size_t n, size_t *ret, size_t max)
{
	AUTO_FREE char *plain = plain_pattern(c->pattern);
	AUTO_FREE const char **compared = calloc(n + 1, sizeof(*compared));
	bool whole = strchr(c->pattern, ':');

	if (!plain || !compared)
		return 0;
	for (size_t i = 0; i < n; i++)
		compared[i] = whole ? names[i] : strchr(names[i], ':') + 1;
	return suggest(plain, compared, n, ret, max);
}

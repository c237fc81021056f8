/* SPDX-License-Identifier: MIT */
/* Globs and near misses. Numbers are in number.c. */
#include "base/text.h"

#include <string.h>

#define NAME_MAX_COMPARED 256 /* longer names are compared by their beginning */
#define SUGGEST_MAX 16

bool glob_is_pattern(const char *s) { return strpbrk(s, "*?") != NULL; }

bool glob_match(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star; /* let the last star take one byte more */
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

struct folded {
	size_t len;
	char s[NAME_MAX_COMPARED];
};

/* Lower case, each run of '_' and '-' one '_'. */
static void fold(const char *s, struct folded *ret)
{
	size_t n = 0;

	for (; *s && n < NAME_MAX_COMPARED - 1; s++) {
		char c = *s == '-' ? '_' : *s;

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c == '_' && n && ret->s[n - 1] == '_')
			continue;
		ret->s[n++] = c;
	}
	ret->s[n] = '\0';
	ret->len = n;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

static size_t folded_distance(const struct folded *a, const struct folded *b)
{
	uint16_t rows[3][NAME_MAX_COMPARED], *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b->len; j++)
		row[j] = (uint16_t)j;
	for (size_t i = 1; i <= a->len; i++) {
		uint16_t *oldest = before;

		before = above;
		above = row;
		row = oldest;
		row[0] = (uint16_t)i;
		for (size_t j = 1; j <= b->len; j++) {
			size_t best = min3(above[j] + 1u, row[j - 1] + 1u, above[j - 1] + (a->s[i - 1] != b->s[j - 1]));

			if (i > 1 && j > 1 && a->s[i - 1] == b->s[j - 2] && a->s[i - 2] == b->s[j - 1] &&
			    before[j - 2] + 1u < best)
				best = before[j - 2] + 1u;
			row[j] = (uint16_t)best;
		}
	}
	return row[b->len];
}

size_t edit_distance(const char *a, const char *b)
{
	struct folded fa, fb;

	fold(a, &fa);
	fold(b, &fb);
	return folded_distance(&fa, &fb);
}

/* How far @name is from what was wanted; false when nobody would take it for a slip. */
static bool near_miss(const struct folded *wanted, const struct folded *name, size_t *ret)
{
	size_t longer = wanted->len > name->len ? wanted->len : name->len;
	size_t shorter = wanted->len + name->len - longer, limit = longer / 3;

	if (longer - shorter <= limit) {
		*ret = folded_distance(wanted, name);
		if (*ret <= limit)
			return true;
	}
	if (shorter < 2 || !(wanted->len < name->len ? strstr(name->s, wanted->s) : strstr(wanted->s, name->s)))
		return false;
	*ret = limit + longer - shorter; /* after the slips of the same length */
	return true;
}

size_t suggest(const char *wanted, const char *const *names, size_t n, size_t *ret, size_t max)
{
	size_t scores[SUGGEST_MAX], found = 0;
	struct folded fw, fn;

	if (max > SUGGEST_MAX)
		max = SUGGEST_MAX;
	fold(wanted, &fw);
	for (size_t i = 0; i < n && max; i++) {
		size_t score, at = found;

		fold(names[i], &fn);
		if (!near_miss(&fw, &fn, &score))
			continue;
		while (at && scores[at - 1] > score)
			at--;
		if (at == max)
			continue;
		if (found < max)
			found++;
		memmove(scores + at + 1, scores + at, (found - at - 1) * sizeof(*scores));
		memmove(ret + at + 1, ret + at, (found - at - 1) * sizeof(*ret));
		scores[at] = score;
		ret[at] = i;
	}
	return found;
}

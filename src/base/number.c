/* SPDX-License-Identifier: MIT */
/* Numbers that people type, and numbers for people. */
#include "base/ascii.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_digit_of(char c, unsigned base) { return hex_value(c) >= 0 && hex_value(c) < (int)base; }

/* Digits at *@s, which is moved behind them. At least one. */
static int parse_digits(const char **s, unsigned base, uint64_t *ret)
{
	uint64_t v = 0;

	if (!is_digit_of(**s, base))
		return -EINVAL;
	for (; is_digit_of(**s, base); (*s)++)
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (uint64_t)hex_value(**s), &v))
			return -ERANGE;
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t v;
	int r;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	}
	r = parse_digits(&s, base, &v);
	if (r == -ERANGE) { /* out of range only when the rest is a number */
		while (is_digit_of(*s, base))
			s++;
		return *s ? -EINVAL : -ERANGE;
	}
	if (r)
		return r;
	if (*s)
		return -EINVAL;
	*ret = v;
	return 0;
}

int parse_size(const char *s, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t v;
	int r = parse_digits(&s, 10, &v), shift = 0;

	if (r)
		return r;
	unit = *s ? strchr(units, *s == 'k' ? 'K' : *s) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		s++;
		if (s[0] == 'i' && s[1] == 'B')
			s++;
	}
	if (*s == 'B')
		s++;
	if (*s)
		return -EINVAL;
	if (v > UINT64_MAX >> shift)
		return -ERANGE;
	*ret = v << shift;
	return 0;
}

/* Up to nine digits behind a point, as billionths; further digits are below a nanosecond and dropped. */
static int parse_fraction(const char **s, uint64_t *ret)
{
	uint64_t v = 0, place = 100000000;

	if (!is_digit(**s))
		return -EINVAL;
	for (; is_digit(**s); (*s)++, place /= 10)
		v += place * (uint64_t)(**s - '0');
	*ret = v;
	return 0;
}

int parse_duration(const char *s, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 },   { "s", 1000000000 },    { "ms", 1000000 },
		{ "us", 1000 },	      { "µs", 1000 },	      { "ns", 1 },
		{ "m", 60000000000 }, { "min", 60000000000 }, { "h", 3600000000000 },
	};
	uint64_t whole = 0, billionths = 0, ns;
	int r = 0;

	if (*s != '.')
		r = parse_digits(&s, 10, &whole);
	if (!r && *s == '.') {
		s++;
		r = parse_fraction(&s, &billionths);
	}
	if (r)
		return r;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(s, units[i].name) != 0)
			continue;
		if (__builtin_mul_overflow(whole, units[i].ns, &ns) ||
		    __builtin_add_overflow(ns, (uint64_t)((unsigned __int128)billionths * units[i].ns / 1000000000),
					   &ns))
			return -ERANGE;
		*ret_ns = ns;
		return 0;
	}
	return -EINVAL;
}

const char *human_count(uint64_t v, char *ret)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	char *out = ret;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return ret;
}

/* "3.20" as "3.2", "5.00" as "5". */
static void strip_zeros(char *s)
{
	char *end = s + strlen(s);

	if (!strchr(s, '.'))
		return;
	while (end[-1] == '0')
		*--end = '\0';
	if (end[-1] == '.')
		end[-1] = '\0';
}

const char *human_ns(uint64_t ns, char *ret)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "µs", 1e3 } };
	char number[24];
	size_t u = 0;
	double v;

	if (ns < 1000) {
		snprintf(ret, 32, "%u ns", (unsigned)ns);
		return ret;
	}
	/* 999,999 ns is a millisecond, not 1000 µs: the unit is chosen after rounding to three digits. */
	while (u < 2 && (double)ns < units[u].ns * 0.9995)
		u++;
	v = (double)ns / units[u].ns;
	snprintf(number, sizeof(number), "%.*f", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v);
	strip_zeros(number);
	snprintf(ret, 32, "%s %s", number, units[u].name);
	return ret;
}

const char *human_bytes(uint64_t v, char *ret)
{
	static const char units[] = "KMGTPE";
	char number[24];
	double d = (double)v / 1024;
	size_t u = 0;

	if (v < 1024) {
		snprintf(ret, 32, "%uB", (unsigned)v);
		return ret;
	}
	/* 1,048,570 bytes are a megabyte, not 1024K: the unit is chosen after rounding. */
	for (; d >= 1023.5 && units[u + 1]; u++)
		d /= 1024;
	snprintf(number, sizeof(number), "%.*f", d < 9.995 ? 2 : d < 99.95 ? 1 : 0, d);
	strip_zeros(number);
	snprintf(ret, 32, "%s%c", number, units[u]);
	return ret;
}

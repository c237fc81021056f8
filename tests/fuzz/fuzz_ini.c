/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of runtimes' .ini files: any text is refused with a sentence or gives a runtime that can be used. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/runtime.h"
#include "fuzz.h"

/* What a span promises to those who read it, and what they ask it. */
static void use_span(const struct runtime_span *s)
{
	static const char *const versions[] = { NULL, "", "3.11", "17.0.15", "99999999999999999999" };
	size_t roles[3] = { 0 };

	for (size_t i = 0; i < s->probe.n; i++) {
		roles[s->probe.v[i].role]++;
		if (!s->probe.v[i].line || !strchr("upr", s->probe.v[i].text[0]))
			abort();
	}
	if (!roles[RUNTIME_BEGIN] || !roles[RUNTIME_END] || !s->kind[0] || !s->line)
		abort();
	if (!runtime_span_holds(s, NULL) || !runtime_span_holds(s, ""))
		abort();
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		runtime_span_holds(s, versions[i]);
	for (size_t i = 0; i < s->only.n; i++)
		if (!s->only.v[i].value[0] || !s->only.v[i].glob[0])
			abort();
	for (size_t i = 0; i < s->word.n; i++)
		if (!s->word.v[i].value[0] || !s->word.v[i].text[0])
			abort();
	if (s->since && s->before && runtime_version_compare(s->since, s->before) >= 0)
		abort();
}

/* Any name of a file gives a version that compares equal to itself, or none. */
static void use_version(const struct runtime *t)
{
	char version[32];

	if (runtime_version(t, t->name, -1, version) &&
	    (!version[0] || runtime_version_compare(version, version) || strlen(version) >= sizeof(version)))
		abort();
}

static void use(const struct runtimes *r)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct runtime *t = &r->all.v[i];

		for (size_t k = 0; k < t->match.n; k++)
			runtime_of_file(r, t->match.v[k]);
		for (size_t k = 0; k < t->format.n; k++)
			if (!runtime_format(r, t->format.v[k].provider, t->format.v[k].probe))
				abort();
		for (size_t k = 0; k < t->span.n; k++)
			use_span(&t->span.v[k]);
		if (t->none && t->span.n)
			abort();
		use_version(t);
	}
}

FUZZ_TARGET(ini)
{
	struct runtimes r = { 0 };
	struct ut_err err = { 0 };

	if (runtimes_parse("fuzz.ini", (const char *)data, size, &r, &err) == 0) {
		use(&r);
		if (runtimes_parse("again.ini", (const char *)data, size, &r, &err) || r.all.n != 1)
			abort(); /* it replaces itself */
	} else if (!err.msg[0] || r.all.n) {
		abort();
	}
	runtimes_done(&r);
	return 0;
}

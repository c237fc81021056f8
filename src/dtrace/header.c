/* SPDX-License-Identifier: MIT */
/*
 * The header with a program's probe macros. Build systems put it through sed to change the macros' prefix, some only
 * the first one of a line: so a line holds one macro of the provider's.
 */
#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "dtrace/embedded.h"
#include "dtrace/provider.h"

/* Does the public header use this word? */
static bool is_taken(const char *word)
{
	size_t len = strlen(word);
	const char *text = dtrace_embedded[0].text;

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || !is_word_char(at[-1])) && !is_word_char(at[len]))
			return true;
	return false;
}

static int check_name(const struct dtrace_provider *provider, const struct dtrace_probe *probe, struct ut_err *err)
{
	if (!is_taken(probe->macro))
		return 0;
	return ut_err_set(err, -EINVAL, "%s: the macro of %s:%s would be %s, a name used by usertrace.h; rename the %s",
			  probe->place, provider->name, probe->name, probe->macro,
			  strcmp(provider->name, "ut") ? "probe" : "provider");
}

/* What the program sees declared, as a comment. */
static void add_prototype(struct buf *out, const struct dtrace_probe *probe)
{
	buf_addf(out, "\n/* %s(", probe->macro);
	for (unsigned i = 0; i < probe->nargs; i++)
		buf_addf(out, "%s%s", i ? ", " : "", probe->args[i].decl);
	buf_adds(out, ") */\n");
}

static void add_value(struct buf *out, unsigned number, const struct dtrace_arg *arg)
{
	if (arg->is_truth)
		buf_addf(out, "(%s)((arg%u) ? 1 : 0)", arg->cast, number);
	else if (arg->cast)
		buf_addf(out, "(%s)(arg%u)", arg->cast, number);
	else
		buf_addf(out, "(arg%u)", number);
}

static void add_macros(struct buf *out, const char *provider, const struct dtrace_probe *probe)
{
	buf_addf(out, "#define %s_ENABLED() UT_PROBE_ENABLED(%s, %s)\n", probe->macro, provider, probe->name);
	buf_addf(out, "#define %s(", probe->macro);
	for (unsigned i = 1; i <= probe->nargs; i++)
		buf_addf(out, "%sarg%u", i > 1 ? ", " : "", i);
	buf_addf(out, ") \\\n\tUT_PROBE(%s, %s", provider, probe->name);
	for (unsigned i = 0; i < probe->nargs; i++) {
		buf_adds(out, ", ");
		add_value(out, i + 1, &probe->args[i]);
	}
	buf_adds(out, ")\n");
}

static int add_provider(struct buf *out, const struct dtrace_provider *provider, struct ut_err *err)
{
	for (size_t i = 0; i < provider->probes.n; i++) {
		const struct dtrace_probe *probe = &provider->probes.v[i];
		int ret = check_name(provider, probe, err);

		if (ret)
			return ret;
		add_prototype(out, probe);
		add_macros(out, provider->name, probe);
	}
	return 0;
}

/* A name for a comment: nothing that could end it, and only what every editor shows. */
static void add_comment_text(struct buf *out, const char *s)
{
	for (; *s; s++)
		buf_addc(out, *s < ' ' || *s > '~' || (*s == '*' && s[1] == '/') ? '?' : *s);
}

int dtrace_header(const struct dtrace_providers *p, const char *sources, bool include, struct buf *out,
		  struct ut_err *err)
{
	int ret = 0;

	buf_adds(out, "/* Made by usertrace dtrace -h from ");
	add_comment_text(out, sources);
	buf_adds(out, "; changes belong there. */\n\n");
	if (include)
		buf_adds(out, "#include <usertrace.h>\n");
	else
		buf_add(out, dtrace_embedded[0].text, dtrace_embedded[0].len);
	for (size_t i = 0; !ret && i < p->all.n; i++)
		ret = add_provider(out, &p->all.v[i], err);
	return ret ? ret : out->failed ? ut_err_nomem(err) : 0;
}

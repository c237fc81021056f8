/* SPDX-License-Identifier: MIT */
/* Explanations where a subject has no probes or none that matches: its runtime, alternatives, similar names. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/list.h"

#define NEAR_MAX 3

static void add_escaped(struct buf *out, const char *s) { buf_add_escaped(out, s, strlen(s)); }

static void add_runtime_name(struct buf *out, const struct runtime *runtime)
{
	add_escaped(out, runtime->name);
	if (runtime->language && strcmp(runtime->language, runtime->name)) {
		buf_adds(out, " (");
		add_escaped(out, runtime->language);
		buf_addc(out, ')');
	}
}

/* A command to paste into a shell. */
static void add_command(struct buf *out, const struct catalog_subject *s, const char *probe)
{
	buf_adds(out, "  usertrace trace ");
	if (s->pid)
		buf_addf(out, "-p %d ", s->pid);
	buf_addc(out, strchr(probe, '\'') ? '"' : '\'');
	add_escaped(out, probe);
	buf_addc(out, strchr(probe, '\'') ? '"' : '\'');
	buf_addc(out, '\n');
}

static void add_offers(struct buf *out, const struct catalog_subject *s)
{
	const struct runtime *rt = s->runtime;

	for (size_t i = 0; rt && i < rt->offer.n; i++) {
		buf_adds(out, i ? "" : "what can be traced instead:\n");
		add_command(out, s, rt->offer.v[i].probe);
		buf_adds(out, "      ");
		add_escaped(out, rt->offer.v[i].what);
		buf_addc(out, '\n');
	}
}

static void add_runtime_hints(struct buf *out, const struct catalog_subject *s)
{
	const struct runtime *rt = s->runtime;

	buf_adds(out, "about ");
	add_runtime_name(out, rt);
	buf_adds(out, ":\n");
	for (size_t i = 0; i < rt->provider.n && !s->own_probes; i++) {
		buf_adds(out, i ? ", " : "  builds of it with probes have the provider ");
		add_escaped(out, rt->provider.v[i]);
		buf_adds(out, i + 1 < rt->provider.n ? "" : "\n");
	}
	for (size_t i = 0; i < rt->hint.n; i++) {
		buf_adds(out, "  ");
		add_escaped(out, rt->hint.v[i]);
		buf_addc(out, '\n');
	}
}

/* Appends the libraries of a file that have probes; returns their number. */
static size_t add_libraries(struct buf *out, const char *path)
{
	AUTO(words_done) struct words libraries = { 0 };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		locate_needed(fd, true, &libraries);
	for (size_t i = 0; i < libraries.v.n; i++) {
		buf_adds(out, i ? "" : "its libraries have probes:\n");
		buf_adds(out, "  usertrace list ");
		add_escaped(out, libraries.v.v[i]);
		buf_addc(out, '\n');
	}
	if (!libraries.v.n)
		buf_adds(out, "use -p PID to include libraries that it loads at run time\n");
	return libraries.v.n;
}

/* Functions can be traced in every file: the only alternative where no runtime is known. */
static void add_functions(struct buf *out, const struct catalog_subject *s)
{
	AUTO_FREE char *probe = NULL;

	if (!s->path || asprintf(&probe, "p:%s%s:FUNCTION", strchr(s->path, '/') ? "" : "./", s->path) < 0) {
		probe = NULL;
		return;
	}
	buf_adds(out, "what can be traced instead:\n");
	add_command(out, s, probe);
	buf_adds(out, "      calls of a function, by its name in the symbol table\n");
}

/* The first line: the subject without probes, and its runtime. */
static void add_verdict(struct buf *out, const struct catalog_subject *s)
{
	if (s->pid)
		buf_addf(out, "process %d (", s->pid);
	else
		buf_addc(out, '\'');
	add_escaped(out, s->pid ? s->comm : s->path);
	buf_addc(out, s->pid ? ')' : '\'');
	buf_adds(out, s->probes ? " has no probes of its own runtime" : " has no probes (USDT)");
	if (s->pid && !s->probes)
		buf_addf(out, " in its %zu %s", s->files, plural(s->files, "file"));
	if (s->runtime) {
		buf_adds(out, "; it is ");
		add_runtime_name(out, s->runtime);
	}
	buf_addc(out, '\n');
}

static void add_subject_json(struct list *list, const struct catalog_subject *s)
{
	struct json j = { .out = &list->out };

	json_object(&j, NULL);
	json_string(&j, "type", "no-probes");
	if (s->pid)
		list_json_pid(&j, s->pid, s->ns_pid, s->comm);
	if (s->path)
		json_string(&j, s->pid ? "program" : "file", s->path);
	if (s->runtime)
		list_json_runtime(&j, s->runtime, true);
	json_line(&j);
}

static bool lacks_probes(const struct list *list, const struct catalog_subject *s)
{
	if (!s->probes)
		return true;
	return s->runtime && !s->runtime->library && !s->own_probes && (!list->catalog.pattern || !s->shown);
}

void list_explain_no_probes(struct list *list, const struct catalog_subject *s)
{
	struct buf out = { 0 };
	size_t needed = 0;

	if (!lacks_probes(list, s))
		return;
	list_flush(list);
	buf_adds(&out, "usertrace list: ");
	add_verdict(&out, s);
	if (!s->pid && !s->probes)
		needed = add_libraries(&out, s->path);
	add_offers(&out, s);
	if (!needed && !s->probes && (!s->runtime || !s->runtime->offer.n))
		add_functions(&out, s);
	if (s->runtime && (s->runtime->hint.n || s->runtime->provider.n))
		add_runtime_hints(&out, s);
	fputs(out.data && !out.failed ? out.data : "usertrace list: out of memory\n", stderr);
	buf_done(&out);
	if (list->json)
		add_subject_json(list, s);
}

static void add_near(const struct catalog *c, struct buf *out, const char **names, size_t n)
{
	size_t near[NEAR_MAX], found = catalog_near(c, names, n, near, ARRAY_SIZE(near));

	for (size_t i = 0; i < found; i++)
		buf_addf(out, "%s%s", i ? ", " : "; there is ", names[near[i]]);
	if (!found)
		buf_addf(out, "; there %s %zu other%s, such as %s", n == 1 ? "is" : "are", n, n == 1 ? "" : "s",
			 names[0]);
}

void list_explain_no_match(struct list *list)
{
	const char *pattern = list->catalog.pattern, *functions = list->catalog.functions;
	AUTO(buf_done) struct buf near = { 0 };
	AUTO_FREE const char **names = NULL;
	long n = pattern ? catalog_others(&list->catalog, &names) : 0;

	if (n < 0 || (!n && !functions))
		return;
	if (functions)
		buf_addf(&near, ", but %s: p:%s%s:%s", glob_is_pattern(pattern) ? "functions do" : "a function",
			 strchr(functions, '/') ? "" : "./", functions, pattern);
	else
		add_near(&list->catalog, &near, names, (size_t)n);
	list_report(list, EXIT_FAILED, "no probe %s%s%s", glob_is_pattern(pattern) ? "fits " : "", pattern,
		    near.data ? near.data : "");
}

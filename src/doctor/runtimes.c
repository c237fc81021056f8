/* SPDX-License-Identifier: MIT */
/*
 * `usertrace doctor --runtimes`: the runtime definitions against the installed and running runtimes. Each probe of
 * each span is planned as tracing would plan it, with nothing attached.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/text.h"
#include "doctor/doctor_priv.h"
#include "doctor/installed.h"
#include "probe/spec.h"
#include "plan/plan.h"

#define NOT_REQUESTED SIZE_MAX

/* One probe of the spans of a runtime, and the result of its plan. */
struct want {
	const struct runtime_span *span;
	const struct runtime_span_probe *probe;
	char *text; /* owned */
	size_t request; /* in the current plan; NOT_REQUESTED: its span is for other versions */
	size_t nprobes;
	bool bad; /* the plan rejected it, which was reported */
};

struct described {
	const struct runtime *runtime;
	bool users; /* defined by a file of the user */
	VEC(struct want) wants; /* without those that do not parse */
	size_t found; /* how many were found here */
};

struct run {
	struct checks *c;
	struct described *described;
};

static void described_done(struct described *d)
{
	for (size_t i = 0; i < d->wants.n; i++)
		free(d->wants.v[i].text);
	vec_done(&d->wants);
}

/* The position in a format of a value that has no name, or prints nothing that a span could use; NULL: all have. */
static const char *nameless(const char *format)
{
	for (const char *s = format; (s = strchr(s, '%')); s++) {
		const char *conv = s + 1 + strspn(s + 1, "-+ #0123456789.*l");

		if (*conv == '%') {
			s = conv;
			continue;
		}
		if (s - format < 2 || s[-1] != '=' || strchr(" \t,;%", s[-2]) || !*conv || !strchr("diuxXcs", *conv))
			return s;
	}
	return NULL;
}

/* As gc traces it: without a format nothing is copied. Beyond the probe language, each value must have a name. */
static int want_text(const char *text, char **ret, struct ut_err *err)
{
	struct probe_spec *spec = NULL;
	const char *bad;
	int r = probe_parse(text, &spec, err);

	if (!r)
		r = probe_check_format(spec, err);
	bad = !r && spec->format ? nameless(spec->format) : NULL;
	if (!r && !spec->format && spec->args.n)
		r = ut_err_set(err, -EINVAL,
			       "'%s': its values have no names; name them in a format: \"full=%%d\", arg1", spec->text);
	else if (bad)
		r = ut_err_set(err, -EINVAL,
			       "'%s': the value at '%s' has no name, or is neither a number nor a string; write "
			       "name=%%d, %%u, %%s or %%.*s",
			       spec->text, bad);
	if (!r && asprintf(ret, "%s%s", text, spec->format ? "" : " \"\"") < 0)
		r = ut_err_nomem(err);
	probe_spec_free(spec);
	return r;
}

static void describe_runtime(struct checks *c, struct described *d, const struct runtime *r, const char *file)
{
	d->runtime = r;
	d->users = strchr(r->origin, '/') || (file && !strcmp(r->origin, file));
	for (size_t i = 0; i < r->span.n; i++)
		for (size_t k = 0; k < r->span.v[i].probe.n; k++) {
			const struct runtime_span_probe *p = &r->span.v[i].probe.v[k];
			struct want w = { .span = &r->span.v[i], .probe = p };
			struct ut_err err = { 0 };

			if (want_text(p->text, &w.text, &err)) {
				checks_add(c, CHECK_NO, r->name, "correct the file", "%s:%u: %s", r->origin, p->line,
					   err.msg);
			} else if (vec_push(&d->wants, w)) {
				free(w.text);
				c->failed = true;
			}
		}
}

/* A plan of these probes over all files of @i; errors are of the probes, not of the files. */
static int plan_of(const char *const *texts, size_t n, const struct installed *i, struct plan **ret, struct ut_err *err)
{
	struct plan_options o = { .gen = { .text_limit = 200, .may_sleep = true, .ncpus = 1 } };
	int r = plan_new(texts, n, &o, ret, err);

	for (size_t k = 0; !r && k < i->files.n; k++)
		r = plan_file(*ret, i->files.v[k].path, i->files.v[k].fd, err);
	if (r)
		*ret = plan_free(*ret);
	return r;
}

/* Collects the probes of this version, each once; returns how many. */
static size_t select_wants(struct described *d, const char *version, const char **texts)
{
	size_t n = 0;

	for (size_t k = 0; k < d->wants.n; k++) {
		struct want *w = &d->wants.v[k];
		size_t same = 0;

		w->bad = false;
		w->nprobes = 0;
		w->request = NOT_REQUESTED;
		if (!runtime_span_holds(w->span, version))
			continue;
		while (same < n && strcmp(texts[same], w->text) != 0)
			same++;
		if (same == n)
			texts[n++] = w->text;
		w->request = same;
	}
	return n;
}

/* Plans one at a time, to find those that the plan rejects. */
static void plan_each(struct checks *c, struct described *d, const struct installed *i)
{
	for (size_t k = 0; k < d->wants.n; k++) {
		struct want *w = &d->wants.v[k];
		const char *text = w->text;
		struct plan *plan = NULL;
		struct ut_err err = { 0 };

		if (w->request == NOT_REQUESTED)
			continue;
		if (plan_of(&text, 1, i, &plan, &err)) {
			w->bad = true;
			checks_add(c, CHECK_NO, d->runtime->name, "correct the file", "%s:%u: in %s: %s",
				   d->runtime->origin, w->probe->line, i->files.v[0].path, err.msg);
		} else {
			w->nprobes = plan->requests.v[0].nprobes;
		}
		plan_free(plan);
	}
}

static const struct want *want_of(const struct described *d, size_t request)
{
	for (size_t k = 0; k < d->wants.n; k++)
		if (d->wants.v[k].request == request)
			return &d->wants.v[k];
	return NULL;
}

/* Values that no generated instruction can read at some site: spans lack them. */
static void report_unreadable(struct checks *c, const struct described *d, const struct installed *i,
			      const struct plan *plan)
{
	size_t reported = NOT_REQUESTED;

	for (size_t k = 0; k < plan->sites.n; k++) {
		const struct plan_site *site = &plan->sites.v[k];
		const struct plan_probe *p = &plan->probes.v[site->probe];

		for (unsigned o = 0; o < p->checked->noutputs; o++) {
			if (!site->unreadable[o] || reported == p->request)
				continue;
			reported = p->request;
			checks_add(c, CHECK_WARN, d->runtime->name, "the span is reported without it",
				   "%s:%u: value %u of %s:%s cannot be read at every site of %s: %s",
				   d->runtime->origin, want_of(d, reported)->probe->line, o + 1, p->provider, p->func,
				   i->files.v[0].path, site->unreadable[o]);
		}
	}
}

static void plan_wants(struct checks *c, struct described *d, const struct installed *i)
{
	AUTO_FREE const char **texts = calloc(d->wants.n + 1, sizeof(*texts));
	struct plan *plan = NULL;
	size_t n;

	c->failed |= !texts;
	n = texts ? select_wants(d, i->version, texts) : 0;
	if (!n)
		return;
	if (plan_of(texts, n, i, &plan, NULL)) {
		plan_each(c, d, i);
		return;
	}
	for (size_t k = 0; k < d->wants.n; k++)
		if (d->wants.v[k].request != NOT_REQUESTED)
			d->wants.v[k].nprobes = plan->requests.v[d->wants.v[k].request].nprobes;
	report_unreadable(c, d, i, plan);
	plan_free(plan);
}

/* The first probe of this role without a site, where no probe of the role has one; NULL otherwise. */
static const struct want *missing_want(const struct described *d, const struct runtime_span *s, enum runtime_role role)
{
	const struct want *ret = NULL;

	for (size_t i = 0; i < d->wants.n; i++) {
		const struct want *w = &d->wants.v[i];

		if (w->span != s || w->probe->role != role)
			continue;
		if (w->nprobes)
			return NULL;
		if (!ret || ret->bad)
			ret = w;
	}
	return ret;
}

static bool has_any(const struct described *d, const struct runtime_span *s, enum runtime_role role)
{
	for (size_t i = 0; i < d->wants.n; i++)
		if (d->wants.v[i].span == s && d->wants.v[i].probe->role == role && d->wants.v[i].nprobes)
			return true;
	return false;
}

static bool is_available(const struct described *d, const struct runtime_span *s, const char *version)
{
	return runtime_span_holds(s, version) && has_any(d, s, RUNTIME_BEGIN) && has_any(d, s, RUNTIME_END);
}

/* "HotSpot gc-phase": the thing of a check of one span. */
static char *span_thing(const struct runtime *r, const struct runtime_span *s)
{
	char *ret;

	return asprintf(&ret, "%s %s", r->name, s->kind) < 0 ? NULL : ret;
}

/* Why a probe has no site, in the words of the plan. */
static void report_missing(struct checks *c, const struct described *d, const struct want *w, const struct installed *i)
{
	static const char other_build[] = "correct the definition, or trace a build that has them";
	static const char symbols[] = "correct the definition, or install the debug symbols of this build";
	AUTO_FREE char *thing = span_thing(d->runtime, w->span);
	const char *text = w->text;
	struct plan *plan = NULL;
	struct ut_err err = { 0 };

	if (w->bad)
		return; /* reported already */
	if (!thing || plan_of(&text, 1, i, &plan, &err) || !plan_complete(plan, i->files.v[0].path, NULL, &err))
		c->failed |= !thing;
	else
		checks_add(c, CHECK_WARN, thing, text[0] == 'u' ? other_build : symbols, "%s:%u: %s",
			   d->runtime->origin, w->probe->line, err.msg);
	plan_free(plan);
}

/* The missing probes of a span, and the flag that its programs need. */
static void report_span(struct checks *c, const struct described *d, const struct runtime_span *s,
			const struct installed *i)
{
	AUTO_FREE char *thing = span_thing(d->runtime, s);
	static const enum runtime_role roles[] = { RUNTIME_BEGIN, RUNTIME_END, RUNTIME_INSIDE };

	c->failed |= !thing;
	if (!thing || !runtime_span_holds(s, i->version))
		return;
	for (size_t k = 0; k < ARRAY_SIZE(roles); k++) {
		const struct want *w = missing_want(d, s, roles[k]);

		if (w) { /* its end is often in the same function: one reason is enough */
			report_missing(c, d, w, i);
			break;
		}
	}
	if (s->needs && is_available(d, s, i->version))
		checks_add(c, CHECK_OK, thing, NULL, "%s:%u: reported only by programs started with %s",
			   d->runtime->origin, s->line, s->needs);
}

static void add_available_kinds(struct buf *out, const struct described *d, const char *version)
{
	const char *comma = ": ";

	for (size_t i = 0; i < d->runtime->span.n; i++) {
		const struct runtime_span *s = &d->runtime->span.v[i];
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= !strcmp(d->runtime->span.v[k].kind, s->kind) &&
				 is_available(d, &d->runtime->span.v[k], version);
		if (again || !is_available(d, s, version))
			continue;
		buf_addf(out, "%s%s", comma, s->kind);
		comma = ", ";
	}
}

static void report_sum(struct checks *c, const struct described *d, const struct installed *i)
{
	const struct runtime *r = d->runtime;
	AUTO(buf_done) struct buf text = { 0 };
	size_t available = 0, held = 0;

	for (size_t k = 0; k < r->span.n; k++) {
		held += runtime_span_holds(&r->span.v[k], i->version);
		available += is_available(d, &r->span.v[k], i->version);
	}
	buf_adds(&text, i->files.v[0].path);
	if (i->pid)
		buf_addf(&text, " of process %d", i->pid);
	if (i->version[0])
		buf_addf(&text, ", version %s", i->version);
	if (!r->span.n)
		buf_addf(&text, ": no spans: %s", r->none ? r->none : "none is defined");
	else
		buf_addf(&text, ": %zu of %zu %s", available, held, plural(held, "span"));
	add_available_kinds(&text, d, i->version);
	if (held < r->span.n)
		buf_addf(&text, "; %zu more %s for other versions", r->span.n - held,
			 r->span.n - held == 1 ? "is" : "are");
	if (d->users)
		buf_addf(&text, ", as %s says", r->origin);
	checks_add(c, available < held ? CHECK_WARN : CHECK_OK, r->name,
		   available < held ? "see the neighboring lines" : NULL, "%s", text.data ? text.data : "");
}

static void check_installed(void *ctx, const struct installed *i)
{
	struct run *run = ctx;
	struct described *d = run->described;

	while (d->runtime != i->runtime)
		d++;
	d->found++;
	plan_wants(run->c, d, i);
	report_sum(run->c, d, i);
	for (size_t k = 0; k < d->runtime->span.n; k++)
		report_span(run->c, d, &d->runtime->span.v[k], i);
}

static void report_broken(void *ctx, const struct ut_err *err)
{
	checks_add(ctx, CHECK_NO, "runtime file", "correct or remove it", "%s", err->msg);
}

void doctor_runtimes(struct checks *c, const char *file, char *const *paths, size_t npaths)
{
	AUTO(runtimes_done) struct runtimes runtimes = { 0 };
	struct run run = { .c = c };
	struct ut_err err = { 0 };

	if (runtimes_load_good(&runtimes, report_broken, c, &err)) {
		checks_add(c, CHECK_NO, "runtimes", NULL, "%s", err.msg);
		return;
	}
	if (file && runtimes_load_file(&runtimes, file, &err))
		report_broken(c, &err);
	run.described = calloc(runtimes.all.n + 1, sizeof(*run.described));
	if (!run.described) {
		c->failed = true;
		return;
	}
	for (size_t i = 0; i < runtimes.all.n; i++)
		describe_runtime(c, &run.described[i], &runtimes.all.v[i], file);
	if (installed_each(&runtimes, paths, npaths, check_installed, &run, &err))
		checks_add(c, CHECK_NO, "runtimes", NULL, "%s", err.msg);
	for (size_t i = 0; i < runtimes.all.n; i++) {
		const struct described *d = &run.described[i];

		if (!npaths && !d->found)
			checks_add(c, CHECK_OK, d->runtime->name, NULL, "not found here; %zu %s defined%s%s",
				   d->runtime->span.n, plural(d->runtime->span.n, "span"), d->users ? " in " : "",
				   d->users ? d->runtime->origin : "");
		described_done(&run.described[i]);
	}
	free(run.described);
}

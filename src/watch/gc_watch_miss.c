/* SPDX-License-Identifier: MIT */
/* Messages on what of a process cannot be traced: no runtime, no span of the kind or the version, nothing to attach to. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "proc/descendants.h"
#include "watch/gc_watch_priv.h"

/* A descendant of a launcher, shell or service manager that is a runtime; 0: none. */
static pid_t runtime_below(const struct gc_watch *w, int pid, const struct runtime **ret)
{
	AUTO_FREE struct process_id *v = NULL;
	struct ut_err ignored;
	size_t n = 0;

	if (descendants_list(&pid, 1, &v, &n, &ignored))
		return 0;
	for (size_t i = 0; i < n; i++) {
		*ret = runtime_of_process(w->runtimes, v[i].pid);
		if (*ret && (*ret)->span.n)
			return v[i].pid;
	}
	return 0;
}

static int no_runtime(const struct gc_watch *w, const struct watched *p, struct ut_err *err)
{
	const struct runtime *runtime;
	char link[64], comm[16], c;
	pid_t below;

	if (process_has_ended((pid_t)p->p.pid))
		return ut_err_set(err, -ESRCH, "no process %u (it has exited)", p->p.pid);
	snprintf(link, sizeof(link), "/proc/%u/exe", p->p.pid);
	if (readlink(link, &c, 1) < 0 && errno == ENOENT)
		return ut_err_set(err, -EINVAL, "process %u (%s) is a kernel thread, not a runtime", p->p.pid,
				  p->p.comm);
	if (access(link, F_OK) && errno == EACCES)
		return ut_err_set(err, -EPERM, "cannot inspect process %u: permission denied; run as root", p->p.pid);
	below = p->p.pid > 1 ? runtime_below(w, (pid_t)p->p.pid, &runtime) : 0;
	if (below) {
		process_comm(below, comm);
		return ut_err_set(err, -EINVAL,
				  "process %u (%s) has no known runtime, but its child process %d (%s, %s) has one: "
				  "use -p %d, or "
				  "-f to include all children",
				  p->p.pid, p->p.comm, below, comm, runtime->name, below);
	}
	return ut_err_set(err, -EINVAL,
			  "process %u (%s) has no known runtime: 'usertrace list -p %u' shows what can be traced, "
			  "--runtime FILE adds a runtime definition, and --kind signal needs none",
			  p->p.pid, p->p.comm, p->p.pid);
}

/* Frees @text. */
static int set_message(struct ut_err *err, struct buf *text)
{
	int r = ut_err_set(err, -EINVAL, "%s", text->data ? text->data : "out of memory");

	buf_done(text);
	return r;
}

static void add_span_kinds(const struct runtime *r, struct buf *out)
{
	for (size_t i = 0; i < r->span.n; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= !strcmp(r->span.v[k].kind, r->span.v[i].kind);
		if (!again)
			buf_addf(out, "%s%s", i ? ", " : "", r->span.v[i].kind);
	}
}

/* The definitions of its runtimes have no span of these kinds. */
static int no_span(const struct gc_watch *w, const struct watched *p, struct ut_err *err)
{
	const struct runtime *r = p->p.runtime;
	struct buf text = { 0 };

	buf_addf(&text, "process %u (%s) is %s, ", p->p.pid, p->p.comm, r->name);
	if (r->none) {
		buf_addf(&text, "which does not report its collections: %s", r->none);
	} else if (!r->span.n) {
		buf_addf(&text, "for which %s defines no spans", r->origin);
	} else {
		buf_adds(&text, "which has no spans of kind ");
		gc_kinds_words(gc_kinds_of_runtimes(w->kinds), &text);
		buf_adds(&text, "; available: --kind ");
		add_span_kinds(r, &text);
	}
	for (size_t i = 0; i < r->hint.n && !r->none; i++)
		buf_addf(&text, "\n  %s", r->hint.v[i]);
	return set_message(err, &text);
}

/* "3.6 and later", "before 3.12" */
static void add_range(const struct runtime_span *s, struct buf *out)
{
	if (s->since)
		buf_addf(out, "%s and later", s->since);
	if (s->since && s->before)
		buf_adds(out, ", ");
	if (s->before)
		buf_addf(out, "before %s", s->before);
}

static int wrong_version(const struct gc_watch *w, const struct watched *p, struct ut_err *err)
{
	const struct runtime *r = p->p.runtime;
	const char *comma = "";
	struct buf text = { 0 };

	buf_addf(&text, "process %u (%s) is %s %s, but %s supports only other versions: ", p->p.pid, p->p.comm, r->name,
		 p->p.version, r->origin);
	for (size_t i = 0; i < r->span.n; i++) {
		if (!gc_kinds_has(w->kinds, r->span.v[i].kind))
			continue;
		buf_addf(&text, "%s%s of ", comma, r->span.v[i].kind);
		add_range(&r->span.v[i], &text);
		comma = ", ";
	}
	buf_adds(&text, "; use --runtime with a definition for this version");
	return set_message(err, &text);
}

static bool has_wanted_span(const struct gc_watch *w, const struct watched *p, bool *ret_holds)
{
	bool has = false;

	*ret_holds = false;
	for (size_t i = 0; i < p->runtimes.n; i++) {
		const struct watch_runtime *r = &p->runtimes.v[i];

		for (size_t k = 0; k < r->runtime->span.n; k++) {
			if (!gc_kinds_has(w->kinds, r->runtime->span.v[k].kind))
				continue;
			has = true;
			*ret_holds |= runtime_span_holds(&r->runtime->span.v[k], r->version);
		}
	}
	return has;
}

int watch_check_known(const struct gc_watch *w, const struct watched *p, struct ut_err *err)
{
	bool holds, has = has_wanted_span(w, p, &holds);

	if (w->signals_alone || holds)
		return 0;
	if (!p->runtimes.n)
		return no_runtime(w, p, err);
	return has ? wrong_version(w, p, err) : no_span(w, p, err);
}

/* --- with a plan --- */

static bool has_file(const struct mapped_files *files, const struct plan_file *f)
{
	for (size_t i = 0; i < files->files.n; i++) {
		const struct mapping *m = &files->files.v[i].first;

		if (m->file.ino == f->id.ino && (m->file.dev == f->id.dev || !strcmp(m->path, f->path)))
			return true;
	}
	return false;
}

static bool is_attached(const struct plan *plan, size_t request, const struct mapped_files *files)
{
	for (size_t i = 0; i < plan->probes.n; i++)
		if (plan->probes.v[i].request == request && plan->probes.v[i].nsites &&
		    has_file(files, &plan->files.v[plan->probes.v[i].file]))
			return true;
	return false;
}

/* The first request of this role that has nothing in these files, -1 when one has. */
static int missing_in_role(const struct gc_watch *w, const struct mapped_files *files, unsigned def,
			   enum collect_role role)
{
	const struct plan *plan = session_plan(w->session);
	int first = -1;

	for (size_t i = 0; i < w->defs.requests.n; i++) {
		const struct gc_request *r = &w->defs.requests.v[i];

		for (size_t k = 0; k < r->uses.n; k++) {
			if (r->uses.v[k].def != def || r->uses.v[k].role != role)
				continue;
			if (is_attached(plan, i, files))
				return -1;
			first = first < 0 ? (int)i : first;
		}
	}
	return first;
}

static int missing_request(const struct gc_watch *w, const struct mapped_files *files, unsigned def)
{
	int request = missing_in_role(w, files, def, COLLECT_BEGIN);

	return request >= 0 ? request : missing_in_role(w, files, def, COLLECT_END);
}

static void append_miss(const struct gc_watch *w, int request, struct buf *out)
{
	const struct plan_request *r = &session_plan(w->session)->requests.v[request];

	if (r->miss)
		buf_adds(out, r->miss);
	else
		/* Without its predicate and format: "u:python:gc__start". */
		buf_addf(out, "there is no %.*s", (int)strcspn(r->text, " \""), r->text);
}

/* Of a kind, is there any definition of this process that is attached? *@ret_missing: what the first one lacks. */
static bool kind_is_attached(const struct gc_watch *w, const struct watched *p, const struct mapped_files *files,
			     const char *kind, int *ret_missing)
{
	*ret_missing = -1;
	for (size_t i = 0; i < w->defs.defs.n; i++) {
		int request;

		if (!p->holds[i] || !w->defs.origins.v[i].runtime || strcmp(w->defs.defs.v[i].kind, kind))
			continue;
		request = missing_request(w, files, (unsigned)i);
		if (request < 0)
			return true;
		*ret_missing = *ret_missing < 0 ? request : *ret_missing;
	}
	return false;
}

/* The first definition of each kind. */
static bool is_first_of_kind(const struct gc_watch *w, size_t def)
{
	for (size_t i = 0; i < def; i++)
		if (!strcmp(w->defs.defs.v[i].kind, w->defs.defs.v[def].kind))
			return false;
	return true;
}

static int not_attached(const struct gc_watch *w, const struct watched *p, int request, struct ut_err *err)
{
	const struct runtime *r = p->p.runtime;
	struct buf text = { 0 };

	buf_addf(&text, "process %u (%s) is %s%s%s, but lacks the probes for its ", p->p.pid, p->p.comm, r->name,
		 p->p.version[0] ? " " : "", p->p.version);
	gc_kinds_words(gc_kinds_of_runtimes(w->kinds), &text);
	buf_adds(&text, ": ");
	append_miss(w, request, &text);
	if (!session_plan(w->session)->requests.v[request].miss)
		buf_adds(&text, "; it was built without them, or stripped");
	for (size_t i = 0; i < r->hint.n; i++)
		buf_addf(&text, "\n  %s", r->hint.v[i]);
	return set_message(err, &text);
}

int watch_check_attached(const struct gc_watch *w, const struct watched *p, struct ut_err *err)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	int first = -1;

	if (w->signals_alone || mapped_files_read((pid_t)p->p.pid, &files, NULL))
		return 0;
	for (size_t i = 0; i < w->defs.defs.n; i++) {
		int request;

		if (kind_is_attached(w, p, &files, w->defs.defs.v[i].kind, &request))
			return 0;
		first = first < 0 ? request : first;
	}
	return first < 0 ? 0 : not_attached(w, p, first, err);
}

static void add_hint(struct watched *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add_hint(struct watched *p, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n >= 0 && vec_push(&p->hints, text))
		free(text);
	p->p.hints = (const char *const *)p->hints.v;
	p->p.nhints = p->hints.n;
}

static void hint_at_missing(const struct gc_watch *w, struct watched *p, const struct mapped_files *files, size_t def)
{
	const char *kind = w->defs.defs.v[def].kind;
	struct buf reason = { 0 };
	int request;

	if (kind_is_attached(w, p, files, kind, &request) || request < 0)
		return;
	append_miss(w, request, &reason);
	add_hint(p, "%s cannot be traced: %s", kind, reason.data ? reason.data : "out of memory");
	buf_done(&reason);
}

/* A version that is not known, of a runtime whose spans differ by version. */
static void hint_at_version(const struct gc_watch *w, struct watched *p)
{
	for (size_t i = 0; i < w->defs.defs.n && p->p.runtime && !p->p.version[0]; i++) {
		const struct gc_origin *o = &w->defs.origins.v[i];

		if (!p->holds[i] || o->runtime != p->p.runtime || (!o->span->since && !o->span->before))
			continue;
		add_hint(p, "the version of %s is unknown, so spans of other versions may be missing or counted",
			 o->runtime->name);
		return;
	}
}

void watch_add_needs(const struct gc_watch *w, struct watched *p)
{
	for (size_t i = 0; i < w->defs.defs.n; i++) {
		const struct runtime_span *s = w->defs.origins.v[i].span;

		if (p->holds[i] && !p->seen[i] && s && s->needs)
			add_hint(p, "%s is reported only by programs started with %s", s->title ? s->title : s->kind,
				 s->needs);
		if (p->seen[i] && s && s->unseen)
			add_hint(p, "not visible in %s: %s", s->title ? s->title : s->kind, s->unseen);
	}
}

void watch_add_hints(const struct gc_watch *w, struct watched *p)
{
	AUTO(mapped_files_done) struct mapped_files files = { 0 };
	bool ended = mapped_files_read((pid_t)p->p.pid, &files, NULL) || !files.files.n;

	if (ended && p->hints.n)
		return;
	while (p->hints.n)
		free(p->hints.v[--p->hints.n]);
	p->p.nhints = 0;
	if (p->p.runtime && p->p.runtime->none)
		add_hint(p, "%s does not report its collections: %s", p->p.runtime->name, p->p.runtime->none);
	if (ended)
		return;
	for (size_t i = 0; i < w->defs.defs.n; i++)
		if (w->defs.origins.v[i].runtime && gc_kinds_has(w->kinds, w->defs.defs.v[i].kind) &&
		    is_first_of_kind(w, i))
			hint_at_missing(w, p, &files, i);
	hint_at_version(w, p);
}

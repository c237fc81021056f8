/* SPDX-License-Identifier: MIT */
/* The definitions and requests of gc: each probe once, however many spans it begins and ends. */
#include "watch/gc_defs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/signal_name.h"
#include "base/text.h"

#define DELIVER "t:signal:signal_deliver (sa_handler > 1) \"sig=%d\", sig"
#define SIGRETURN "t:syscalls:sys_enter_rt_sigreturn \"\""
#define SIGNALS_MAX 64

static const char *const kind_names[] = { "gc",	  "gc-phase", "safepoint", "compile", "class-load",
					  "park", "request",  "exception", "thread",  GC_KIND_SIGNAL };

static int find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (!strcmp(kind_names[i], name))
			return (int)i;
	return -1;
}

static int report_unknown_kind(const char *word, struct ut_err *err)
{
	struct buf all = { 0 };
	size_t near;
	int r;

	if (*word && suggest(word, kind_names, ARRAY_SIZE(kind_names), &near, 1))
		return ut_err_set(err, -EINVAL, "unknown kind '%s'; did you mean '%s'?", word, kind_names[near]);
	gc_kinds_words((1u << ARRAY_SIZE(kind_names)) - 1, &all);
	r = ut_err_set(err, -EINVAL, "unknown kind '%s'; valid kinds: %s, and all", word, all.data ? all.data : "");
	buf_done(&all);
	return r;
}

int gc_kinds_parse(const char *list, gc_kinds *ret, struct ut_err *err)
{
	AUTO_FREE char *copy = strdup(list);
	char *rest = copy, *word;
	gc_kinds set = 0;

	if (!copy)
		return ut_err_nomem(err);
	while ((word = strsep(&rest, ","))) {
		int kind = find_kind(word);

		if (kind < 0 && strcmp(word, "all"))
			return report_unknown_kind(word, err);
		set |= kind < 0 ? (1u << ARRAY_SIZE(kind_names)) - 1 : 1u << kind;
	}
	*ret = set;
	return 0;
}

bool gc_kinds_has(gc_kinds kinds, const char *kind)
{
	int i = find_kind(kind);

	return i >= 0 && kinds & 1u << i;
}

gc_kinds gc_kinds_of_runtimes(gc_kinds kinds) { return kinds & ~(1u << find_kind(GC_KIND_SIGNAL)); }

void gc_kinds_words(gc_kinds kinds, struct buf *out)
{
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++) {
		if (!(kinds & 1u << i))
			continue;
		buf_addf(out, "%s%s", comma, kind_names[i]);
		comma = ", ";
	}
}

/* Takes ownership of memory, until gc_defs_done; NULL: out of memory. */
static void *own_memory(struct gc_defs *d, void *p)
{
	if (p && !vec_push(&d->owned, p))
		return p;
	free(p);
	return NULL;
}

/* A probe that ends one stop and begins the next changes nothing: the program stays stopped. */
static enum probe_state merge_states(enum probe_state a, enum probe_state b)
{
	if (a == b || b == STATE_NONE || (b == STATE_SEE && a != STATE_NONE))
		return a;
	if (a == STATE_NONE || a == STATE_SEE)
		return b;
	return STATE_SEE;
}

static struct gc_request *get_request(struct gc_defs *d, char *text)
{
	struct gc_request r = { .text = text };

	for (size_t i = 0; i < d->requests.n; i++) {
		if (!strcmp(d->requests.v[i].text, text)) {
			free(text);
			return &d->requests.v[i];
		}
	}
	if (vec_push(&d->requests, r)) {
		free(text);
		return NULL;
	}
	return &d->requests.v[d->requests.n - 1];
}

/* Takes ownership of @text. */
static int add_use(struct gc_defs *d, char *text, enum probe_state state, struct gc_use use, struct ut_err *err)
{
	struct gc_request *r = text ? get_request(d, text) : NULL;

	if (!r || vec_push(&r->uses, use))
		return ut_err_nomem(err);
	r->state = merge_states(r->state, state);
	return 0;
}

/* Without a format every argument would be copied, unused. */
static int request_text(const struct runtime *rt, const struct runtime_span_probe *p, char **ret, struct ut_err *err)
{
	struct probe_spec *spec = NULL;
	int r = probe_parse(p->text, &spec, err);

	if (r)
		return ut_err_wrap(err, "%s:%u", rt->origin, p->line);
	if (asprintf(ret, "%s%s", p->text, spec->format || spec->args.n ? "" : " \"\"") < 0)
		r = ut_err_nomem(err);
	probe_spec_free(spec);
	return r;
}

static bool is_return(const struct runtime_span_probe *p) { return !strncmp(p->text, "r:", 2); }

static int add_probes(struct gc_defs *d, const struct runtime *rt, const struct runtime_span *s, unsigned def,
		      struct ut_err *err)
{
	static const enum collect_role roles[] = {
		[RUNTIME_BEGIN] = COLLECT_BEGIN, [RUNTIME_END] = COLLECT_END, [RUNTIME_INSIDE] = COLLECT_INSIDE
	};
	int r = 0;

	for (size_t i = 0; !r && i < s->probe.n; i++) {
		const struct runtime_span_probe *p = &s->probe.v[i];
		bool stops = s->stops && p->role != RUNTIME_INSIDE;
		enum probe_state state = !stops ? STATE_SEE : p->role == RUNTIME_BEGIN ? STATE_STOP : STATE_GO;
		char *text;

		if (d->no_returns && is_return(p))
			continue;
		r = request_text(rt, p, &text, err);
		if (!r)
			r = add_use(d, text, state, (struct gc_use){ def, roles[p->role] }, err);
	}
	return r;
}

static int add_def(struct gc_defs *d, const struct collect_def *def, const struct gc_origin *origin, struct ut_err *err)
{
	if (vec_reserve(&d->origins, d->origins.n + 1) || vec_push(&d->defs, *def))
		return ut_err_nomem(err);
	d->origins.v[d->origins.n++] = *origin;
	return 0;
}

static int add_span(struct gc_defs *d, const struct runtime *rt, const struct runtime_span *s, struct ut_err *err)
{
	static const enum pair_by by[] = { [RUNTIME_BY_THREAD] = PAIR_BY_THREAD,
					   [RUNTIME_BY_PROCESS] = PAIR_BY_PROCESS,
					   [RUNTIME_BY_ID] = PAIR_BY_ID };
	struct collect_word *words = own_memory(d, calloc(s->word.n + 1, sizeof(*words)));
	struct collect_only *only = own_memory(d, calloc(s->only.n + 1, sizeof(*only)));
	struct collect_def def = { .runtime = rt->name,
				   .kind = s->kind,
				   .title = s->title,
				   .by = by[s->by],
				   .stops = s->stops,
				   .part_of = s->part_of,
				   .words = words,
				   .nwords = s->word.n,
				   .only = only,
				   .nonly = s->only.n };
	struct gc_origin origin = { rt, s };
	int r;

	if (!words || !only)
		return ut_err_nomem(err);
	for (size_t i = 0; i < s->word.n; i++)
		words[i] = (struct collect_word){ s->word.v[i].value, s->word.v[i].number, s->word.v[i].text };
	for (size_t i = 0; i < s->only.n; i++)
		only[i] = (struct collect_only){ s->only.v[i].value, s->only.v[i].glob };
	r = add_def(d, &def, &origin, err);
	return r ? r : add_probes(d, rt, s, (unsigned)d->defs.n - 1, err);
}

static bool holds_for_any(const struct runtime_span *s, const char *const *versions, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (runtime_span_holds(s, versions[i]))
			return true;
	return !n;
}

static bool needs_return(const struct runtime_span *s)
{
	for (size_t i = 0; i < s->probe.n; i++)
		if (s->probe.v[i].role != RUNTIME_INSIDE && is_return(&s->probe.v[i]))
			return true;
	return false;
}

int gc_defs_add(struct gc_defs *d, const struct runtime *rt, gc_kinds kinds, const char *const *versions, size_t n,
		struct ut_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < rt->span.n; i++) {
		const struct runtime_span *s = &rt->span.v[i];
		bool wanted = gc_kinds_has(kinds, s->kind) || (s->with && gc_kinds_has(kinds, s->with));

		if (wanted && holds_for_any(s, versions, n) && !(d->no_returns && needs_return(s)))
			r = add_span(d, rt, s, err);
	}
	return r;
}

int gc_defs_add_signals(struct gc_defs *d, struct ut_err *err)
{
	struct collect_word *words = own_memory(d, calloc(SIGNALS_MAX, sizeof(*words)));
	char(*names)[SIGNAL_NAME_SIZE] = own_memory(d, calloc(SIGNALS_MAX, sizeof(*names)));
	struct collect_def def = { .runtime = "Linux",
				   .kind = GC_KIND_SIGNAL,
				   .title = "signal handler",
				   .by = PAIR_BY_THREAD,
				   .words = words,
				   .nwords = SIGNALS_MAX };
	struct gc_origin origin = { NULL, NULL };
	unsigned number = (unsigned)d->defs.n;
	int r = 0;

	if (!words || !names)
		return ut_err_nomem(err);
	for (int i = 0; i < SIGNALS_MAX; i++)
		words[i] = (struct collect_word){ "sig", i + 1, signal_name(i + 1, names[i]) };
	r = add_def(d, &def, &origin, err);
	if (!r)
		r = add_use(d, strdup(DELIVER), STATE_NONE, (struct gc_use){ number, COLLECT_BEGIN }, err);
	if (!r)
		r = add_use(d, strdup(SIGRETURN), STATE_NONE, (struct gc_use){ number, COLLECT_END }, err);
	return r;
}

void gc_defs_done(struct gc_defs *d)
{
	for (size_t i = 0; i < d->requests.n; i++) {
		free(d->requests.v[i].text);
		vec_done(&d->requests.v[i].uses);
	}
	for (size_t i = 0; i < d->owned.n; i++)
		free(d->owned.v[i]);
	vec_done(&d->requests);
	vec_done(&d->owned);
	vec_done(&d->defs);
	vec_done(&d->origins);
}

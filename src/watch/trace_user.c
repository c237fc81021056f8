/* SPDX-License-Identifier: MIT */
/* Adds every user event to the spans, and prints those that match a request. */
#include "watch/trace_user.h"
#include "record/user_event.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "watch/pair_life.h"
#include "live/user.h"
#include "model/family.h"
#include "model/span.h"
#include "probe/eval.h"
#include "proc/process.h"

struct user_probe {
	size_t plan_probe;
	const struct probe_checked *checked;
	const char *name;
	bool is_signal; /* s: means the runs of handlers, and e: all others */
	bool is_everything, is_pattern;
	struct live_probe *live; /* with a format or expressions of the user's; else NULL */
	uint64_t count;
};

#define KNOWN 4096
#define NAMES_SHOWN 5
#define HEARD_MAX 16
#define HEARD_LEN 48 /* longer names are not remembered */

/* The first names that programs emitted, for requests of a name that none did. */
struct heard {
	char names[HEARD_MAX][HEARD_LEN];
	size_t n;
};

/* The name of a process in its last event, and its pid in its own namespace. */
struct known {
	uint32_t pid;
	pid_t ns_pid;
	char comm[16];
};

struct trace_user {
	struct trace_user_options options;
	VEC(struct user_probe) probes;
	struct spans *spans;
	struct family *family;
	struct heard heard; /* while a request has no event */
	struct known known[KNOWN];
};

static void on_span_closed(void *ctx, const struct span *span);

static int add_user_probe(struct trace_user *u, size_t i)
{
	const struct plan_probe *p = &u->options.plan->probes.v[i];
	const struct probe_spec *typed = u->options.plan->requests.v[p->request].spec;
	struct user_probe probe = { .plan_probe = i, .checked = p->checked, .name = p->checked->spec->name };

	probe.is_signal = p->checked->spec->kind == PROBE_SIGNAL;
	probe.is_everything = !strcmp(probe.name, "*");
	probe.is_pattern = glob_is_pattern(probe.name);
	if (typed->format || typed->args.n) {
		probe.live = live_probe_new(p->checked);
		if (!probe.live)
			return -ENOMEM;
	}
	if (!vec_push(&u->probes, probe))
		return 0;
	live_probe_free(probe.live);
	return -ENOMEM;
}

static bool is_user_kind(enum probe_kind kind) { return kind == PROBE_USER || kind == PROBE_SIGNAL; }

struct trace_user *trace_user_new(const struct trace_user_options *options)
{
	struct trace_user *u = calloc(1, sizeof(*u));
	int r = 0;

	if (!u)
		return NULL;
	u->options = *options;
	u->spans = spans_new(on_span_closed, u);
	u->family = family_new();
	for (size_t i = 0; !r && i < options->plan->probes.n; i++)
		if (is_user_kind(options->plan->probes.v[i].checked->spec->kind))
			r = add_user_probe(u, i);
	return r || !u->spans || !u->family ? trace_user_free(u) : u;
}

struct trace_user *trace_user_free(struct trace_user *u)
{
	if (!u)
		return NULL;
	for (size_t i = 0; i < u->probes.n; i++)
		live_probe_free(u->probes.v[i].live);
	vec_done(&u->probes);
	spans_free(u->spans);
	family_free(u->family);
	free(u);
	return NULL;
}

#define NAME_SIZE (SPAN_NAME_MAX + 1)

static void copy_name(const struct ut_text *t, char ret[NAME_SIZE])
{
	size_t len = t->len < SPAN_NAME_MAX ? t->len : SPAN_NAME_MAX;

	if (len)
		memcpy(ret, t->bytes, len);
	ret[len] = '\0';
}

static bool request_matches(const struct user_probe *p, const struct live_user *l)
{
	char name[NAME_SIZE];

	if (p->is_signal != l->is_signal)
		return false;
	if (p->is_everything)
		return true;
	if (!ut_text_is_there(&l->name))
		return false;
	copy_name(&l->name, name);
	return p->is_pattern ? glob_match(p->name, name) : !strcmp(p->name, name);
}

static void add_heard_name(struct heard *h, const char *name, size_t len)
{
	if (!len || len >= HEARD_LEN || h->n == HEARD_MAX)
		return;
	for (size_t i = 0; i < h->n; i++)
		if (!strncmp(h->names[i], name, len) && !h->names[i][len])
			return;
	memcpy(h->names[h->n], name, len);
	h->names[h->n++][len] = '\0';
}

static void append_name(const char *name, const char *before, struct buf *out)
{
	buf_adds(out, before);
	buf_add_escaped(out, name, strlen(name));
}

/* A sentence: no event named @wanted was seen, and similar names, else the first ones that were. */
static void append_near_misses(const struct heard *h, const char *wanted, struct buf *out)
{
	const char *names[HEARD_MAX];
	size_t near[NAMES_SHOWN], n;

	for (size_t i = 0; i < h->n; i++)
		names[i] = h->names[i];
	n = suggest(wanted, names, h->n, near, NAMES_SHOWN);
	append_name(wanted, "no event named ", out);
	for (size_t i = 0; i < n; i++)
		append_name(names[near[i]], i ? ", " : "; there was ", out);
	for (size_t i = 0; !n && i < h->n && i < NAMES_SHOWN; i++)
		append_name(names[i], i ? ", " : "; there was ", out);
	if (!n && h->n > NAMES_SHOWN)
		buf_adds(out, ", and more (e:* shows all)");
	buf_addc(out, '\n');
}

/* Has no program emitted the event that this request names? */
static bool is_silent(const struct user_probe *p) { return !p->count && !p->is_pattern && !p->is_signal; }

static void add_heard_event(struct trace_user *u, const struct live_user *l)
{
	for (size_t i = 0; i < u->probes.n; i++) {
		if (is_silent(&u->probes.v[i])) {
			add_heard_name(&u->heard, l->name.bytes, l->name.len);
			return;
		}
	}
}

/* Prints it for each matching request, at most @room; how many did. */
static int print_event(struct trace_user *u, const struct live_user *l, uint64_t room)
{
	struct eval_scope scope;
	bool filled = false;
	int printed = 0;

	for (size_t i = 0; i < u->probes.n && (uint64_t)printed < room; i++) {
		struct user_probe *p = &u->probes.v[i];
		const struct expr *predicate = p->checked->spec->predicate;

		if (!request_matches(p, l))
			continue;
		if ((predicate || p->live) && !filled) {
			live_user_scope(l, &scope);
			filled = true;
		}
		if (predicate && !eval_expr(predicate, &scope))
			continue;
		if (!p->live)
			live_print_user(u->options.printer, l, u->options.out);
		else
			live_print_user_as(u->options.printer, p->live, l, &scope, u->options.out);
		p->count += l->kind != LIVE_USER_CLOSED;
		printed++;
	}
	return printed;
}

/* The entry of a process, which may replace that of another one. */
static struct known *known_of(struct trace_user *u, uint32_t pid)
{
	struct known *k = &u->known[pid % KNOWN];

	if (k->pid != pid)
		*k = (struct known){ .pid = pid, .ns_pid = process_ns_pid((pid_t)pid) };
	return k;
}

/* A span that something other than its own end closed. */
static void on_span_closed(void *ctx, const struct span *span)
{
	struct trace_user *u = ctx;
	const struct known *known = known_of(u, span->pid);
	struct live_user l = {
		.kind = LIVE_USER_CLOSED,
		.time_ns = span->end_ns,
		.pid = span->pid,
		.tid = span->tid,
		.ns_pid = known->ns_pid,
		.name = span->name,
		.text = { .state = UT_TEXT_NULL },
		.is_signal = span->is_signal,
		.has_id = span->has_id,
		.id = span->id,
		.value = span->value,
		.span = span,
	};

	memcpy(l.comm, known->comm, sizeof(l.comm));
	print_event(u, &l, UINT64_MAX);
}

static enum live_user_kind user_event_kind(enum user_kind kind)
{
	switch (kind) {
	case USER_BEGIN: return LIVE_USER_BEGIN;
	case USER_END: return LIVE_USER_END;
	case USER_COUNT: return LIVE_USER_COUNT;
	default: return LIVE_USER_MARK;
	}
}

/* From the fork event, or from /proc if it was before tracing or lost. */
static bool find_parent(struct trace_user *u, uint32_t child, struct family_parent *ret)
{
	if (!family_parent(u->family, child, ret)) {
		pid_t pid = process_parent((pid_t)child);
		uint32_t uids[4] = { 0 };

		ret->pid = pid > 1 && !process_uids(pid, uids) ? (uint32_t)pid : 0; /* else gone, or an orphan */
		ret->uid = uids[0];
		process_comm(pid, ret->comm);
		family_fork(u->family, child, ret);
	}
	return ret->pid;
}

/*
 * An event of `usertrace emit` belongs to the process that started it, usually a script, if both have the same user.
 * Otherwise another user's process could end the spans of its parent.
 */
static void set_owner(struct trace_user *u, const struct user_event *e, struct live_user *l)
{
	struct family_parent parent;

	l->pid = e->head->pid;
	l->tid = e->head->tid;
	memcpy(l->comm, e->head->comm, sizeof(l->comm));
	if (!e->for_parent || !find_parent(u, l->pid, &parent) || parent.uid != e->uid)
		return;
	l->pid = l->tid = parent.pid;
	memcpy(l->comm, parent.comm, sizeof(l->comm));
}

/* Adds a begin or an end to the spans. @room: for the span that it ends. */
static void pair_event(struct trace_user *u, struct live_user *l, struct span *room)
{
	struct span_event s = { .time_ns = l->time_ns,
				.pid = l->pid,
				.tid = l->tid,
				.name = l->name,
				.is_signal = l->is_signal,
				.has_id = l->has_id,
				.id = l->id,
				.value = l->value };

	if (l->kind == LIVE_USER_BEGIN)
		spans_begin(u->spans, &s);
	if (l->kind != LIVE_USER_END)
		return;
	l->end = spans_end(u->spans, &s, room);
	if (l->end == SPAN_COMPLETE)
		l->span = room;
}

int trace_user_event(struct trace_user *u, const struct user_event *e, unsigned cpu, uint64_t room)
{
	struct live_user l = {
		.kind = user_event_kind(e->kind),
		.time_ns = e->head->time_ns,
		.cpu = cpu,
		.has_cpu = true,
		.is_signal = e->is_signal,
		.name = e->name,
		.text = e->text,
		.has_text = e->has_text,
		.has_id = e->has_id,
		.id = e->id,
		.value = e->value,
	};
	struct known *known;
	struct span ended;

	set_owner(u, e, &l);
	known = known_of(u, l.pid);
	memcpy(known->comm, l.comm, sizeof(l.comm));
	l.ns_pid = known->ns_pid;
	pair_event(u, &l, &ended);
	if (!l.is_signal)
		add_heard_event(u, &l);
	return print_event(u, &l, room);
}

void trace_user_life(struct trace_user *u, const struct session_lifecycle *life)
{
	struct family_parent parent = { .pid = life->pid, .uid = life->uid };

	memcpy(parent.comm, life->comm, sizeof(parent.comm));
	if (life->what == UT_LIFE_FORK)
		family_fork(u->family, life->child, &parent);
	pair_life(spans_pairs(u->spans), life);
}

void trace_user_lost(struct trace_user *u, uint32_t pid, uint64_t since_ns, uint64_t until_ns)
{
	pairs_lost(spans_pairs(u->spans), pid, since_ns, until_ns);
}

void trace_user_stop(struct trace_user *u, uint64_t time_ns) { pairs_stop(spans_pairs(u->spans), time_ns); }

uint64_t trace_user_count(const struct trace_user *u, size_t probe)
{
	for (size_t i = 0; i < u->probes.n; i++)
		if (u->probes.v[i].plan_probe == probe)
			return u->probes.v[i].count;
	return 0;
}

/* All spans are counted, printed or not, so the totals say which unless all are printed. */
static bool prints_all(const struct trace_user *u)
{
	for (size_t i = 0; i < u->probes.n; i++)
		if (u->probes.v[i].is_everything && !u->probes.v[i].checked->spec->predicate)
			return true;
	return false;
}

void trace_user_totals(const struct trace_user *u, struct buf *out)
{
	const char *intro = prints_all(u) ? "spans" : "spans, printed or not";
	const struct span_counts *c = spans_counts(u->spans);
	uint64_t cut = c->of[SPAN_THREAD_EXITED] + c->of[SPAN_PROCESS_EXITED] + c->of[SPAN_EXEC];
	uint64_t early = c->of[SPAN_BEFORE_ATTACH] + c->of[SPAN_INHERITED];
	uint64_t without = c->of[SPAN_ORPHAN] + c->of[SPAN_LOST];
	const struct {
		uint64_t n;
		const char *what;
	} parts[] = {
		{ c->of[SPAN_COMPLETE], "complete" },
		{ c->of[SPAN_OPEN], "still open" },
		{ cut, "ended by the exit of their thread or process" },
		{ c->of[SPAN_EVICTED], "evicted because too many were open" },
		{ early, "began before tracing or before a fork" },
		{ without, "without a begin" },
	};
	char number[32];
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].n)
			continue;
		buf_addf(out, "%s%s%s %s", any ? "" : intro, any ? ", " : ": ", human_count(parts[i].n, number),
			 parts[i].what);
		any = true;
	}
	if (any)
		buf_addc(out, '\n');
}

void trace_user_silent(const struct trace_user *u, struct buf *out)
{
	for (size_t i = 0; u->heard.n && i < u->probes.n; i++)
		if (is_silent(&u->probes.v[i]) && !u->probes.v[i].checked->spec->predicate)
			append_near_misses(&u->heard, u->probes.v[i].name, out);
}

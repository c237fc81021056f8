/* SPDX-License-Identifier: MIT */
/* Turns spans into lines and into accounts, one per process, and accounts into summaries. */
#include "cli/gc_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/running.h"
#include "report/gc.h"

#define ENDED_MAX 512 /* accounts of exited processes, of which there may be any number */

struct account {
	const struct gc_process *p;
	struct gc_process copy; /* *p after its exit, when the watch frees it; owns its hints */
	struct gcstat *stat;
	uint64_t end_ns; /* 0: still running */
	uint64_t spans, busy_ns;
	uint64_t open_handlers; /* of signals, without an end */
};

struct gc_output {
	struct gc_output_options options;
	struct buf out;
	VEC(struct account *) accounts;
	size_t watched, ended, omitted;
	uint64_t lost;
};

struct gc_output *gc_output_new(const struct gc_output_options *options)
{
	struct gc_output *o = calloc(1, sizeof(*o));

	if (o)
		o->options = *options;
	return o;
}

static void account_free(struct account *a)
{
	for (size_t i = 0; i < a->copy.nhints; i++)
		free((char *)a->copy.hints[i]);
	free((void *)a->copy.hints);
	gcstat_free(a->stat);
	free(a);
}

struct gc_output *gc_output_free(struct gc_output *o)
{
	if (!o)
		return NULL;
	for (size_t i = 0; i < o->accounts.n; i++)
		account_free(o->accounts.v[i]);
	vec_done(&o->accounts);
	buf_done(&o->out);
	free(o);
	return NULL;
}

size_t gc_output_processes(const struct gc_output *o) { return o->watched; }

static int flush_gc_output(void *ctx)
{
	struct gc_output *o = ctx;

	return write_out(o->options.fd, &o->out);
}

static void process_json(const struct gc_output *o, const struct gc_process *p, const char *type, uint64_t time_ns,
			 struct buf *out)
{
	const struct live_gc_options *live = &o->options.live;
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", type);
	json_u64(&j, "time_ns", time_ns);
	if (live->wall_ns)
		json_u64(&j, "wall_ns", live->wall_ns + (time_ns - live->mono_ns));
	json_u64(&j, "pid", p->pid);
	json_bytes(&j, "comm", p->comm, strnlen(p->comm, sizeof(p->comm)));
	if (p->runtime)
		json_string(&j, "runtime", p->runtime->name);
	if (p->version[0])
		json_string(&j, "version", p->version);
	json_line(&j);
}

static void print_watched_process(const struct gc_process *p)
{
	struct buf text = { 0 };

	buf_addf(&text, "usertrace: watching process %u (%.16s)", p->pid, p->comm);
	if (p->runtime)
		buf_addf(&text, ": %s%s%s", p->runtime->name, p->version[0] ? " " : "", p->version);
	cli_print_sentence(text.data ? text.data : "");
	buf_done(&text);
}

static struct account *account_new(const struct gc_process *p)
{
	struct account *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->p = p;
	a->stat = gcstat_new(p->seen_ns);
	if (a->stat)
		return a;
	free(a);
	return NULL;
}

static int on_gc_process(void *ctx, struct gc_process *p)
{
	struct gc_output *o = ctx;
	struct account *a = account_new(p);

	if (!a || vec_push(&o->accounts, a)) {
		if (a)
			account_free(a);
		return -ENOMEM;
	}
	p->mine = a;
	o->watched++;
	if (o->options.live.json)
		process_json(o, p, "attach", p->seen_ns, &o->out);
	else
		print_watched_process(p);
	return 0;
}

/* The summary needs the process after its exit. */
static int copy_process(struct account *a)
{
	const struct gc_process *p = a->p;
	char **hints = calloc(p->nhints + 1, sizeof(*hints));

	if (!hints)
		return -ENOMEM;
	a->copy = *p;
	a->copy.hints = (const char *const *)hints;
	a->copy.nhints = 0;
	a->p = &a->copy;
	for (size_t i = 0; i < p->nhints; i++) {
		hints[i] = strdup(p->hints[i]);
		if (!hints[i])
			return -ENOMEM;
		a->copy.nhints++;
	}
	return 0;
}

static void remove_account(struct gc_output *o, size_t i)
{
	account_free(o->accounts.v[i]);
	o->accounts.v[i] = o->accounts.v[--o->accounts.n];
}

/* The exited process with the least busy time; there is one. */
static size_t least_busy_ended(const struct gc_output *o)
{
	size_t least = 0;

	for (size_t i = 1; i < o->accounts.n; i++) {
		const struct account *a = o->accounts.v[i], *b = o->accounts.v[least];

		if (a->end_ns && (!b->end_ns || a->busy_ns < b->busy_ns))
			least = i;
	}
	return least;
}

static int on_gc_gone(void *ctx, const struct gc_process *p, uint64_t time_ns)
{
	struct gc_output *o = ctx;
	struct account *a = p->mine;
	size_t i = o->accounts.n;

	if (o->options.live.json)
		process_json(o, p, "detach", time_ns, &o->out);
	a->end_ns = time_ns;
	if (o->options.all && !a->spans) {
		while (o->accounts.v[--i] != a)
			;
		remove_account(o, i);
		return 0;
	}
	if (copy_process(a))
		return -ENOMEM;
	if (o->ended == ENDED_MAX) {
		o->omitted++;
		remove_account(o, least_busy_ended(o));
	} else {
		o->ended++;
	}
	return 0;
}

/* A line has the name of the process, not of the thread. */
static void add_gc_line(struct gc_output *o, const struct gc_process *p, const struct collect_span *span)
{
	struct collect_span named = *span;

	memcpy(named.comm, p->comm, sizeof(named.comm));
	live_gc_line(&o->options.live, &named, &o->out);
}

static int on_gc_span(void *ctx, const struct gc_process *p, const struct collect_span *span)
{
	struct gc_output *o = ctx;
	struct account *a = p->mine;
	bool ended = span->end == SPAN_COMPLETE, is_signal = !strcmp(span->def->kind, GC_KIND_SIGNAL);

	if (gcstat_add(a->stat, span))
		return -ENOMEM;
	a->spans++;
	if (ended && !span->nested)
		a->busy_ns += span->end_ns - span->begin_ns;
	a->open_handlers += is_signal && !ended && span->end != SPAN_BEFORE_ATTACH;
	if (!o->options.lines || !gc_kinds_has(o->options.kinds, span->def->kind) ||
	    span->end_ns - span->begin_ns < o->options.min_ns)
		return 0;
	add_gc_line(o, p, span);
	return ended;
}

static int on_gc_lost(void *ctx, uint64_t count, uint64_t since_ns, uint64_t until_ns)
{
	struct gc_output *o = ctx;

	o->lost += count;
	live_gc_lost(&o->options.live, count, since_ns, until_ns, &o->out);
	return 0;
}

static void on_gc_note(void *ctx, const char *text)
{
	struct gc_output *o = ctx;
	struct json j = { .out = &o->out };

	if (!o->options.live.json) {
		print_note(NULL, text);
		return;
	}
	json_object(&j, NULL);
	json_string(&j, "type", "note");
	json_string(&j, "message", text);
	json_line(&j);
}

struct gc_watch_sink gc_output_sink(struct gc_output *o)
{
	return (struct gc_watch_sink){ .ctx = o,
				       .process = on_gc_process,
				       .gone = on_gc_gone,
				       .span = on_gc_span,
				       .lost = on_gc_lost,
				       .flush = flush_gc_output,
				       .attached = print_attached_more,
				       .note = on_gc_note };
}

int gc_output_start(struct gc_output *o, uint64_t start_ns)
{
	o->options.live.start_ns = start_ns;
	if (o->options.lines)
		live_gc_header(&o->options.live, &o->out);
	return flush_gc_output(o);
}

/* --- summaries --- */

static int compare_accounts(const void *pa, const void *pb)
{
	const struct account *a = *(struct account *const *)pa, *b = *(struct account *const *)pb;

	if (a->busy_ns != b->busy_ns)
		return a->busy_ns < b->busy_ns ? 1 : -1;
	if (a->spans != b->spans)
		return a->spans < b->spans ? 1 : -1;
	return a->p->pid < b->p->pid ? -1 : a->p->pid > b->p->pid;
}

typedef VEC(const char *) sentences;

static int add_account_hints(const struct account *a, char *room, size_t size, sentences *ret)
{
	char n[32];

	for (size_t i = 0; i < a->p->nhints; i++)
		if (vec_push(ret, a->p->hints[i]))
			return -ENOMEM;
	if (!a->open_handlers)
		return 0;
	snprintf(room, size, "%s signal %s did not return: %s left by a jump, or still ran at the end",
		 human_count(a->open_handlers, n), plural(a->open_handlers, "handler"),
		 a->open_handlers == 1 ? "it" : "they");
	return vec_push(ret, room);
}

static int add_summary(struct gc_output *o, const struct account *a, uint64_t end_ns)
{
	const struct live_gc_options *live = &o->options.live;
	struct report_gc_who who = { .pid = a->p->pid,
				     .comm = a->p->comm,
				     .version = a->p->version,
				     .lost = o->lost,
				     .runtime = a->p->runtime ? a->p->runtime->name : NULL,
				     .ended = a->end_ns != 0 };
	struct gcstat_report report;
	sentences hints = { 0 };
	char jumped[128];
	int r = gcstat_report(a->stat, a->end_ns ? a->end_ns : end_ns, &report);

	if (!r)
		r = add_account_hints(a, jumped, sizeof(jumped), &hints);
	if (live->wall_ns)
		who.wall_start_ns = live->wall_ns + report.start_ns - live->mono_ns;
	who.hints = hints.v;
	who.nhints = hints.n;
	if (!r && live->json)
		report_gc_json(&report, &who, &o->out);
	else if (!r)
		report_gc_text(&report, &who, &o->out);
	vec_done(&hints);
	return r;
}

static void add_omitted(struct gc_output *o, size_t idle)
{
	char n[32], text[96];

	if (idle)
		buf_addf(&o->out, "\n%s more %s had no matching events\n", human_count(idle, n),
			 plural(idle, "runtime"));
	if (!o->omitted)
		return;
	snprintf(text, sizeof(text), "%s more exited processes with fewer events are omitted",
		 human_count(o->omitted, n));
	if (o->options.live.json)
		on_gc_note(o, text);
	else
		buf_addf(&o->out, "\n%s\n", text);
}

int gc_output_end(struct gc_output *o, uint64_t end_ns)
{
	size_t idle = 0;
	int r = 0;

	if (!o->options.summary)
		return flush_gc_output(o);
	if (o->accounts.n)
		qsort(o->accounts.v, o->accounts.n, sizeof(*o->accounts.v), compare_accounts);
	for (size_t i = 0; !r && i < o->accounts.n; i++) {
		const struct account *a = o->accounts.v[i];

		if (o->options.all && !a->spans && !o->options.live.json) {
			idle++;
			continue;
		}
		if (!o->options.live.json && (o->options.lines || i))
			buf_addc(&o->out, '\n');
		r = add_summary(o, a, end_ns);
	}
	add_omitted(o, idle);
	return r ? r : flush_gc_output(o);
}

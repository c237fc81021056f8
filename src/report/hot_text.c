/* SPDX-License-Identifier: MIT */
/* Prints hot functions as text: a sentence, the totals and the quality of the recording, and tables that fit the terminal. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/width.h"
#include "report/hot_priv.h"

enum {
	WIDTH_AMOUNT = 9,
	WIDTH_SHARE = 7,
	WIDTH_MODULE_LEAST = 6,
	WIDTH_MODULE_MOST = 20,
	WIDTH_NAME_LEAST = 16,
	WIDTH_COMM = 16,
	WIDTH_TID = 8,
	WIDTH_HOTTEST = 24,
	WIDTH_SENTENCE = 120,
	NEIGHBORS = 5,
	REASONS = 3,
	THREADS = 10,
	THREAD_ROWS = 10,
};

struct table {
	struct hot *h;
	struct buf *out;
	size_t module; /* columns */
};

static void begin_color(const struct table *t, const char *code)
{
	if (t->h->o->color)
		buf_addf(t->out, "\033[%sm", code);
}

static void end_color(const struct table *t) { begin_color(t, "0"); }

static void add_title(const struct table *t, const char *title)
{
	begin_color(t, "1");
	buf_adds(t->out, title);
	end_color(t);
}

static void add_number(struct buf *out, const char *s, size_t columns)
{
	buf_addc(out, ' ');
	buf_add_number_cell(out, s, columns);
}

/* An escaped name in a column. */
static void add_name_cell(const struct table *t, const char *name, size_t columns)
{
	struct buf b = { 0 };

	buf_add_name(&b, name, strlen(name));
	buf_add_cell(t->out, b.data ? b.data : "", b.len, columns, false, false);
	buf_done(&b);
}

static void add_amount(const struct table *t, enum profile_state s, uint64_t value)
{
	char text[32];

	add_number(t->out, value ? hot_amount(t->h, s, value, text) : "-", WIDTH_AMOUNT);
}

static void add_share(const struct table *t, uint64_t part, uint64_t whole)
{
	char text[32];

	add_number(t->out, part ? hot_share(part, whole, text) : "-", WIDTH_SHARE);
}

/* The last column of a line that has @used columns. */
static void add_last_name(const struct table *t, size_t used, const char *name)
{
	size_t width = t->h->o->width, left = width > used + WIDTH_NAME_LEAST ? width - used : WIDTH_NAME_LEAST;

	hot_add_name(t->out, name, width ? left : SIZE_MAX);
	buf_addc(t->out, '\n');
}

static void add_module(const struct table *t, const struct hot_function *f)
{
	buf_adds(t->out, "  ");
	add_name_cell(t, hot_module(f), t->module);
	buf_adds(t->out, "  ");
}

/* --- totals --- */

/* "[unknown code, no map] 12, …" */
static void add_reasons(const struct hot *h, struct buf *out)
{
	hot_reasons_list reasons = { 0 };
	char n[32];

	if (hot_reasons(h, &reasons))
		out->failed = true;
	for (size_t i = 0; i < reasons.n && i < REASONS; i++) {
		buf_adds(out, i ? ", " : ": ");
		buf_add_name(out, reasons.v[i].text, strlen(reasons.v[i].text));
		if (!h->p->totals.times_only)
			buf_addf(out, " %s", human_count(reasons.v[i].frames, n));
	}
	if (reasons.n > REASONS)
		buf_addf(out, ", and %zu more reasons", reasons.n - REASONS);
	vec_done(&reasons);
}

/* The totals of a file that has only times. */
static void add_state_times(const struct hot *h, struct buf *out)
{
	static const char *const words[PROFILE_STATES] = {
		"of CPU time",
		"of waits for a CPU",
		"of waits",
		"of events",
	};
	const char *before = "";
	char n[32];

	for (unsigned s = 0; s < PROFILE_STATES; s++) {
		if (!h->states[s].value)
			continue;
		buf_addf(out, "%s%s %s", before, human_ns(h->states[s].value, n), words[s]);
		before = ", ";
	}
	if (!*before)
		buf_adds(out, "idle threads only");
}

static void add_state_counts(const struct hot *h, struct buf *out)
{
	static const struct {
		enum profile_state state;
		const char *one, *more;
	} words[] = {
		{ PROFILE_CPU, "sample", "samples" },
		{ PROFILE_EVENT, "event", "events" },
		{ PROFILE_BLOCKED, "wait", "waits" },
		{ PROFILE_RUNNABLE, "wait for a CPU", "waits for a CPU" },
	};
	const char *before = "";
	char n[32];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		enum profile_state s = words[i].state;
		const char *word = h->states[s].count == 1 ? words[i].one : words[i].more;

		if (!h->states[s].count && s != h->primary)
			continue;
		if (!h->states[s].times && (s == PROFILE_CPU || s == PROFILE_EVENT) && h->p->totals.unit)
			word = hot_unit(h, s);
		buf_addf(out, "%s%s ", before, human_count(h->states[s].count, n));
		buf_add_name(out, word, strlen(word));
		before = ", ";
	}
}

static void add_quality(const struct hot *h, struct buf *out)
{
	const struct profile_totals *t = &h->p->totals;
	uint64_t frames = t->frames ? t->frames : h->frames, unnamed = t->frames ? t->unnamed : h->unnamed;
	char n[32], share[32];

	(t->times_only ? add_state_times : add_state_counts)(h, out);
	if (t->duration_ns)
		buf_addf(out, " in %s", human_ns(t->duration_ns, n));
	if (t->period_ns)
		buf_addf(out, ", %.0f Hz", 1e9 / (double)t->period_ns);
	if (h->threads.n)
		buf_addf(out, ", %zu %s", h->threads.n, plural(h->threads.n, "thread"));
	buf_addf(out, "; %s lost", human_count(t->lost, n));
	if (t->cut && t->times_only)
		buf_addf(out, "; incomplete stacks: %s of the time", hot_share(t->cut, t->samples, share));
	else if (t->cut)
		buf_addf(out, "; %s %s cut (%s)", human_count(t->cut, n), plural(t->cut, "stack"),
			 hot_share(t->cut, t->samples, share));
	else
		buf_adds(out, "; all stacks complete");
	buf_addf(out, "; frames without a name: %s", hot_share(unnamed, frames, share));
	if (unnamed)
		add_reasons(h, out);
	if (t->saturated)
		buf_adds(out, "; sums exceed 64 bits");
	buf_addc(out, '\n');
	if (h->states[PROFILE_BLOCKED].idle)
		buf_addf(out, "idle threads waited for %s, which is not included below\n",
			 hot_amount(h, PROFILE_BLOCKED, h->states[PROFILE_BLOCKED].idle, n));
}

/* --- tables of functions --- */

static void add_head(const struct table *t)
{
	begin_color(t, "1");
	add_number(t->out, "SELF", WIDTH_AMOUNT);
	add_number(t->out, "%", WIDTH_SHARE);
	add_number(t->out, "TOTAL", WIDTH_AMOUNT);
	add_number(t->out, "%", WIDTH_SHARE);
	buf_adds(t->out, "  ");
	buf_add_cell(t->out, "MODULE", 6, t->module, false, false);
	buf_adds(t->out, "  FUNCTION");
	end_color(t);
	buf_addc(t->out, '\n');
}

static void add_function_row(const struct table *t, const struct hot_function *f, enum profile_state s, uint64_t value)
{
	double share = value ? (double)f->self[s] / (double)value : 0;
	size_t width = t->h->o->width, used = 2 * (WIDTH_AMOUNT + WIDTH_SHARE + 2) + t->module + 4;
	AUTO_FREE char *both = NULL; /* "take (in __futex_abstimed_wait)", where there is room for it */

	if (share >= 0.05)
		begin_color(t, share >= 0.2 ? "31" : "33");
	add_amount(t, s, f->self[s]);
	add_share(t, f->self[s], value);
	if (share >= 0.05)
		end_color(t);
	add_amount(t, s, f->total[s]);
	add_share(t, f->total[s], value);
	add_module(t, f);
	if (f->wait_callee && f->self[s] && hot_is_wait(s) &&
	    asprintf(&both, "%s (in %s)", f->name, f->wait_callee) < 0) {
		both = NULL;
		t->out->failed = true;
	}
	add_last_name(t, used, both && (!width || used + text_width(both, strlen(both)) <= width) ? both : f->name);
}

/* The functions with the largest totals that the table by self does not show. */
static void add_by_total(const struct table *t, enum profile_state s, uint64_t value, size_t max, const bool *shown)
{
	size_t n, rows = 0;
	AUTO_FREE uint32_t *order = hot_rank(t->h, s, true, &n);

	if (!order)
		t->out->failed = true;
	for (size_t i = 0; order && i < n && rows < max; i++) {
		const struct hot_function *f = &t->h->functions.v[order[i]];

		/* The plumbing is the same in all waits. */
		if (shown[order[i]] || f->kind == FRAME_WAITING ||
		    (hot_is_wait(s) && hot_is_plumbing(f->kind, f->module, f->name)))
			continue;
		if (!rows++) {
			buf_addc(t->out, '\n');
			add_title(t, "others by total");
			buf_addc(t->out, '\n');
			add_head(t);
		}
		add_function_row(t, f, s, value);
	}
}

static void add_function_tables(const struct table *t, enum profile_state s, uint64_t value, size_t max)
{
	AUTO_FREE bool *shown = calloc(t->h->functions.n + 1, sizeof(*shown));
	size_t n, left = 0;
	AUTO_FREE uint32_t *order = hot_rank(t->h, s, false, &n);

	if (!shown || !order) {
		t->out->failed = true;
		return;
	}
	add_head(t);
	for (; left < n && t->h->functions.v[order[left]].self[s]; left++) {
		if (left >= max)
			continue;
		add_function_row(t, &t->h->functions.v[order[left]], s, value);
		shown[order[left]] = true;
	}
	if (left > max)
		buf_addf(t->out, " … and %zu more\n", left - max);
	add_by_total(t, s, value, (max + 1) / 2, shown);
}

static const char *const titles[PROFILE_STATES] = { "ran", "waited for a CPU", "waited", "happened" };

/* What to do about addresses in the tables. */
static void add_advice(const struct table *t)
{
	const struct hot *h = t->h;

	for (size_t i = 0; i < h->functions.n; i++) {
		const struct hot_function *f = &h->functions.v[i];

		if (!hot_reason_len(f->name) ||
		    !(f->self[PROFILE_CPU] | f->self[PROFILE_BLOCKED] | f->self[PROFILE_EVENT]))
			continue;
		buf_adds(t->out, "\n[no symbols: FILE+0x…] is a function of a stripped file: install its debug "
				 "symbols, on Debian the package …-dbgsym\nor …-dbg (docs/profile.md)\n");
		return;
	}
}

static void add_state_tables(const struct table *t, enum profile_state s)
{
	const struct hot_state *state = &t->h->states[s];
	const char *unit = hot_unit(t->h, s);
	char n[32];

	if (!state->value)
		return;
	buf_addc(t->out, '\n');
	add_title(t, titles[s]);
	buf_addf(t->out, ": %s", hot_amount(t->h, s, state->value, n));
	if (!state->times) {
		buf_addc(t->out, ' ');
		buf_add_name(t->out, unit, strlen(unit));
	}
	if (state->kernel && s == PROFILE_CPU)
		buf_addf(t->out, ", %s of it in the kernel", hot_share(state->kernel, state->value, n));
	buf_addc(t->out, '\n');
	add_function_tables(t, s, state->value,
			    t->h->o->rows	 ? t->h->o->rows
			    : s == t->h->primary ? HOT_ROWS
						 : HOT_ROWS / 2);
}

/* --- callers and callees --- */

static void add_neighbor(const struct table *t, const struct hot_function *f, enum profile_state s, uint64_t v)
{
	add_amount(t, s, v);
	add_share(t, v, t->h->states[s].value);
	if (f)
		add_module(t, f);
	else
		buf_addf(t->out, "  %*s", (int)t->module + 2, "");
	add_last_name(t, WIDTH_AMOUNT + WIDTH_SHARE + 2 + t->module + 4,
		      f ? f->name : "(none: the thread starts here)");
}

static int compare_edges_in_state(const void *x, const void *y, void *state)
{
	const struct hot_edge *a = x, *b = y;
	uint64_t va = a->value[*(enum profile_state *)state], vb = b->value[*(enum profile_state *)state];

	if (va != vb)
		return va > vb ? -1 : 1;
	return a->other < b->other ? -1 : a->other > b->other;
}

static void add_neighbors(const struct table *t, uint32_t chosen, bool callers, enum profile_state s)
{
	const struct hot_function *f = &t->h->functions.v[chosen];
	size_t rows = 0, more = 0;

	for (size_t i = 0; i < t->h->edges.n; i++) {
		const struct hot_edge *e = &t->h->edges.v[i];

		if (e->chosen != chosen || e->caller != callers || !e->value[s])
			continue;
		if (rows++ >= NEIGHBORS) {
			more++;
			continue;
		}
		if (rows == 1)
			buf_adds(t->out, callers ? "  called by\n" : "  calls\n");
		add_neighbor(t, e->other == HOT_NONE ? NULL : &t->h->functions.v[e->other], s, e->value[s]);
	}
	if (more)
		buf_addf(t->out, " … and %zu more\n", more);
	if (!callers && rows && f->self[s]) {
		add_amount(t, s, f->self[s]);
		add_share(t, f->self[s], t->h->states[s].value);
		buf_addf(t->out, "  %*s(itself)\n", (int)t->module + 2, "");
	}
}

static void add_callers_and_callees(const struct table *t, uint32_t chosen, enum profile_state s)
{
	const struct hot_function *f = &t->h->functions.v[chosen];
	const char *module = hot_module(f);
	char share[32];

	buf_addc(t->out, '\n');
	begin_color(t, "1");
	buf_add_name(t->out, f->name, strlen(f->name));
	end_color(t);
	if (strcmp(module, "-")) {
		buf_adds(t->out, " (");
		buf_add_name(t->out, module, strlen(module));
		buf_addc(t->out, ')');
	}
	buf_addf(t->out, ", %s: %s of the total, ", titles[s], hot_share(f->total[s], t->h->states[s].value, share));
	buf_addf(t->out, "%s self\n", hot_share(f->self[s], t->h->states[s].value, share));
	if (t->h->edges.n)
		qsort_r(t->h->edges.v, t->h->edges.n, sizeof(*t->h->edges.v), compare_edges_in_state, &s);
	add_neighbors(t, chosen, true, s);
	add_neighbors(t, chosen, false, s);
}

static void add_all_chosen(const struct table *t)
{
	const struct hot *h = t->h;

	for (size_t i = 0; i < h->chosen.n; i++)
		for (unsigned s = 0; s < PROFILE_STATES; s++)
			if (h->functions.v[h->chosen.v[i]].total[s] &&
			    (h->o->function || (s == h->primary && i < h->nhottest)))
				add_callers_and_callees(t, h->chosen.v[i], (enum profile_state)s);
	for (size_t i = 0; i < h->waits.n; i++)
		add_callers_and_callees(t, h->waits.v[i], PROFILE_BLOCKED);
	if (h->o->function && !h->matches)
		buf_adds(t->out, "\nno function matches the pattern\n");
	if (h->matches > h->chosen.n)
		buf_addf(t->out, "\n%zu more functions match the pattern\n", h->matches - h->chosen.n);
}

/* --- threads --- */

/* Is there a column for the function in which each thread waits most? */
static bool has_waits_column(const struct hot *h)
{
	return h->states[PROFILE_BLOCKED].value && h->primary != PROFILE_BLOCKED;
}

static void add_thread_head(const struct table *t)
{
	static const char *const names[PROFILE_STATES] = { "RAN", "READY", "WAITED", "EVENTS" };

	buf_addc(t->out, '\n');
	begin_color(t, "1");
	buf_add_cell(t->out, "THREAD", 6, WIDTH_COMM, false, false);
	add_number(t->out, "TID", WIDTH_TID);
	for (size_t i = 0; i < PROFILE_STATES; i++)
		if (t->h->present >> hot_states[i] & 1)
			add_number(t->out, names[hot_states[i]], WIDTH_AMOUNT);
	if (t->h->states[PROFILE_BLOCKED].idle)
		add_number(t->out, "IDLE", WIDTH_AMOUNT);
	add_number(t->out, "%", WIDTH_SHARE);
	buf_adds(t->out, "  ");
	if (has_waits_column(t->h))
		buf_add_cell(t->out, "HOTTEST FUNCTION", 16, WIDTH_HOTTEST, false, false);
	buf_adds(t->out, has_waits_column(t->h) ? "  WAITS MOST IN" : "HOTTEST FUNCTION");
	end_color(t);
	buf_addc(t->out, '\n');
}

static const char *thread_function(const struct table *t, const struct hot_thread *thread, enum profile_state s)
{
	return thread->hottest[s] == HOT_NONE ? "-" : t->h->functions.v[thread->hottest[s]].name;
}

static void add_thread_row(const struct table *t, const struct hot_thread *thread)
{
	const struct profile_thread *who = &t->h->p->threads.v[thread->number];
	size_t used = WIDTH_COMM + WIDTH_TID + 1 + WIDTH_SHARE + 1 + 2;
	char tid[32];

	add_name_cell(t, who->comm ? who->comm : "", WIDTH_COMM);
	snprintf(tid, sizeof(tid), "%d", who->tid);
	add_number(t->out, tid, WIDTH_TID);
	for (size_t i = 0; i < PROFILE_STATES; i++)
		if (t->h->present >> hot_states[i] & 1) {
			add_amount(t, hot_states[i], thread->value[hot_states[i]]);
			used += WIDTH_AMOUNT + 1;
		}
	if (t->h->states[PROFILE_BLOCKED].idle) {
		add_amount(t, PROFILE_BLOCKED, thread->idle);
		used += WIDTH_AMOUNT + 1;
	}
	add_share(t, thread->value[t->h->primary], t->h->states[t->h->primary].value);
	buf_adds(t->out, "  ");
	if (has_waits_column(t->h)) {
		struct buf name = { 0 };

		hot_add_name(&name, thread_function(t, thread, t->h->primary), WIDTH_HOTTEST);
		buf_add_cell(t->out, name.data ? name.data : "", name.len, WIDTH_HOTTEST, false, false);
		buf_adds(t->out, "  ");
		buf_done(&name);
		used += WIDTH_HOTTEST + 2;
	}
	add_last_name(t, used, thread_function(t, thread, has_waits_column(t->h) ? PROFILE_BLOCKED : t->h->primary));
}

static void add_threads(const struct table *t)
{
	size_t max = t->h->o->threads ? SIZE_MAX : THREADS;

	if (t->h->threads.n < 2 && !t->h->o->threads)
		return;
	add_thread_head(t);
	for (size_t i = 0; i < t->h->threads.n && i < max; i++)
		add_thread_row(t, &t->h->threads.v[i]);
	if (t->h->threads.n > max)
		buf_addf(t->out, "… and %zu more\n", t->h->threads.n - max);
}

/* These tables come last, because hot_count_thread() replaces the counts. */
static void add_thread_tables(const struct table *t)
{
	size_t max = t->h->o->rows ? t->h->o->rows : THREAD_ROWS;

	for (size_t i = 0; i < t->h->threads.n; i++) {
		const struct hot_thread *thread = &t->h->threads.v[i];
		const struct profile_thread *who = &t->h->p->threads.v[thread->number];

		hot_count_thread(t->h, thread->number);
		for (size_t k = 0; k < PROFILE_STATES; k++) {
			enum profile_state s = hot_states[k];
			char n[32];

			if (!thread->value[s])
				continue;
			buf_addc(t->out, '\n');
			begin_color(t, "1");
			buf_adds(t->out, "thread ");
			buf_add_name(t->out, who->comm ? who->comm : "", who->comm ? strlen(who->comm) : 0);
			buf_addf(t->out, " %d", who->tid);
			end_color(t);
			buf_addf(t->out, ": %s %s\n", s == PROFILE_EVENT ? "events" : titles[s],
				 hot_amount(t->h, s, thread->value[s], n));
			add_function_tables(t, s, thread->value[s], max);
		}
	}
}

/* --- all --- */

static size_t module_width(const struct hot *h)
{
	size_t most = h->o->width && h->o->width < 100 ? WIDTH_MODULE_MOST / 2 + 2 : WIDTH_MODULE_MOST;
	size_t width = WIDTH_MODULE_LEAST;

	for (size_t i = 0; i < h->functions.n; i++) {
		size_t w = text_width(hot_module(&h->functions.v[i]), strlen(hot_module(&h->functions.v[i])));

		width = w > width ? w : width;
	}
	return width < most ? width : most;
}

/* The sentence, with line breaks between its parts where a line would be long. */
static void add_sentence(const struct hot *h, struct buf *out)
{
	struct buf b = { 0 };
	size_t column = 0;

	hot_sentence(h, &b);
	for (char *part = b.data; part && *part;) {
		char *end = strstr(part, "; ");
		size_t len = end ? (size_t)(end - part) + 1 : strlen(part), width = text_width(part, len);

		if (column && column + 1 + width > WIDTH_SENTENCE) {
			buf_addc(out, '\n');
			column = 0;
		} else if (column) {
			buf_addc(out, ' ');
			column++;
		}
		buf_add(out, part, len);
		column += width;
		part += end ? len + 1 : len;
	}
	buf_addc(out, '\n');
	out->failed |= b.failed;
	buf_done(&b);
}

int hot_text(const struct profile *p, const struct hot_options *o, struct buf *out)
{
	struct hot h;
	int r = hot_make(&h, p, o);
	struct table t = { .h = &h, .out = out };

	if (!r) {
		t.module = module_width(&h);
		add_sentence(&h, out);
		add_quality(&h, out);
		if (!o->function)
			for (size_t i = 0; i < PROFILE_STATES; i++)
				add_state_tables(&t, hot_states[i]);
		if (!o->function)
			add_advice(&t);
		add_all_chosen(&t);
		add_threads(&t);
		if (o->threads)
			add_thread_tables(&t);
	}
	hot_done(&h);
	return r || out->failed ? -ENOMEM : 0;
}

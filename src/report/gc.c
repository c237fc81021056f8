/* SPDX-License-Identifier: MIT */
/* The first sentence of a summary: how long the program was stopped, and why. */
#include "report/gc.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/text.h"
#include "report/gc_priv.h"

uint64_t gc_wall_ns(const struct gcstat_report *r) { return r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0; }

const char *gc_percent(double part, double whole, char *ret)
{
	double percent = whole > 0 ? 100 * part / whole : 0;

	if (percent <= 0)
		snprintf(ret, 32, "0 %%");
	else if (percent < 0.01)
		snprintf(ret, 32, "<0.01 %%");
	else
		snprintf(ret, 32, "%.*f %%", percent < 0.095 ? 2 : percent < 99.95, percent < 100 ? percent : 100);
	return ret;
}

void gc_noun(const char *kind, uint64_t n, struct buf *out)
{
	static const struct {
		const char *kind, *noun;
	} nouns[] = {
		{ "gc", "collection" },		{ "gc-phase", "phase" },	{ "compile", "compilation" },
		{ "class-load", "class load" }, { "signal", "signal handler" },
	};
	const char *noun = kind;

	for (size_t i = 0; i < ARRAY_SIZE(nouns); i++)
		if (!strcmp(nouns[i].kind, kind))
			noun = nouns[i].noun;
	gc_add_escaped(out, noun);
	if (n != 1)
		buf_addc(out, 's');
}

void gc_add_ns(struct buf *out, uint64_t ns)
{
	char text[32];

	buf_adds(out, human_ns(ns, text));
}

void gc_add_escaped(struct buf *out, const char *text) { buf_add_escaped(out, text, strlen(text)); }

static void add_percent(struct buf *out, double part, double whole)
{
	char text[32];

	buf_adds(out, gc_percent(part, whole, text));
}

/* The noun after the label in a sentence; "" where the label ends with one, as "G1 pause" does. */
static const char *noun_after(const char *label)
{
	static const char *const nouns[] = { "collection", "pause", "cycle", "gc", "phase", "stop" };
	const char *space = strrchr(label, ' '), *last = space ? space + 1 : label;

	for (size_t i = 0; i < ARRAY_SIZE(nouns); i++)
		if (!strcasecmp(last, nouns[i]))
			return "";
	return !strcasecmp(last, "mark") || !strcasecmp(last, "sweep") ? " phase" : " collection";
}

/* "; longest stop 87 ms (full collection, triggered by: task)" */
static void add_longest(const struct gcstat_report *r, struct buf *out)
{
	const struct gcstat_longest *l = &r->longest_stop;
	bool plain, gc;
	size_t len;

	if (!l->ns)
		return;
	plain = !strcmp(l->label, l->kind);
	gc = !strcmp(l->kind, "gc");
	len = strlen(l->cause);
	buf_adds(out, r->stops == 1 ? "; only " : "; longest ");
	buf_adds(out, r->measured ? "stop " : "pause ");
	gc_add_ns(out, l->ns);
	buf_adds(out, " (");
	if (plain || !gc)
		gc_noun(l->kind, 1, out);
	if (!plain) {
		buf_adds(out, gc ? "" : " ");
		gc_add_escaped(out, l->label);
		buf_adds(out, gc ? noun_after(l->label) : "");
	}
	if (len) { /* a call in the program requests a collection; anything else triggers it */
		buf_adds(out, len > 2 && !strcmp(l->cause + len - 2, "()") ? ", requested by " : ", triggered by: ");
		gc_add_escaped(out, l->cause);
	}
	buf_addc(out, ')');
}

static void stopped_sentence(const struct gcstat_report *r, struct buf *out)
{
	double wall = (double)gc_wall_ns(r), stopped = (double)r->stopped_ns, pause = (double)r->pause_ns;
	uint64_t beside = 0; /* concurrent collection; of several collectors the one that worked longest */
	bool differ = r->measured && pause > 1.2 * stopped && pause - stopped > 0.0005 * wall;

	for (size_t i = 0; i < r->nrows; i++)
		if (r->rows[i].label && !r->rows[i].stops && !strcmp(r->rows[i].kind, "gc") &&
		    r->rows[i].covered_ns > beside)
			beside = r->rows[i].covered_ns;
	buf_adds(out, r->measured ? "stopped " : "paused ");
	add_percent(out, r->measured ? stopped : pause, wall);
	buf_adds(out, " of the time");
	if (differ || (beside && r->measured)) {
		buf_adds(out, beside ? ", paused " : " in pauses of ");
		add_percent(out, pause, wall);
	}
	if (beside) {
		buf_adds(out, ", collected concurrently for ");
		add_percent(out, (double)beside, wall);
	}
	add_longest(r, out);
	if (!r->measured)
		buf_adds(out, " (durations only; stopped time was not measured)");
}

static void unstopped_sentence(const struct gcstat_report *r, const struct gcstat_row *row, struct buf *out)
{
	bool gc = !strcmp(row->kind, "gc");
	char text[32];

	buf_adds(out, gc ? "never stopped; " : "no stops; ");
	buf_adds(out, human_count(row->count, text));
	buf_adds(out, gc ? " concurrent " : " ");
	gc_noun(row->kind, row->count, out);
	buf_adds(out, " took ");
	add_percent(out, (double)row->covered_ns, (double)gc_wall_ns(r));
	buf_adds(out, " of the time");
	if (row->count > 1) {
		buf_adds(out, ", longest ");
		gc_add_ns(out, row->longest.ns);
	}
}

void report_gc_sentence(const struct gcstat_report *r, const struct report_gc_who *who, struct buf *out)
{
	const struct gcstat_row *row = NULL; /* of the first kind with a complete span */

	for (size_t i = 0; i < r->nrows && !row; i++)
		if (!r->rows[i].label && r->rows[i].count)
			row = &r->rows[i];
	if (r->stops) {
		stopped_sentence(r, out);
	} else if (row) {
		unstopped_sentence(r, row, out);
	} else if (r->nrows) {
		buf_adds(out, "no span was complete in ");
		gc_add_ns(out, gc_wall_ns(r));
	} else {
		buf_adds(out, who->runtime ? "no collections in " : "no known runtime and no events in ");
		gc_add_ns(out, gc_wall_ns(r));
	}
}

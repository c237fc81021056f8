/* SPDX-License-Identifier: MIT */
/* Spans of runtimes as lines for people. Every column but the last has a fixed width, so that eyes can run down it. */
#include "live/gc.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/width.h"
#include "live/gc_priv.h"

enum {
	WIDTH_SECONDS = 12,
	WIDTH_PID = 8,
	WIDTH_COMM = 16, /* 15 bytes, which may be more columns when escaped */
	WIDTH_WHAT = 22,
	WIDTH_TIME = 8, /* "1.23 ms", and '>' before it */
	WIDTH_FREED = 11, /* "999,999 obj" */
	WIDTH_HEAP = 11, /* "1023M→1023M" */
};

/* Escape sequences around what stands out: nothing else of a line depends on colour. */
#define BOLD "\033[1m"
#define YELLOW "\033[33m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

static void add_cell(struct buf *out, const char *s, size_t columns, bool right, const char *color)
{
	if (color)
		buf_adds(out, color);
	buf_add_cell(out, s, strlen(s), columns, right, false);
	if (color)
		buf_adds(out, PLAIN);
	buf_addc(out, ' ');
}

void live_gc_header(const struct live_gc_options *o, struct buf *out)
{
	if (o->json)
		return;
	add_cell(out, "SECONDS", WIDTH_SECONDS, true, NULL);
	if (o->process) {
		add_cell(out, "PID", WIDTH_PID, true, NULL);
		add_cell(out, "COMM", WIDTH_COMM, false, NULL);
	}
	add_cell(out, "WHAT", WIDTH_WHAT, false, NULL);
	add_cell(out, "PAUSE", WIDTH_TIME, true, NULL);
	add_cell(out, "STOPPED", WIDTH_TIME, true, NULL);
	add_cell(out, "GC CPU", WIDTH_TIME, true, NULL);
	add_cell(out, "FREED", WIDTH_FREED, true, NULL);
	add_cell(out, "HEAP", WIDTH_HEAP, true, NULL);
	buf_adds(out, "CAUSE\n");
}

size_t live_gc_columns(size_t columns)
{
	const size_t freed = WIDTH_SECONDS + 1 + WIDTH_WHAT + 1 + 3 * (WIDTH_TIME + 1) + WIDTH_FREED;

	return columns > freed && columns < freed + 1 + WIDTH_HEAP ? freed : columns;
}

static void add_seconds(const struct live_gc_options *o, uint64_t ns, struct buf *out)
{
	bool before = ns < o->start_ns;
	uint64_t us = (before ? o->start_ns - ns : ns - o->start_ns) / 1000;
	char text[40];

	snprintf(text, sizeof(text), "%s%llu.%06llu", before ? "-" : "", (unsigned long long)(us / 1000000),
		 (unsigned long long)(us % 1000000));
	/* Never cut: a number that lost its end is a wrong one. */
	buf_add_cell(out, text, strlen(text), strlen(text) > WIDTH_SECONDS ? strlen(text) : WIDTH_SECONDS, true, false);
}

static uint64_t duration_ns(const struct collect_span *s)
{
	return s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0;
}

/* Its begin or its end was not seen: it took at least so long. */
static bool is_at_least(const struct collect_span *s) { return s->end == SPAN_BEFORE_ATTACH || s->end == SPAN_OPEN; }

static void add_time(struct buf *out, bool known, bool at_least, uint64_t ns, const char *color)
{
	char text[40] = "-";

	if (known) {
		text[0] = '>';
		human_ns(ns, text + at_least);
	}
	add_cell(out, text, WIDTH_TIME, true, known ? color : NULL);
}

static const char *color_of(const struct live_gc_options *o, const struct collect_span *s)
{
	uint64_t ns = s->stall.known ? s->stall.stopped_ns : duration_ns(s);

	if (!o->color || !s->def->stops || span_has_no_length(s->end))
		return NULL;
	return ns >= GC_VERY_LONG_NS ? RED : ns >= GC_LONG_NS ? YELLOW : NULL;
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strcasestr(p, word)); p += n) {
		bool begins = p == text || strchr(" -_(", p[-1]), ends = !p[n] || strchr(" -_)", p[n]);

		if (begins && ends)
			return true;
	}
	return false;
}

static bool is_full(const struct collect_span *s)
{
	return !strcmp(s->def->kind, "gc") && (has_word(s->label, "full") || has_word(s->label, "major"));
}

/* What it is: its label, and its kind when that is not what everybody looks for here. Where the label begins. */
static size_t what_of(const struct collect_span *s, struct buf *ret)
{
	size_t head;

	if (strcmp(s->def->kind, "gc")) {
		buf_adds(ret, s->def->kind);
		if (!strcmp(s->label, s->def->kind))
			return ret->len;
		buf_addc(ret, ' ');
	}
	head = ret->len;
	buf_add_escaped(ret, s->label, strlen(s->label));
	return head;
}

static void add_what(const struct live_gc_options *o, const struct collect_span *s, struct buf *out)
{
	bool bold = o->color && is_full(s);
	struct buf what = { 0 };
	size_t head = what_of(s, &what);

	buf_adds(out, bold ? BOLD : "");
	buf_add_path_cell(out, what.data ? what.data : "", what.len, head, WIDTH_WHAT);
	buf_adds(out, bold ? PLAIN " " : " ");
	buf_done(&what);
}

static void add_memory(const struct collect_span *s, struct buf *out)
{
	char freed[40] = "-", heap[80] = "-", from[32], to[32];

	if (s->has_freed) {
		human_bytes(s->freed, freed);
	} else if (s->has_objects) {
		human_count(s->objects, freed);
		strcat(freed, " obj");
	}
	if (s->has_before && s->has_after)
		snprintf(heap, sizeof(heap), "%s→%s", human_bytes(s->before, from), human_bytes(s->after, to));
	else if (s->has_after)
		snprintf(heap, sizeof(heap), "→%s", human_bytes(s->after, to));
	else if (s->has_before)
		snprintf(heap, sizeof(heap), "%s→", human_bytes(s->before, from));
	add_cell(out, freed, text_width(freed, strlen(freed)) > WIDTH_FREED ? strlen(freed) : WIDTH_FREED, true, NULL);
	add_cell(out, heap, WIDTH_HEAP, true, NULL);
}

/* The parts of the last column. */
static void add_part(struct buf *out, size_t start, const char *text, size_t len)
{
	if (out->len > start)
		buf_adds(out, "; ");
	buf_add_escaped(out, text, len);
}

static void add_words(struct buf *out, size_t start, const char *text)
{
	if (out->len > start)
		buf_adds(out, "; ");
	buf_adds(out, text);
}

static const char *end_words(enum span_end end)
{
	switch (end) {
	case SPAN_COMPLETE: return NULL;
	case SPAN_BEFORE_ATTACH: return "began before tracing";
	case SPAN_OPEN: return "still open when tracing stopped";
	case SPAN_PROCESS_EXITED: return "the process exited inside";
	case SPAN_EXEC: return "the process called exec inside";
	case SPAN_THREAD_EXITED: return "its thread exited inside";
	case SPAN_INHERITED: return "began in the parent before a fork";
	case SPAN_LOST: return "its begin or its end was lost";
	case SPAN_EVICTED: return "too many open spans";
	case SPAN_ORPHAN: return "no begin";
	case SPAN_ENDS: break;
	}
	return NULL;
}

/* What did not fit into the columns. */
static void add_names(const struct collect_span *s, struct buf *out, size_t start)
{
	struct buf what = { 0 };
	char number[40];

	what_of(s, &what);
	if (what.data && text_width(what.data, what.len) > WIDTH_WHAT)
		add_part(out, start, s->label, strlen(s->label));
	buf_done(&what);
	if (s->name[0] && strcmp(s->name, s->label))
		add_part(out, start, s->name, strnlen(s->name, sizeof(s->name)));
	if (s->has_objects && s->has_freed) {
		add_words(out, start, human_count(s->objects, number));
		buf_adds(out, s->objects == 1 ? " object" : " objects");
	}
}

static void add_rest(const struct collect_span *s, struct buf *out)
{
	const char *words = end_words(s->end);
	size_t start = out->len;
	char number[32];

	if (s->cause[0])
		add_part(out, start, s->cause, strnlen(s->cause, sizeof(s->cause)));
	add_names(s, out, start);
	if (words)
		add_words(out, start, words);
	if (s->stall.known && s->stall.held_ns) {
		add_words(out, start, "held ");
		buf_addf(out, "%s by a signal or a debugger", human_ns(s->stall.held_ns, number));
	}
	if (s->lost_inside)
		add_words(out, start, "events were lost inside");
}

static void add_process(const struct collect_span *s, struct buf *out)
{
	struct buf text = { 0 };

	buf_addu(&text, s->pid);
	add_cell(out, text.data ? text.data : "", text.len > WIDTH_PID ? text.len : WIDTH_PID, true, NULL);
	buf_reset(&text);
	buf_add_escaped(&text, s->comm, strnlen(s->comm, sizeof(s->comm)));
	add_cell(out, text.data ? text.data : "", WIDTH_COMM, false, NULL);
	buf_done(&text);
}

void live_gc_line(const struct live_gc_options *o, const struct collect_span *s, struct buf *out)
{
	const char *color = color_of(o, s);
	bool length = !span_has_no_length(s->end), measured = length && s->stall.known;
	size_t len;

	if (o->json) {
		gc_json(o, s, out);
		return;
	}
	add_seconds(o, s->begin_ns, out);
	buf_addc(out, ' ');
	if (o->process)
		add_process(s, out);
	add_what(o, s, out);
	add_time(out, length, is_at_least(s), duration_ns(s), color);
	add_time(out, measured, false, s->stall.stopped_ns, color);
	add_time(out, measured, false, s->stall.collector_ns, NULL);
	add_memory(s, out);
	len = out->len;
	add_rest(s, out);
	if (out->len == len && len)
		out->data[--out->len] = '\0'; /* the blank behind the last column */
	buf_addc(out, '\n');
}

void live_gc_lost(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	if (o->json) {
		gc_lost_json(o, n, from_ns, to_ns, out);
		return;
	}
	if (from_ns < o->start_ns)
		from_ns = o->start_ns; /* 0, too: nothing came before */
	if (to_ns < from_ns)
		to_ns = from_ns;
	buf_addf(out, "-- %llu %s lost between %.6f and %.6f --\n", (unsigned long long)n, plural(n, "event"),
		 (double)(from_ns - o->start_ns) / 1e9, (double)(to_ns - o->start_ns) / 1e9);
}

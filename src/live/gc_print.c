/* SPDX-License-Identifier: MIT */
/* Prints spans of runtimes as aligned text lines. Every column except the last has a fixed width. */
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

/* Only these escape sequences depend on whether colors are on. */
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
	buf_add_number_cell(out, text, WIDTH_SECONDS);
}

static void add_time(struct buf *out, bool known, bool at_least, uint64_t ns, const char *color)
{
	char text[40] = "-";

	if (known) {
		text[0] = '>';
		human_ns(ns, text + at_least);
	}
	add_cell(out, text, WIDTH_TIME, true, known ? color : NULL);
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

/* The kind, unless it is a collection, and the label. Returns where the label begins. */
static size_t format_what(const struct collect_span *s, struct buf *ret)
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
	bool is_full = !strcmp(s->def->kind, "gc") && (has_word(s->label, "full") || has_word(s->label, "major"));
	struct buf what = { 0 };
	size_t head = format_what(s, &what);

	buf_adds(out, o->color && is_full ? BOLD : "");
	buf_add_path_cell(out, what.data ? what.data : "", what.len, head, WIDTH_WHAT);
	buf_adds(out, o->color && is_full ? PLAIN " " : " ");
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
	buf_add_number_cell(out, freed, WIDTH_FREED);
	buf_addc(out, ' ');
	add_cell(out, heap, WIDTH_HEAP, true, NULL);
}

/* A part of the last column, which began at @start. */
static void add_part(struct buf *out, size_t start, const char *text, size_t len)
{
	buf_adds(out, out->len > start ? "; " : "");
	buf_add_escaped(out, text, len);
}

/* The cause, what did not fit into the columns, and what is unusual about the span. */
static void add_remarks(const struct collect_span *s, struct buf *out)
{
	static const char *const ends[SPAN_ENDS] = {
		[SPAN_BEFORE_ATTACH] = "began before tracing",
		[SPAN_OPEN] = "still open when tracing stopped",
		[SPAN_PROCESS_EXITED] = "the process exited inside",
		[SPAN_EXEC] = "the process called exec inside",
		[SPAN_THREAD_EXITED] = "its thread exited inside",
		[SPAN_INHERITED] = "began in the parent before a fork",
		[SPAN_LOST] = "its begin or its end was lost",
		[SPAN_EVICTED] = "too many open spans",
		[SPAN_ORPHAN] = "no begin",
	};
	size_t start = out->len;
	struct buf what = { 0 };
	char text[80], number[32];

	if (s->cause[0])
		add_part(out, start, s->cause, strnlen(s->cause, sizeof(s->cause)));
	format_what(s, &what);
	if (what.data && text_width(what.data, what.len) > WIDTH_WHAT)
		add_part(out, start, s->label, strlen(s->label));
	buf_done(&what);
	if (s->name[0] && strcmp(s->name, s->label))
		add_part(out, start, s->name, strnlen(s->name, sizeof(s->name)));
	if (s->has_objects && s->has_freed) {
		snprintf(text, sizeof(text), "%s %s", human_count(s->objects, number), plural(s->objects, "object"));
		add_part(out, start, text, strlen(text));
	}
	if (ends[s->end])
		add_part(out, start, ends[s->end], strlen(ends[s->end]));
	if (s->stall.known && s->stall.held_ns) {
		snprintf(text, sizeof(text), "held %s by a signal or a debugger", human_ns(s->stall.held_ns, number));
		add_part(out, start, text, strlen(text));
	}
	if (s->lost_inside)
		add_part(out, start, "events were lost inside", strlen("events were lost inside"));
}

void live_gc_line(const struct live_gc_options *o, const struct collect_span *s, struct buf *out)
{
	bool length = !span_has_no_length(s->end), measured = length && s->stall.known;
	bool at_least = s->end == SPAN_BEFORE_ATTACH || s->end == SPAN_OPEN; /* its begin or end was not seen */
	uint64_t took_ns = gc_duration_ns(s), stop_ns = s->stall.known ? s->stall.stopped_ns : took_ns;
	const char *color = stop_ns >= GC_VERY_LONG_NS ? RED : stop_ns >= GC_LONG_NS ? YELLOW : NULL;
	size_t len;

	if (o->json) {
		gc_json(o, s, out);
		return;
	}
	if (!o->color || !s->def->stops || !length)
		color = NULL;
	add_seconds(o, s->begin_ns, out);
	buf_addc(out, ' ');
	if (o->process) {
		struct buf text = { 0 };

		buf_addu(&text, s->pid);
		buf_add_number_cell(out, text.data ? text.data : "", WIDTH_PID);
		buf_addc(out, ' ');
		buf_reset(&text);
		buf_add_escaped(&text, s->comm, strnlen(s->comm, sizeof(s->comm)));
		add_cell(out, text.data ? text.data : "", WIDTH_COMM, false, NULL);
		buf_done(&text);
	}
	add_what(o, s, out);
	add_time(out, length, at_least, took_ns, color);
	add_time(out, measured, false, s->stall.stopped_ns, color);
	add_time(out, measured, false, s->stall.collector_ns, NULL);
	add_memory(s, out);
	len = out->len;
	add_remarks(s, out);
	if (out->len == len && len)
		out->data[--out->len] = '\0'; /* the space after the column before */
	buf_addc(out, '\n');
}

void live_gc_lost(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	if (o->json) {
		gc_lost_json(o, n, from_ns, to_ns, out);
		return;
	}
	if (from_ns < o->start_ns)
		from_ns = o->start_ns; /* also for 0: no event came before */
	if (to_ns < from_ns)
		to_ns = from_ns;
	buf_addf(out, "-- %llu %s lost between %.6f and %.6f --\n", (unsigned long long)n, plural(n, "event"),
		 (double)(from_ns - o->start_ns) / 1e9, (double)(to_ns - o->start_ns) / 1e9);
}

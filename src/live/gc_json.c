/* SPDX-License-Identifier: MIT */
/* Spans of runtimes as JSON, one object a line. What is not known has no key. */
#include <string.h>
#include <time.h>

#include "live/gc_priv.h"

static void add_number(const char *key, uint64_t v, struct buf *out)
{
	buf_addf(out, ",\"%s\":", key);
	buf_addu(out, v);
}

static void add_bytes(const char *key, const char *s, size_t len, struct buf *out)
{
	buf_addf(out, ",\"%s\":", key);
	buf_add_json(out, s, len);
}

static void add_text(const char *key, const char *s, struct buf *out) { add_bytes(key, s, strlen(s), out); }

/* The moment @ns on the wall clock, where that is known. */
static void add_wall(const struct live_gc_options *o, const char *key, uint64_t ns, struct buf *out)
{
	uint64_t wall = o->wall_ns + (ns - o->mono_ns);
	time_t second = (time_t)(wall / 1000000000u);
	char text[40];
	struct tm tm;

	if (!o->wall_ns || !gmtime_r(&second, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	buf_addf(out, ",\"%s\":\"%s.%09uZ\"", key, text, (unsigned)(wall % 1000000000u));
}

static void add_who(const struct collect_span *s, struct buf *out)
{
	buf_adds(out, "{\"type\":\"span\"");
	add_text("kind", s->def->kind, out);
	if (s->def->runtime)
		add_text("runtime", s->def->runtime, out);
	add_number("pid", s->pid, out);
	add_number("tid", s->tid, out);
	add_bytes("comm", s->comm, strnlen(s->comm, sizeof(s->comm)), out);
	add_number("number", s->number, out);
	add_text("label", s->label, out);
	if (s->name[0])
		add_text("name", s->name, out);
	if (s->cause[0])
		add_text("cause", s->cause, out);
}

static void add_times(const struct live_gc_options *o, const struct collect_span *s, struct buf *out)
{
	add_number("begin_ns", s->begin_ns, out);
	add_number("end_ns", s->end_ns, out);
	add_wall(o, "wall", s->begin_ns, out);
	add_number("duration_ns", s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0, out);
	if (!s->stall.known)
		return;
	add_number("stopped_ns", s->stall.stopped_ns, out);
	add_number("waited_ns", s->stall.waited_ns, out);
	add_number("collector_ns", s->stall.collector_ns, out);
	add_number("program_ns", s->stall.program_ns, out);
	add_number("held_ns", s->stall.held_ns, out);
}

static void add_memory(const struct collect_span *s, struct buf *out)
{
	if (s->has_before)
		add_number("before", s->before, out);
	if (s->has_after)
		add_number("after", s->after, out);
	if (s->has_freed)
		add_number("freed", s->freed, out);
	if (s->has_objects)
		add_number("objects", s->objects, out);
	if (s->has_heap)
		add_number("heap", s->heap, out);
}

/* How many of the values before @i have its name. */
static unsigned earlier(const struct collect_span *s, size_t i)
{
	unsigned n = 0;

	for (size_t k = 0; k < i; k++)
		n += !strcmp(s->values[k].name, s->values[i].name);
	return n;
}

/* A name that begin and end both have is NAME and NAME_at_end: an object with a key twice is no JSON. */
static void add_value(const struct collect_value *v, bool again, struct buf *out)
{
	struct buf key = { 0 };

	buf_adds(&key, v->name);
	buf_adds(&key, again ? "_at_end" : "");
	buf_add_json(out, key.data ? key.data : "", key.len);
	buf_done(&key);
	buf_addc(out, ':');
	if (v->is_text)
		buf_add_json(out, v->text, v->len);
	else
		buf_addi(out, v->number);
}

static void add_values(const struct collect_span *s, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < s->nvalues; i++) {
		unsigned n = earlier(s, i);

		if (n > 1)
			continue;
		buf_adds(out, any ? "," : ",\"values\":{");
		add_value(&s->values[i], n == 1, out);
		any = true;
	}
	if (any)
		buf_addc(out, '}');
}

void gc_json(const struct live_gc_options *o, const struct collect_span *s, struct buf *out)
{
	add_who(s, out);
	add_times(o, s, out);
	add_memory(s, out);
	add_text("close", span_end_name(s->end), out);
	if (s->nested)
		buf_adds(out, ",\"nested\":true");
	if (s->lost_inside)
		buf_adds(out, ",\"lost_inside\":true");
	add_values(s, out);
	buf_adds(out, "}\n");
}

void gc_lost_json(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	buf_adds(out, "{\"type\":\"lost\"");
	add_number("lost", n, out);
	add_number("from_ns", from_ns, out);
	add_number("to_ns", to_ns, out);
	if (from_ns)
		add_wall(o, "wall_from", from_ns, out);
	add_wall(o, "wall_to", to_ns, out);
	buf_adds(out, "}\n");
}

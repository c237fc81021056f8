/* SPDX-License-Identifier: MIT */
/* Prints spans of runtimes as JSON, one object per line. Unknown values have no key. */
#include <string.h>

#include "base/json.h"
#include "live/gc_priv.h"

/* @ns on the wall clock, if known. */
static void add_wall(const struct live_gc_options *o, uint64_t ns, struct json *j)
{
	if (o->wall_ns)
		json_u64(j, "wall_ns", o->wall_ns + (ns - o->mono_ns));
}

/* Begin and end may have values of the same name. JSON keys must differ: the one of the end is NAME_at_end. */
static void add_span_values(const struct collect_span *s, struct json *j)
{
	json_object(j, "args");
	for (size_t i = 0; i < s->nvalues; i++) {
		const struct collect_value *v = &s->values[i];
		struct buf key = { 0 };
		unsigned same = 0;

		for (size_t k = 0; k < i; k++)
			same += !strcmp(s->values[k].name, v->name);
		if (same > 1)
			continue;
		buf_adds(&key, v->name);
		buf_adds(&key, same ? "_at_end" : "");
		j->out->failed |= key.failed;
		json_raw_foreign(j, key.data ? key.data : "", key.len);
		buf_done(&key);
		if (v->is_text)
			buf_add_json(j->out, v->text, v->len);
		else
			buf_addi(j->out, v->number);
	}
	json_close(j);
}

/* What is measured and known. */
static void add_numbers(const struct collect_span *s, struct json *j)
{
	if (s->stall.known) {
		json_u64(j, "stopped_ns", s->stall.stopped_ns);
		json_u64(j, "waited_ns", s->stall.waited_ns);
		json_u64(j, "collector_ns", s->stall.collector_ns);
		json_u64(j, "program_ns", s->stall.program_ns);
		json_u64(j, "held_ns", s->stall.held_ns);
	}
	if (s->has_before)
		json_u64(j, "before_bytes", s->before);
	if (s->has_after)
		json_u64(j, "after_bytes", s->after);
	if (s->has_freed)
		json_u64(j, "freed_bytes", s->freed);
	if (s->has_objects)
		json_u64(j, "freed_objects", s->objects);
	if (s->has_heap)
		json_u64(j, "heap_bytes", s->heap);
}

void gc_json(const struct live_gc_options *o, const struct collect_span *s, struct buf *out)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", "span");
	json_string(&j, "kind", s->def->kind);
	if (s->def->runtime)
		json_string(&j, "runtime", s->def->runtime);
	json_u64(&j, "pid", s->pid);
	json_u64(&j, "tid", s->tid);
	json_bytes(&j, "comm", s->comm, strnlen(s->comm, sizeof(s->comm)));
	json_u64(&j, "number", s->number);
	json_string(&j, "label", s->label);
	if (s->name[0])
		json_string(&j, "name", s->name);
	if (s->cause[0])
		json_string(&j, "cause", s->cause);
	json_u64(&j, "begin_ns", s->begin_ns);
	json_u64(&j, "end_ns", s->end_ns);
	add_wall(o, s->begin_ns, &j);
	json_u64(&j, "duration_ns", gc_duration_ns(s));
	add_numbers(s, &j);
	json_string(&j, "end", span_end_name(s->end));
	if (s->nested)
		json_bool(&j, "nested", true);
	if (s->lost_inside)
		json_bool(&j, "lost_inside", true);
	if (s->nvalues)
		add_span_values(s, &j);
	json_line(&j);
}

void gc_lost_json(const struct live_gc_options *o, uint64_t n, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	struct json j = { .out = out };
	uint64_t begin_ns = from_ns > o->start_ns ? from_ns : o->start_ns; /* 0: no event came before */

	json_object(&j, NULL);
	json_string(&j, "type", "lost");
	json_u64(&j, "count", n);
	json_u64(&j, "begin_ns", begin_ns);
	json_u64(&j, "end_ns", to_ns > begin_ns ? to_ns : begin_ns);
	add_wall(o, begin_ns, &j);
	json_line(&j);
}

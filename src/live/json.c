/* SPDX-License-Identifier: MIT */
/* Events as JSON, one object a line. */
#include <string.h>

#include "live/print_priv.h"

void json_wall(struct live_printer *p, struct json *j, uint64_t ns)
{
	uint64_t wall = wall_ns_of(p, ns);

	if (wall)
		json_u64(j, "wall_ns", wall);
}

/* What stands in the place of a value. */
static void add_error(const char *error, struct json *j)
{
	json_open(j, false);
	json_string(j, "error", error);
}

static void add_fault(uint64_t address, struct json *j)
{
	add_error("fault", j);
	if (address)
		json_address(j, "address", address);
	json_close(j);
}

void json_text(const struct ut_text *t, struct json *j)
{
	switch (t->state) {
	case UT_TEXT_WHOLE: buf_add_json(j->out, t->bytes, t->len); break;
	case UT_TEXT_NULL: buf_adds(j->out, "null"); break;
	case UT_TEXT_FAULT: add_fault(t->address, j); break;
	default:
		json_open(j, false);
		json_bytes(j, "text", t->bytes, t->len);
		json_string(j, "truncated", t->state == UT_TEXT_CUT_FAULT ? "fault" : "limit");
		if (t->state != UT_TEXT_CUT_FAULT)
			json_u64(j, "limit", t->len);
		json_close(j);
	}
}

static void add_float(uint64_t v, uint8_t size, struct buf *out)
{
	double d;
	float f;

	if (size == 4) {
		memcpy(&f, &v, sizeof(f));
		d = f;
	} else {
		memcpy(&d, &v, sizeof(d));
	}
	buf_add_json_double(out, d, size == 4 ? 9 : 17);
}

static void add_value(const struct live_event *e, unsigned i, struct json *j)
{
	const struct type *type = &e->probe->checked->outputs[i].type;
	struct int_spec spec = {
		.base = 10, .plain = true, .is_signed = type->is_signed, .size = type->size ? type->size : 8
	};

	if (event_faulted(e, i))
		add_fault(event_value(e, i), j);
	else if (type->kind == TYPE_FLOAT)
		add_float(event_value(e, i), type->size, j->out);
	else
		number_print(&spec, event_value(e, i), j->out);
}

static void add_arg(struct live_printer *p, const struct live_event *e, unsigned i, struct json *j)
{
	const struct output *output = &e->probe->checked->outputs[i];
	struct ut_text t;

	if (event_unreadable(e, i)) {
		add_error("unreadable", j);
		json_string(j, "reason", event_unreadable(e, i));
		json_close(j);
	} else if (output_is_stack(output->kind)) {
		stack_json(p, e, i, j);
	} else if (output_has_text(output->kind) || output->type.kind == TYPE_CHARS) {
		event_text(e, i, &t);
		json_text(&t, j);
	} else {
		add_value(e, i, j);
	}
}

static void add_args(struct live_printer *p, const struct live_event *e, struct json *j)
{
	json_object(j, "args");
	for (unsigned i = 0; i < e->probe->checked->noutputs; i++) {
		json_raw_quoted(j, e->probe->keys[i]);
		add_arg(p, e, i, j);
	}
	json_close(j);
}

void json_process(uint32_t pid, pid_t ns_pid, uint32_t tid, const char *comm, struct json *j)
{
	json_u64(j, "pid", pid);
	if (ns_pid > 0 && (uint32_t)ns_pid != pid)
		json_u64(j, "ns_pid", (uint32_t)ns_pid);
	json_u64(j, "tid", tid);
	json_bytes(j, "comm", comm, strnlen(comm, sizeof(((struct ut_rec_event *)0)->comm)));
}

static void add_probe(struct live_printer *p, const struct live_event *e, struct json *j)
{
	struct buf *name = &p->scratch;

	buf_reset(name);
	if (e->provider_or_file) {
		buf_adds(name, e->provider_or_file);
		buf_addc(name, ':');
	}
	buf_adds(name, e->func ? e->func : "");
	json_bytes(j, "probe", name->data, name->len);
}

void json_print(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", "event");
	json_u64(&j, "time_ns", e->rec->time_ns);
	json_wall(p, &j, e->rec->time_ns);
	json_process(e->rec->pid, e->ns_pid, e->rec->tid, e->rec->comm, &j);
	json_u64(&j, "cpu", e->cpu);
	add_probe(p, e, &j);
	add_args(p, e, &j);
	if (e->probe->checked->spec->format) {
		buf_reset(&p->scratch);
		steps_run(e, &p->scratch);
		json_bytes(&j, "message", p->scratch.data ? p->scratch.data : "", p->scratch.len);
	}
	json_line(&j);
}

/* From the start on, where nothing came before. */
void json_interval(struct live_printer *p, uint64_t from_ns, uint64_t to_ns, struct json *j)
{
	uint64_t begin_ns = from_ns > p->opts.start_ns ? from_ns : p->opts.start_ns;

	json_u64(j, "begin_ns", begin_ns);
	json_u64(j, "end_ns", to_ns > begin_ns ? to_ns : begin_ns);
	json_wall(p, j, begin_ns);
}

void json_lost(struct live_printer *p, uint64_t n, unsigned cpu, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", "lost");
	json_u64(&j, "count", n);
	json_u64(&j, "cpu", cpu);
	json_interval(p, from_ns, to_ns, &j);
	json_line(&j);
}

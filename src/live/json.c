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

/* Replaces a value that could not be read; the caller closes the object. */
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

static void add_argument(struct live_printer *p, const struct live_event *e, unsigned i, struct json *j)
{
	const struct output *output = &e->probe->checked->outputs[i];
	const struct type *type = &output->type;
	struct int_spec spec = {
		.base = 10, .plain = true, .is_signed = type->is_signed, .size = type->size ? type->size : 8
	};
	struct ut_text t;

	if (event_unreadable(e, i)) {
		add_error("unreadable", j);
		json_string(j, "reason", event_unreadable(e, i));
		json_close(j);
	} else if (output_is_stack(output->kind)) {
		stack_json(p, e, i, j);
	} else if (output_has_text(output->kind) || type->kind == TYPE_CHARS) {
		event_text(e, i, &t);
		json_text(&t, j);
	} else if (event_faulted(e, i)) {
		add_fault(event_value(e, i), j);
	} else if (type->kind == TYPE_FLOAT) {
		buf_add_json_double(j->out, double_of(event_value(e, i), type->size), type->size == 4 ? 9 : 17);
	} else {
		number_print(&spec, event_value(e, i), j->out);
	}
}

void json_process(uint32_t pid, pid_t ns_pid, uint32_t tid, const char *comm, struct json *j)
{
	json_u64(j, "pid", pid);
	if (ns_pid > 0 && (uint32_t)ns_pid != pid)
		json_u64(j, "ns_pid", (uint32_t)ns_pid);
	json_u64(j, "tid", tid);
	json_bytes(j, "comm", comm, strnlen(comm, sizeof(((struct ut_rec_event *)0)->comm)));
}

void json_print(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	struct json j = { .out = out };
	struct buf *text = &p->scratch;

	json_object(&j, NULL);
	json_string(&j, "type", "event");
	json_u64(&j, "time_ns", e->rec->time_ns);
	json_wall(p, &j, e->rec->time_ns);
	json_process(e->rec->pid, e->ns_pid, e->rec->tid, e->rec->comm, &j);
	json_u64(&j, "cpu", e->cpu);
	buf_reset(text);
	if (e->provider_or_file)
		buf_adds(text, e->provider_or_file);
	buf_adds(text, e->provider_or_file ? ":" : "");
	buf_adds(text, e->func ? e->func : "");
	json_bytes(&j, "probe", text->data, text->len);
	json_object(&j, "args");
	for (unsigned i = 0; i < e->probe->checked->noutputs; i++) {
		json_raw_quoted(&j, e->probe->keys[i]);
		add_argument(p, e, i, &j);
	}
	json_close(&j);
	if (e->probe->checked->spec->format) {
		buf_reset(text);
		steps_run(e, text);
		json_bytes(&j, "message", text->data ? text->data : "", text->len);
	}
	json_line(&j);
}

static void add_interval(struct live_printer *p, uint64_t from_ns, uint64_t to_ns, struct json *j)
{
	uint64_t begin_ns = from_ns > p->opts.start_ns ? from_ns : p->opts.start_ns; /* 0: no event came before */

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
	add_interval(p, from_ns, to_ns, &j);
	json_line(&j);
}

void throttled_json(struct live_printer *p, uint64_t n, uint32_t pid, const char *comm, uint64_t from_ns,
		    uint64_t to_ns, struct buf *out)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", "throttled");
	json_u64(&j, "count", n);
	json_u64(&j, "pid", pid);
	if (comm)
		json_string(&j, "comm", comm);
	add_interval(p, from_ns, to_ns, &j);
	json_line(&j);
}

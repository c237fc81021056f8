/* SPDX-License-Identifier: MIT */
/* Events as JSON, one object a line. */
#include <math.h>
#include <string.h>

#include "live/print_priv.h"

static void add_string(const char *s, struct buf *out) { buf_add_json(out, s ? s : "", s ? strlen(s) : 0); }

void json_number(const char *key, uint64_t v, struct buf *out)
{
	buf_adds(out, key);
	buf_addu(out, v);
}

void json_wall(struct live_printer *p, const char *key, uint64_t ns, struct buf *out)
{
	uint64_t wall = wall_ns_of(p, ns);

	if (!wall)
		return;
	buf_adds(out, key);
	buf_addc(out, '"');
	utc_print(p, wall, out);
	buf_addc(out, '"');
}

static void add_fault(uint64_t address, struct buf *out)
{
	buf_adds(out, "{\"error\":\"fault\"");
	if (address) {
		buf_adds(out, ",\"address\":\"0x");
		buf_addx(out, address);
		buf_addc(out, '"');
	}
	buf_addc(out, '}');
}

void json_text(const struct event_text *t, struct buf *out)
{
	switch (t->state) {
	case UT_TEXT_WHOLE: buf_add_json(out, t->bytes, t->len); break;
	case UT_TEXT_NULL: buf_adds(out, "null"); break;
	case UT_TEXT_FAULT: add_fault(t->address, out); break;
	default:
		buf_adds(out, "{\"text\":");
		buf_add_json(out, t->bytes, t->len);
		if (t->state == UT_TEXT_CUT_FAULT)
			buf_adds(out, ",\"cut\":\"fault\"}");
		else {
			json_number(",\"cut\":\"limit\",\"limit\":", t->len, out);
			buf_addc(out, '}');
		}
	}
}

/* JSON has no NaN and no infinity: they are strings. */
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
	if (isnan(d))
		buf_adds(out, "\"NaN\"");
	else if (isinf(d))
		buf_adds(out, d < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	else
		buf_addf(out, size == 4 ? "%.9g" : "%.17g", d);
}

static void add_value(const struct live_event *e, unsigned i, struct buf *out)
{
	const struct type *type = &e->probe->checked->outputs[i].type;
	struct int_spec spec = {
		.base = 10, .plain = true, .is_signed = type->is_signed, .size = type->size ? type->size : 8
	};

	if (event_faulted(e, i))
		add_fault(event_value(e, i), out);
	else if (type->kind == TYPE_FLOAT)
		add_float(event_value(e, i), type->size, out);
	else
		number_print(&spec, event_value(e, i), out);
}

static void add_arg(struct live_printer *p, const struct live_event *e, unsigned i, struct buf *out)
{
	const struct output *output = &e->probe->checked->outputs[i];
	struct event_text t;

	if (event_unreadable(e, i)) {
		buf_adds(out, "{\"error\":\"unreadable\",\"reason\":");
		add_string(event_unreadable(e, i), out);
		buf_addc(out, '}');
	} else if (output_is_stack(output->kind)) {
		stack_json(p, e, i, out);
	} else if (output_has_text(output->kind) || output->type.kind == TYPE_CHARS) {
		event_text(e, i, &t);
		json_text(&t, out);
	} else {
		add_value(e, i, out);
	}
}

static void add_args(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	buf_adds(out, ",\"args\":{");
	for (unsigned i = 0; i < e->probe->checked->noutputs; i++) {
		if (i)
			buf_addc(out, ',');
		buf_adds(out, e->probe->keys[i]);
		buf_addc(out, ':');
		add_arg(p, e, i, out);
	}
	buf_addc(out, '}');
}

void json_process(uint32_t pid, pid_t ns_pid, uint32_t tid, const char *comm, struct buf *out)
{
	json_number(",\"pid\":", pid, out);
	if (ns_pid > 0 && (uint32_t)ns_pid != pid)
		json_number(",\"ns_pid\":", (uint32_t)ns_pid, out);
	json_number(",\"tid\":", tid, out);
	buf_adds(out, ",\"comm\":");
	buf_add_json(out, comm, strnlen(comm, sizeof(((struct ut_rec_event *)0)->comm)));
}

static void add_probe(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	struct buf *name = &p->scratch;

	buf_reset(name);
	if (e->provider_or_file) {
		buf_adds(name, e->provider_or_file);
		buf_addc(name, ':');
	}
	buf_adds(name, e->func ? e->func : "");
	buf_adds(out, ",\"probe\":");
	buf_add_json(out, name->data, name->len);
}

void json_print(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	json_number("{\"time\":", e->rec->time_ns, out);
	json_wall(p, ",\"wall\":", e->rec->time_ns, out);
	json_process(e->rec->pid, e->ns_pid, e->rec->tid, e->rec->comm, out);
	json_number(",\"cpu\":", e->cpu, out);
	add_probe(p, e, out);
	add_args(p, e, out);
	if (e->probe->checked->spec->format) {
		buf_reset(&p->scratch);
		steps_run(e, &p->scratch);
		buf_adds(out, ",\"message\":");
		buf_add_json(out, p->scratch.data ? p->scratch.data : "", p->scratch.len);
	}
	buf_adds(out, "}\n");
}

void json_lost(struct live_printer *p, uint64_t n, unsigned cpu, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	json_number("{\"lost\":", n, out);
	json_number(",\"cpu\":", cpu, out);
	json_number(",\"from\":", from_ns, out);
	json_number(",\"to\":", to_ns, out);
	json_wall(p, ",\"wall_from\":", from_ns, out);
	json_wall(p, ",\"wall_to\":", to_ns, out);
	buf_adds(out, "}\n");
}

/* SPDX-License-Identifier: MIT */
/* Prints events as text: the columns, the message, the stacks below it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "live/print_priv.h"

struct live_printer *live_printer_new(const struct live_options *options)
{
	struct live_printer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->opts = *options;
	p->second = INT64_MIN;
	return p;
}

struct live_printer *live_printer_free(struct live_printer *p)
{
	if (!p)
		return NULL;
	buf_done(&p->scratch);
	vec_done(&p->frames.v);
	free(p);
	return NULL;
}

static void add_column(const char *title, size_t width, struct buf *out)
{
	size_t from = out->len;

	buf_adds(out, title);
	buf_pad(out, from, width);
}

void live_header(const struct live_printer *p, struct buf *out)
{
	if (p->opts.json)
		return;
	if (p->opts.wall_time)
		add_column("TIME", WIDTH_TIME, out);
	if (p->opts.since_start)
		add_column("SECONDS", WIDTH_SECONDS, out);
	if (p->opts.cpu)
		add_column("CPU", WIDTH_CPU, out);
	add_column("PID", WIDTH_PID, out);
	add_column("TID", WIDTH_PID, out);
	add_column("COMM", WIDTH_COMM, out);
	add_column("FUNC", WIDTH_FUNC, out);
	buf_adds(out, "-\n");
}

void times_print(struct live_printer *p, uint64_t time_ns, int64_t cpu, struct buf *out)
{
	size_t from = out->len;

	if (p->opts.wall_time) {
		wall_print(p, time_ns, out);
		buf_pad(out, from, WIDTH_TIME);
	}
	from = out->len;
	if (p->opts.since_start) {
		seconds_print(p, time_ns, out);
		buf_pad(out, from, WIDTH_SECONDS);
	}
	from = out->len;
	if (p->opts.cpu) {
		if (cpu < 0)
			buf_addc(out, '-');
		else
			buf_addu(out, (uint64_t)cpu);
		buf_pad(out, from, WIDTH_CPU);
	}
}

int live_print(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	struct head h = { .pid = e->rec->pid, .tid = e->rec->tid, .ns_pid = e->ns_pid, .comm = e->rec->comm };
	int r = event_check(e);
	size_t from, end;

	if (r)
		return r;
	if (p->opts.json) {
		json_print(p, e, out);
		return 0;
	}
	h.is_foreign = e->name;
	h.func = e->name ? *e->name : (struct ut_text){ .bytes = e->func, .len = strlen(e->func) };
	times_print(p, e->rec->time_ns, e->cpu, out);
	end = head_print(p, &h, out);
	from = out->len;
	steps_run(e, out);
	if (out->len == from && !out->failed) /* no message: no spaces at the end of the line */
		out->len = end;
	buf_addc(out, '\n');
	stacks_print(p, e, out);
	return 0;
}

static void add_moment(struct live_printer *p, uint64_t ns, struct buf *out)
{
	if (p->opts.wall_time)
		wall_print(p, ns, out);
	else
		seconds_print(p, ns, out);
}

static void add_interval(struct live_printer *p, uint64_t from_ns, uint64_t to_ns, struct buf *out)
{
	buf_adds(out, " between ");
	add_moment(p, from_ns, out);
	buf_adds(out, " and ");
	add_moment(p, to_ns, out);
}

void live_print_lost(struct live_printer *p, uint64_t n, unsigned cpu, uint64_t from_ns, uint64_t to_ns,
		     struct buf *out)
{
	if (p->opts.json) {
		json_lost(p, n, cpu, from_ns, to_ns, out);
		return;
	}
	buf_addf(out, "-- %llu %s lost on CPU %u", (unsigned long long)n, plural(n, "event"), cpu);
	add_interval(p, from_ns, to_ns, out);
	buf_adds(out, " --\n");
}

void live_print_throttled(struct live_printer *p, uint64_t n, uint32_t pid, const char *comm, uint64_t from_ns,
			  uint64_t to_ns, struct buf *out)
{
	if (p->opts.json) {
		throttled_json(p, n, pid, comm, from_ns, to_ns, out);
		return;
	}
	buf_addf(out, "-- %llu %s of process %u", (unsigned long long)n, plural(n, "event"), pid);
	if (comm) {
		buf_adds(out, " (");
		buf_add_escaped(out, comm, strlen(comm));
		buf_addc(out, ')');
	}
	buf_adds(out, " throttled");
	add_interval(p, from_ns, to_ns, out);
	buf_adds(out, ": it filled the buffer alone --\n");
}

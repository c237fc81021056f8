/* SPDX-License-Identifier: MIT */
/* Formats events as lines and writes them in batches: a terminal shows each at once, a file gets few writes. */
#include "cli/trace_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/running.h"
#include "watch/trace_user.h"
#include "proc/process.h"
#include "watch/stack_names.h"

#define WRITE_AT (64u << 10)
#define PID_CACHE 4096

#define PID_CHECK_NS 250000000u

struct pid_entry {
	pid_t pid, ns_pid;
	uint64_t start_ticks, checked_ns;
};

struct trace_output {
	struct trace_output_options options;
	const struct plan *plan;
	struct live_printer *printer;
	struct live_probes probes;
	struct trace_user *user; /* NULL without e: */
	struct stack_names *names; /* NULL: no stacks */
	struct buf out;
	struct pid_entry pids[PID_CACHE];
};

static bool wants_stacks(const struct plan *plan)
{
	for (size_t i = 0; i < plan->requests.n; i++) {
		const char *format = plan->requests.v[i].spec->format;

		if (format && (strstr(format, "%U") || strstr(format, "%K")))
			return true;
	}
	return false;
}

struct trace_output *trace_output_new(const struct trace_output_options *options, const struct plan *plan,
				      const struct runtimes *runtimes)
{
	struct trace_output *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->options = *options;
	o->plan = plan;
	if (wants_stacks(plan)) {
		o->names = stack_names_new(runtimes);
		if (!o->names)
			return trace_output_free(o);
	}
	return o;
}

struct trace_output *trace_output_free(struct trace_output *o)
{
	if (!o)
		return NULL;
	live_probes_done(&o->probes);
	trace_user_free(o->user);
	live_printer_free(o->printer);
	stack_names_free(o->names);
	buf_done(&o->out);
	free(o);
	return NULL;
}

void trace_output_add_process(void *ctx, pid_t pid)
{
	struct trace_output *o = ctx;

	if (o->names)
		stack_names_process(o->names, pid);
}

int trace_output_start(struct trace_output *o, uint64_t start_ns)
{
	struct trace_user_options user = { .plan = o->plan, .out = &o->out };
	struct live_options live = o->options.live;

	live.start_ns = start_ns;
	live.names = o->names ? stack_names_of(o->names) : NULL;
	o->printer = live_printer_new(&live);
	if (!o->printer)
		return -ENOMEM;
	user.printer = o->printer;
	if (o->options.header)
		live_header(o->printer, &o->out);
	if (!plan_wants_user_events(o->plan) && !plan_wants_signals(o->plan))
		return 0;
	o->user = trace_user_new(&user);
	return o->user ? 0 : -ENOMEM;
}

static int flush_trace_output(void *ctx)
{
	struct trace_output *o = ctx;

	if (o->names)
		stack_names_flush(o->names);
	return write_out(o->options.fd, &o->out);
}

/* Another process may have the PID by now, and no exit need have been reported: the start time decides. */
static bool is_pid_reused(const struct pid_entry *e)
{
	struct process_id now;

	return !process_identify(e->pid, &now, NULL) && now.start_ticks != e->start_ticks;
}

/* The PID in the own namespace of a process: looked up at its first event, and again when the PID may be reused. */
static pid_t lookup_ns_pid(struct trace_output *o, pid_t pid)
{
	struct pid_entry *e = &o->pids[(uint32_t)pid % PID_CACHE];
	uint64_t time_ns = monotonic_ns();

	if (e->pid == pid && time_ns < e->checked_ns + PID_CHECK_NS)
		return e->ns_pid;
	if (e->pid != pid || is_pid_reused(e)) {
		struct process_id id = { 0 };

		process_identify(pid, &id, NULL);
		*e = (struct pid_entry){ .pid = pid, .ns_pid = process_ns_pid(pid), .start_ticks = id.start_ticks };
	}
	e->checked_ns = time_ns;
	return e->ns_pid;
}

static int on_event(void *ctx, const struct session_event *e)
{
	struct trace_output *o = ctx;
	struct live_event live = {
		.rec = e->rec,
		.size = e->size,
		.cpu = e->cpu,
		.probe = live_probes_get(&o->probes, e->site->probe, e->probe->checked),
		.func = e->probe->func,
		.provider_or_file = e->probe->provider,
		.unreadable = e->site->unreadable,
		.ns_pid = lookup_ns_pid(o, (pid_t)e->pid),
	};

	if (!o->printer || !live.probe)
		return -ENOMEM;
	if (o->names)
		stack_names_event(o->names, (pid_t)e->pid);
	live_print(o->printer, &live, &o->out);
	return o->out.len >= WRITE_AT ? flush_trace_output(o) : 0;
}

static int on_trace_lost(void *ctx, uint64_t count, unsigned cpu, uint64_t since_ns, uint64_t until_ns)
{
	struct trace_output *o = ctx;

	if (!o->printer)
		return -ENOMEM;
	if (o->user)
		trace_user_lost(o->user, 0, since_ns, until_ns);
	live_print_lost(o->printer, count, cpu, since_ns, until_ns, &o->out);
	return 0;
}

static int on_user(void *ctx, const struct user_event *e, unsigned cpu, uint64_t room)
{
	struct trace_output *o = ctx;
	int printed = o->user ? trace_user_event(o->user, e, cpu, room) : -ENOMEM, r;

	if (printed < 0 || o->out.len < WRITE_AT)
		return printed;
	r = flush_trace_output(o);
	return r < 0 ? r : printed;
}

static int on_lifecycle(void *ctx, const struct session_lifecycle *life)
{
	struct trace_output *o = ctx;

	if (o->names)
		stack_names_life(o->names, life);
	if (!o->user)
		return 0;
	trace_user_life(o->user, life);
	return o->out.len >= WRITE_AT ? flush_trace_output(o) : 0;
}

static int on_throttled(void *ctx, uint32_t pid, uint64_t count, uint64_t since_ns, uint64_t until_ns)
{
	struct trace_output *o = ctx;
	char comm[16];

	if (!o->printer)
		return -ENOMEM;
	if (o->user)
		trace_user_lost(o->user, pid, since_ns, until_ns);
	process_comm((pid_t)pid, comm);
	live_print_throttled(o->printer, count, pid, comm, since_ns, until_ns, &o->out);
	return 0;
}

struct session_sink trace_output_sink(struct trace_output *o)
{
	return (struct session_sink){ .ctx = o,
				      .event = on_event,
				      .user = on_user,
				      .life = on_lifecycle,
				      .throttled = on_throttled,
				      .lost = on_trace_lost,
				      .flush = flush_trace_output,
				      .attached = print_attached_more,
				      .note = print_note,
				      .process = o->names ? trace_output_add_process : NULL };
}

int trace_output_stop(struct trace_output *o, uint64_t stop_ns)
{
	if (o->user)
		trace_user_stop(o->user, stop_ns);
	if (o->names)
		stack_names_stop(o->names, print_note, o);
	return flush_trace_output(o);
}

uint64_t trace_output_count(const struct trace_output *o, size_t probe)
{
	return o->user ? trace_user_count(o->user, probe) : 0;
}

void trace_output_totals(const struct trace_output *o, struct buf *out)
{
	if (o->user)
		trace_user_totals(o->user, out);
}

void trace_output_silent(const struct trace_output *o, struct buf *out)
{
	if (o->user)
		trace_user_silent(o->user, out);
}

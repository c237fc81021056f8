/* SPDX-License-Identifier: MIT */
/* Prints the stacks of events: one line or one element of a JSON array for each frame. */
#include <string.h>

#include "live/print_priv.h"
#include "sym/names.h"

#define INDENT "        "

struct stack {
	uint64_t frames[STACK_FRAMES_MAX + 1];
	unsigned n;
	bool is_kernel, faulted, truncated;
	pid_t pid;
	uint64_t time_ns;
};

static void read_stack(const struct live_event *e, unsigned output, struct stack *ret)
{
	uint64_t caller = e->caller;
	struct ut_text t;

	event_text(e, output, &t);
	ret->is_kernel = e->probe->checked->outputs[output].kind == OUTPUT_KSTACK;
	ret->pid = (pid_t)e->rec->pid;
	ret->time_ns = e->rec->time_ns;
	ret->faulted = t.state == UT_TEXT_FAULT || t.state == UT_TEXT_NULL;
	ret->truncated = t.state == UT_TEXT_CUT_LIMIT;
	ret->n = ret->faulted ? 0 : (unsigned)(t.len / sizeof(uint64_t));
	if (ret->n > STACK_FRAMES_MAX)
		ret->n = STACK_FRAMES_MAX;
	if (ret->n)
		memcpy(ret->frames, t.bytes, ret->n * sizeof(uint64_t));
	while (ret->n && !ret->frames[ret->n - 1])
		ret->n--; /* a chain of frame pointers ends with 0 */
	if (!caller && e->probe->layout.caller)
		memcpy(&caller, (const char *)e->rec + e->probe->layout.caller, sizeof(caller));
	if (ret->is_kernel || !caller || !ret->n || (ret->n > 1 && ret->frames[1] == caller))
		return;
	/* At the entry of a function its frame is not set up yet, and the walk by frame pointers misses the caller. */
	memmove(ret->frames + 2, ret->frames + 1, (ret->n - 1) * sizeof(ret->frames[0]));
	ret->frames[1] = caller;
	ret->n++;
}

/* The frame's name in the printer's scratch buffer. It comes from foreign files; the caller has to escape it. */
static const struct buf *frame_name(struct live_printer *p, const struct stack *s, unsigned i)
{
	struct buf *name = &p->scratch;
	uint64_t addr = s->frames[i];
	bool exact = s->is_kernel || i == 0;

	buf_reset(name);
	p->frames.v.n = 0;
	if (p->opts.names && s->is_kernel)
		names_kernel(p->opts.names, addr, &p->frames);
	else if (p->opts.names)
		names_user(p->opts.names, s->pid, addr, exact, s->time_ns, &p->frames);
	if (p->frames.v.n)
		frame_format(&p->frames.v.v[0], addr, !exact && addr, name);
	else
		buf_addf(name, "0x%llx", (unsigned long long)addr);
	return name;
}

static void print_stack(struct live_printer *p, const struct stack *s, struct buf *out)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct buf *name = frame_name(p, s, i);

		buf_adds(out, INDENT);
		buf_add_escaped(out, name->data, name->len);
		buf_addc(out, '\n');
	}
	if (!s->n)
		buf_adds(out, s->faulted ? INDENT "<the stack could not be read>\n" : INDENT "<no frames>\n");
	if (s->truncated)
		buf_addf(out, INDENT "…[cut at %d frames]\n", STACK_FRAMES_MAX);
}

void stacks_print(struct live_printer *p, const struct live_event *e, struct buf *out)
{
	const struct probe_checked *checked = e->probe->checked;
	struct stack s;

	for (unsigned i = 0; i < checked->noutputs; i++) {
		if (!output_is_stack(checked->outputs[i].kind))
			continue;
		read_stack(e, i, &s);
		print_stack(p, &s, out);
	}
}

void stack_json(struct live_printer *p, const struct live_event *e, unsigned output, struct json *j)
{
	struct stack s;

	read_stack(e, output, &s);
	if (s.faulted) {
		json_open(j, false);
		json_string(j, "error", "fault");
		json_close(j);
		return;
	}
	json_open(j, true);
	for (unsigned i = 0; i < s.n; i++) {
		const struct buf *name = frame_name(p, &s, i);

		json_bytes(j, NULL, name->data, name->len);
	}
	json_close(j);
}

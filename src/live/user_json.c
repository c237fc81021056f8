/* SPDX-License-Identifier: MIT */
/* User events and spans as JSON, one object a line. */
#include <string.h>
#include <sys/wait.h>

#include "live/print_priv.h"
#include "live/user.h"

static const char *type_of(const struct live_user *u)
{
	switch (u->kind) {
	case LIVE_USER_BEGIN: return "begin";
	case LIVE_USER_MARK: return "mark";
	case LIVE_USER_COUNT: return "count";
	default: return "end";
	}
}

static void add_end(const struct live_user *u, struct json *j)
{
	const struct span *s = u->span;

	json_string(j, "end", span_end_name(u->kind == LIVE_USER_END ? u->end : s ? s->end : SPAN_OPEN));
	if (!s)
		return;
	json_u64(j, "begin_ns", s->begin_ns);
	json_u64(j, "duration_ns", span_duration_ns(s));
	if (u->kind == LIVE_USER_END) {
		json_u64(j, "own_ns", s->own_ns);
		json_u64(j, "depth", s->depth);
	}
	/* These are rare: a key only where they are true. */
	if (s->flags & SPAN_LOST_INSIDE)
		json_bool(j, "lost_inside", true);
	if (s->flags & SPAN_CROSSED)
		json_bool(j, "crossed", true);
	if (s->flags & SPAN_CLOCK_STEP)
		json_bool(j, "clock_stepped", true);
	if (s->end != SPAN_PROCESS_EXITED || !s->exit_known)
		return;
	if (WIFSIGNALED(s->exit_code))
		json_u64(j, "exit_signal", (unsigned)WTERMSIG(s->exit_code));
	else
		json_u64(j, "exit_status", (unsigned)WEXITSTATUS(s->exit_code));
}

void user_json(struct live_printer *p, const struct live_user *u, struct buf *out)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", type_of(u));
	json_string(&j, "kind", u->is_signal ? "signal" : "user");
	json_u64(&j, "time_ns", u->time_ns);
	json_wall(p, &j, u->time_ns);
	json_process(u->pid, u->ns_pid, u->tid, u->comm, &j);
	if (u->has_cpu)
		json_u64(&j, "cpu", u->cpu);
	json_raw(&j, "name");
	json_text(&u->name, &j);
	json_i64(&j, "value", u->value);
	if (u->has_id)
		json_id(&j, "id", u->id);
	if (u->has_text) {
		json_raw(&j, "text");
		json_text(&u->text, &j);
	}
	if (u->kind == LIVE_USER_END || u->kind == LIVE_USER_CLOSED)
		add_end(u, &j);
	json_line(&j);
}

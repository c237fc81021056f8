/* SPDX-License-Identifier: MIT */
/* User events and spans as JSON, one object a line. */
#include <string.h>
#include <sys/wait.h>

#include "live/print_priv.h"
#include "live/user.h"

static void add_string(const char *key, const char *s, struct buf *out)
{
	buf_adds(out, key);
	buf_add_json(out, s, strlen(s));
}

static void add_flags(unsigned flags, struct buf *out)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{ SPAN_LOST_INSIDE, "\"lost\"" },
		{ SPAN_CROSSED, "\"crossed\"" },
		{ SPAN_CLOCK_STEP, "\"clock\"" },
	};
	bool first = true;

	if (!flags)
		return;
	buf_adds(out, ",\"flags\":[");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(flags & names[i].flag))
			continue;
		if (!first)
			buf_addc(out, ',');
		buf_adds(out, names[i].name);
		first = false;
	}
	buf_addc(out, ']');
}

static void add_exit(const struct span *s, struct buf *out)
{
	if (s->end != SPAN_PROCESS_EXITED || !s->exit_known)
		return;
	if (WIFSIGNALED(s->exit_code))
		json_number(",\"exit\":{\"signal\":", (unsigned)WTERMSIG(s->exit_code), out);
	else
		json_number(",\"exit\":{\"status\":", (unsigned)WEXITSTATUS(s->exit_code), out);
	buf_addc(out, '}');
}

static void add_span(const struct live_user *u, struct buf *out)
{
	const struct span *s = u->span;

	if (!s) {
		if (u->kind == LIVE_USER_END && u->end != SPAN_COMPLETE)
			add_string(",\"end\":", span_end_name(u->end), out);
		return;
	}
	json_number(",\"duration\":", user_duration(s), out);
	if (u->kind == LIVE_USER_END) {
		json_number(",\"own\":", s->own_ns, out);
		json_number(",\"depth\":", s->depth, out);
	}
	add_flags(s->flags, out);
	add_exit(s, out);
}

static void add_details(const struct live_user *u, struct buf *out)
{
	struct event_text t = user_name(u);
	uint64_t id;

	buf_adds(out, ",\"name\":");
	json_text(&t, out);
	buf_adds(out, ",\"value\":");
	buf_addi(out, u->kind == LIVE_USER_CLOSED && u->span ? u->span->value : u->value);
	if (user_id(u, &id))
		json_number(",\"id\":", id, out);
	if (!u->has_text)
		return;
	t = user_text(&u->text);
	buf_adds(out, ",\"text\":");
	json_text(&t, out);
}

void user_json(struct live_printer *p, const struct live_user *u, struct buf *out)
{
	json_number("{\"time\":", u->time_ns, out);
	json_wall(p, ",\"wall\":", u->time_ns, out);
	json_process(u->pid, u->ns_pid, u->tid, u->comm, out);
	if (u->has_cpu)
		json_number(",\"cpu\":", u->cpu, out);
	if (u->is_signal)
		add_string(",\"kind\":", "signal", out);
	add_string(",\"event\":", live_user_word(u), out);
	add_details(u, out);
	add_span(u, out);
	buf_adds(out, "}\n");
}

void refused_json(struct live_printer *p, uint64_t n, uint32_t pid, const char *comm, uint64_t from_ns, uint64_t to_ns,
		  struct buf *out)
{
	json_number("{\"refused\":", n, out);
	json_number(",\"pid\":", pid, out);
	if (comm)
		add_string(",\"comm\":", comm, out);
	json_number(",\"from\":", from_ns, out);
	json_number(",\"to\":", to_ns, out);
	json_wall(p, ",\"wall_from\":", from_ns, out);
	json_wall(p, ",\"wall_to\":", to_ns, out);
	buf_adds(out, "}\n");
}

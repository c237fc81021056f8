/* SPDX-License-Identifier: MIT */
/* Prints user events and spans as text. */
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "live/print_priv.h"
#include "live/user.h"
#include "probe/eval.h"

const char *live_user_word(const struct live_user *u)
{
	switch (u->kind) {
	case LIVE_USER_BEGIN: return "begin";
	case LIVE_USER_END: return "end";
	case LIVE_USER_MARK: return "mark";
	case LIVE_USER_COUNT: return "count";
	default: return span_end_name(u->span ? u->span->end : SPAN_OPEN);
	}
}

static void add_exit(const struct span *s, struct buf *out)
{
	const char *name = s->exit_known && WIFSIGNALED(s->exit_code) ? sigabbrev_np(WTERMSIG(s->exit_code)) : NULL;

	if (!s->exit_known)
		return;
	if (WIFSIGNALED(s->exit_code))
		buf_addf(out, ": signal %d", WTERMSIG(s->exit_code));
	else
		buf_addf(out, ": exit status %d", WEXITSTATUS(s->exit_code));
	if (name)
		buf_addf(out, " (SIG%s)", name);
}

/* "end 1.23 ms, events lost inside" */
static void add_span(const char *word, const struct span *s, struct buf *out)
{
	char text[32];

	buf_adds(out, word);
	buf_adds(out, human_ns(span_duration_ns(s), text));
	if (s->end == SPAN_PROCESS_EXITED)
		add_exit(s, out);
	if (s->end == SPAN_EVICTED)
		buf_adds(out, ": too many open spans");
	if (s->flags & SPAN_LOST_INSIDE)
		buf_adds(out, ", events lost inside");
	if (s->flags & SPAN_CROSSED)
		buf_adds(out, ", crossed");
	if (s->flags & SPAN_CLOCK_STEP)
		buf_adds(out, ", clock stepped back");
}

static void add_what(const struct live_user *u, struct buf *out)
{
	static const char *const closed[] = {
		[SPAN_OPEN] = "open for ",
		[SPAN_COMPLETE] = "end ",
		[SPAN_THREAD_EXITED] = "thread exited after ",
		[SPAN_PROCESS_EXITED] = "process exited after ",
		[SPAN_EXEC] = "replaced by exec after ",
		[SPAN_EVICTED] = "evicted after ",
	};
	static const char *const without_begin[] = {
		[SPAN_COMPLETE] = "end",
		[SPAN_BEFORE_ATTACH] = "end (began before tracing)",
		[SPAN_ORPHAN] = "end (no begin)",
		[SPAN_LOST] = "end (its begin may be lost)",
		[SPAN_INHERITED] = "end (began in the parent)",
	};

	if (u->kind == LIVE_USER_CLOSED && u->span)
		add_span(closed[u->span->end], u->span, out);
	else if (u->kind == LIVE_USER_END && u->span)
		add_span("end ", u->span, out);
	else
		buf_adds(out, u->kind == LIVE_USER_END ? without_begin[u->end] : live_user_word(u));
	if (u->kind == LIVE_USER_COUNT || (u->kind != LIVE_USER_CLOSED && u->value)) {
		buf_adds(out, u->kind == LIVE_USER_COUNT ? " " : " value=");
		buf_addi(out, u->value);
	}
	if (u->has_id) {
		buf_adds(out, " id=");
		buf_addu(out, u->id);
	}
	if (u->has_text) {
		buf_addc(out, ' ');
		text_print(NULL, true, &u->text, out);
	}
}

void live_print_user(struct live_printer *p, const struct live_user *u, struct buf *out)
{
	struct head h = {
		.pid = u->pid, .tid = u->tid, .ns_pid = u->ns_pid, .comm = u->comm, .func = u->name, .is_foreign = true
	};

	if (p->opts.json) {
		user_json(p, u, out);
		return;
	}
	times_print(p, u->time_ns, u->has_cpu ? (int64_t)u->cpu : -1, out);
	head_print(p, &h, out);
	add_what(u, out);
	buf_addc(out, '\n');
}

void live_user_scope(const struct live_user *u, struct eval_scope *ret)
{
	const char *kind = live_user_word(u);

	*ret = (struct eval_scope){ .pid = u->pid, .tid = u->tid, .cpu = u->cpu, .time_ns = u->time_ns };
	memcpy(ret->comm, u->comm, sizeof(ret->comm));
	ret->values[USER_VALUE] = (uint64_t)u->value;
	ret->values[USER_ID] = u->has_id ? u->id : 0;
	ret->values[USER_DURATION] = u->span ? span_duration_ns(u->span) : 0;
	ret->texts[USER_KIND] = (struct ut_text){ .bytes = kind, .len = strlen(kind) };
	ret->texts[USER_NAME] = u->name;
	ret->texts[USER_TEXT] = u->text;
}

void live_print_user_as(struct live_printer *p, struct live_probe *probe, const struct live_user *u,
			const struct eval_scope *scope, struct buf *out)
{
	struct ut_rec_event head = { .time_ns = u->time_ns, .pid = u->pid, .tid = u->tid };
	char name[UT_NAME_ROOM] = "";
	struct live_event e = { .rec = &head,
				.size = sizeof(head),
				.scope = scope,
				.cpu = u->cpu,
				.probe = probe,
				.func = name,
				.provider_or_file = u->is_signal ? "s" : "e",
				.name = &u->name,
				.ns_pid = u->ns_pid };

	memcpy(head.comm, u->comm, sizeof(head.comm));
	if (ut_text_is_there(&u->name))
		memcpy(name, u->name.bytes, u->name.len < sizeof(name) ? u->name.len : sizeof(name) - 1);
	live_print(p, &e, out);
}

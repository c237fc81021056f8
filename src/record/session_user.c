/* SPDX-License-Identifier: MIT */
/* User events on their way to the sink: validated, with names that had to be read later, and the counts of throttled
 * processes. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/signal_name.h"
#include "gen/gen_user.h"
#include "record/session_priv.h"

/* @room: limit + 1 bytes, to which the name or string points afterwards. */
static void read_late(struct session *s, const struct user_event *e, struct ut_text *t, size_t limit, char *room)
{
	size_t got = late_read(s->late, (pid_t)e->head->pid, e->head->time_ns, t->address, room, limit + 1);

	if (!got)
		return;
	t->bytes = room;
	t->state = room[got - 1] ? got > limit ? UT_TEXT_CUT_LIMIT : UT_TEXT_CUT_FAULT : UT_TEXT_WHOLE;
	t->len = room[got - 1] ? (got > limit ? limit : got) : got - 1;
}

/* Replaces the number of a signal by its name. */
static void name_signal(const struct ut_rec_event *rec, struct user_event *e, char name[SIGNAL_NAME_SIZE])
{
	const struct ut_rec_user *user = (const void *)rec;

	e->is_signal = true;
	e->name = (struct ut_text){ .bytes = signal_name((int)user->id, name), .state = UT_TEXT_WHOLE };
	e->name.len = strlen(name);
	e->has_id = false;
}

int session_emit_user(struct session *s, const struct ut_rec_event *rec, size_t size, bool is_signal, unsigned cpu)
{
	char name[UT_NAME_ROOM + 1], signal[SIGNAL_NAME_SIZE], text[UT_USER_TEXT_ROOM + 1];
	uint64_t room = UINT64_MAX;
	struct user_event e;
	int r = user_event_decode(rec, size, &e);

	if (r) {
		s->totals.malformed += r == -EINVAL;
		return 0;
	}
	if (is_signal)
		name_signal(rec, &e, signal);
	if (e.name.state == UT_TEXT_FAULT && s->late) {
		struct ut_text late = e.name;

		read_late(s, &e, &late, UT_NAME_ROOM - 1, name);
		user_event_set_name(&e, &late);
	}
	if (e.text.state == UT_TEXT_FAULT && s->late)
		read_late(s, &e, &e.text, UT_USER_TEXT_ROOM - 1, text);
	if (s->options.max_events)
		room = s->options.max_events - s->totals.events;
	r = s->sink->user ? s->sink->user(s->sink->ctx, &e, cpu, room) : 0;
	if (r > 0)
		s->totals.events += (uint64_t)r;
	return r < 0 ? r : 0;
}

static struct throttled_account *account_of(struct session *s, uint32_t pid)
{
	for (size_t i = 0; i < s->throttled.n; i++)
		if (s->throttled.v[i].pid == pid)
			return &s->throttled.v[i];
	return vec_push(&s->throttled, ((struct throttled_account){ .pid = pid }))
		       ? NULL
		       : &s->throttled.v[s->throttled.n - 1];
}

static int report_account(struct session *s, uint32_t pid, uint64_t throttled, uint64_t until_ns)
{
	struct throttled_account *a = account_of(s, pid);
	uint64_t count;

	if (!a)
		return -ENOMEM;
	count = throttled - a->reported;
	a->reported = throttled;
	if (!count)
		return 0;
	s->totals.lost += count;
	s->totals.throttled += count;
	return s->sink->throttled ? s->sink->throttled(s->sink->ctx, pid, count, s->throttled_ns, until_ns) : 0;
}

/* A process has exited: frees its entry, since its PID may soon be reused. */
static int forget_throttled(struct session *s, uint32_t pid)
{
	struct ut_throttled v;
	int r;

	if (s->throttled_fd < 0 || bpf_map_lookup_elem(s->throttled_fd, &pid, &v))
		return 0;
	r = report_account(s, pid, v.throttled, monotonic_ns());
	bpf_map_delete_elem(s->throttled_fd, &pid);
	for (size_t i = 0; i < s->throttled.n; i++)
		if (s->throttled.v[i].pid == pid)
			s->throttled.v[i] = s->throttled.v[--s->throttled.n];
	return r;
}

/* The links of the process are filtered by a task that has ended. */
static void attach_again(struct session *s, const struct ut_rec_life *rec)
{
	pid_t pid = (pid_t)rec->head.pid;
	struct ut_err err = { 0 };
	uint64_t now;
	char text[256];

	if (!s->attach || session_uprobe_filter(&s->options) != GEN_FILTER_NONE || !session_has_target(s, pid))
		return;
	if (attach_process_again(s->attach, s->plan, pid, &now, &err))
		snprintf(text, sizeof(text),
			 "process %d called exec from its thread %u, and its probes are lost: %.150s", pid, rec->other,
			 err.msg);
	else
		snprintf(text, sizeof(text),
			 "process %d called exec from its thread %u: its probes were attached again %.1f ms later, and "
			 "events "
			 "before that are missing",
			 pid, rec->other, (double)(now - rec->head.time_ns) / 1e6);
	if (s->sink->note)
		s->sink->note(s->sink->ctx, text);
}

int session_emit_lifecycle(struct session *s, const struct ut_rec_event *rec, size_t size)
{
	const struct ut_rec_life *life_rec = (const void *)rec;
	struct session_lifecycle life = { .time_ns = rec->time_ns, .pid = rec->pid, .tid = rec->tid };
	int r = 0;

	if (size < sizeof(*life_rec))
		return 0;
	if (s->late && life_rec->what != UT_LIFE_EXIT)
		late_fork(s->late, (pid_t)(life_rec->what == UT_LIFE_FORK ? life_rec->other : rec->pid),
			  (pid_t)(life_rec->what == UT_LIFE_FORK ? rec->pid : 0));
	if (life_rec->what == UT_LIFE_EXEC && life_rec->other)
		attach_again(s, life_rec);
	session_sample_lifecycle(s, life_rec);
	if (life_rec->what == UT_LIFE_FORK)
		session_measure_child(s, (pid_t)rec->pid, (pid_t)life_rec->other);
	if (life_rec->what == UT_LIFE_EXIT && life_rec->other & UT_EXIT_LAST) {
		r = forget_throttled(s, rec->pid);
		if (s->measure)
			measure_forget(s->measure, (pid_t)rec->pid);
	}
	if (r < 0 || !s->sink->life || !plan_wants_lifecycle(s->plan))
		return r;
	memcpy(life.comm, rec->comm, sizeof(life.comm));
	life.what = life_rec->what;
	life.uid = life_rec->uid;
	life.child = life_rec->what == UT_LIFE_FORK ? life_rec->other : 0;
	life.last = life_rec->what == UT_LIFE_EXIT && life_rec->other & UT_EXIT_LAST;
	life.group = life_rec->what == UT_LIFE_EXIT && life_rec->other & UT_EXIT_GROUP;
	life.code_known = life_rec->what == UT_LIFE_EXIT && life_rec->other & UT_EXIT_CODE_KNOWN;
	life.code = life_rec->code;
	return s->sink->life(s->sink->ctx, &life);
}

/* The table has at most a thousand entries, and is read only after a process was throttled. */
int session_report_throttled(struct session *s)
{
	uint64_t now = monotonic_ns(), sum = s->throttled_fd >= 0 ? rings_throttled(&s->rings) : s->throttled_seen;
	uint32_t pid, *at = NULL;
	int r = 0;

	if (sum == s->throttled_seen) {
		s->throttled_ns = now;
		return 0;
	}
	s->throttled_seen = sum;
	while (r >= 0 && !bpf_map_get_next_key(s->throttled_fd, at, &pid)) {
		struct ut_throttled v;

		at = &pid;
		if (!bpf_map_lookup_elem(s->throttled_fd, &pid, &v))
			r = report_account(s, pid, v.throttled, now);
	}
	s->throttled_ns = now;
	return r < 0 ? r : 0;
}

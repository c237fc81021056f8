/* SPDX-License-Identifier: MIT */
/* Descendants of the targets that exist before the session: traced with follow, otherwise noted. */
#include <errno.h>

#include "base/auto.h"
#include "base/buf.h"
#include "plan/plan_priv.h"
#include "proc/descendants.h"
#include "record/session_priv.h"

const struct process_id *session_descendants(const struct session *s, size_t *ret_n)
{
	*ret_n = s->descendants.n;
	return s->descendants.v;
}

static int list_descendants(const struct session *s, struct process_id **ret, size_t *ret_n, struct ut_err *err)
{
	return descendants_list(s->options.targets.pids, s->options.targets.npids, ret, ret_n, err);
}

static bool is_known(const struct session *s, const struct process_id *id)
{
	for (size_t i = 0; i < s->descendants.n; i++)
		if (s->descendants.v[i].pid == id->pid && s->descendants.v[i].start_ticks == id->start_ticks)
			return true;
	return false;
}

static int add_descendant(struct session *s, const struct process_id *id, struct ut_err *err)
{
	int r;

	if (vec_push(&s->descendants, *id))
		return ut_err_nomem(err);
	/* Followed first: from here on the kernel adds its children. */
	r = s->follow ? follow_add(s->follow, id->pid, err) : 0;
	if (r)
		return r;
	if (s->late)
		late_note_process(s->late, id->pid);
	r = plan_process(s->plan, id->pid, err);
	return r == -ESRCH || r == -EPERM || r == -EACCES || r == -ENOENT ? 0 : r; /* exited, or may not be examined */
}

int session_add_descendants(struct session *s, struct ut_err *err)
{
	bool again = s->options.targets.follow && s->options.targets.npids;
	int r = 0;

	while (!r && again) {
		AUTO_FREE struct process_id *v = NULL;
		size_t n = 0;

		again = false;
		r = list_descendants(s, &v, &n, err);
		for (size_t i = 0; !r && i < n; i++) {
			if (is_known(s, &v[i]))
				continue;
			again = true; /* it may have forked before it was added */
			r = add_descendant(s, &v[i], err);
		}
	}
	return r;
}

/* "3 child processes that run CPython", whose traced ancestor does not include them. 0: none. */
static size_t count_runtimes(const struct session *s, const struct runtimes *runtimes, struct buf *out)
{
	AUTO_FREE struct process_id *v = NULL;
	struct ut_err ignored;
	size_t n = 0;

	if (!runtimes || s->options.targets.follow || !s->options.targets.npids ||
	    list_descendants(s, &v, &n, &ignored))
		return 0;
	return descendants_runtimes(runtimes, v, n, out);
}

int session_note_children(struct session *s, const struct runtimes *runtimes, struct ut_err *err)
{
	AUTO(buf_done) struct buf text = { 0 };
	size_t n = s->options.explain ? 0 : count_runtimes(s, runtimes, &text);
	char comm[16];
	int r;

	if (!n || !text.data)
		return 0;
	process_comm(s->targets.v[0].id.pid, comm);
	if (s->targets.n == 1)
		r = plan_note(s->plan, "process %d (%s) has %s; use -f to include %s", s->targets.v[0].id.pid, comm,
			      text.data, n == 1 ? "it" : "them");
	else
		r = plan_note(s->plan, "the processes have %s; use -f to include %s", text.data,
			      n == 1 ? "it" : "them");
	return r ? ut_err_nomem(err) : 0;
}

int session_hint_at_children(const struct session *s, const struct runtimes *runtimes, struct ut_err *err)
{
	AUTO(buf_done) struct buf text = { 0 }, whole = { 0 };
	size_t n = count_runtimes(s, runtimes, &text);

	if (!n || !text.data || !err)
		return -EINVAL;
	buf_addf(&whole, "%s\nthere %s %s; use -f to include %s", err->msg, n == 1 ? "is" : "are", text.data,
		 n == 1 ? "it" : "them");
	return whole.data ? ut_err_set(err, -EINVAL, "%s", whole.data) : -EINVAL;
}

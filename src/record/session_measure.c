/* SPDX-License-Identifier: MIT */
/* The processes of a session whose stopped time is measured. */
#include <errno.h>

#include "base/auto.h"
#include "probe/layout.h"
#include "record/session_priv.h"

bool session_measures(const struct session *s) { return s->measure != NULL; }

void session_measure(struct session *s, pid_t pid, bool fresh)
{
	const struct runtime *runtime;

	if (!s->measure || !s->plan->options.runtimes)
		return;
	runtime = runtime_of_process(s->plan->options.runtimes, pid);
	if (runtime && runtime->span.n)
		measure_process(s->measure, pid, runtime, fresh);
}

void session_measure_child(struct session *s, pid_t parent, pid_t child)
{
	if (s->measure && measure_has(s->measure, parent))
		session_measure(s, child, true);
}

int session_measure_start(struct session *s, struct ut_err *err)
{
	AUTO_FREE struct process_id *v = NULL;
	size_t n = 0;
	bool fresh;
	int r;

	if (!s->measure)
		return 0;
	r = sched_open(&(struct sched_setup){ .state = *measure_maps(s->measure),
					      .base_ns = s->state_base_ns,
					      .verbose = s->options.targets.verbose },
		       &s->sched, err);
	fresh = r || !measure_visit_cpus();
	if (!r && s->options.targets.all)
		r = process_list(&v, &n, err);
	for (size_t i = 0; !r && i < n; i++)
		session_measure(s, v[i].pid, fresh);
	for (size_t i = 0; !r && i < s->targets.n; i++)
		session_measure(s, s->targets.v[i].id.pid, fresh);
	for (size_t i = 0; !r && i < s->descendants.n; i++)
		session_measure(s, s->descendants.v[i].pid, fresh);
	measure_visit_cpus(); /* now they are counted as they come back */
	return r;
}

const struct ut_rec_state *session_state(const struct session_event *e)
{
	struct layout layout;

	if (e->probe->checked->spec->state == STATE_NONE)
		return NULL;
	layout_of(e->probe->checked, e->rec->text_room, &layout);
	return layout.size <= e->size ? (const void *)((const char *)e->rec + layout.state) : NULL;
}

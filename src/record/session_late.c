/* SPDX-License-Identifier: MIT */
/* Files that are mapped while the session runs: planned and attached at that time. */
#include <errno.h>
#include <unistd.h>

#include "plan/plan_priv.h"
#include "record/session_priv.h"

/* Attaches the sites that are new in the plan. Reports a failure, and tracing continues with the other sites. */
static void attach_new_sites(struct session *s, size_t first_probe, size_t first_site)
{
	struct ut_err err = { 0 };
	char *log = NULL;
	size_t n = 0;
	int r;

	if (s->plan->sites.n == first_site) {
		session_report_notes(s); /* also why a file has no sites */
		return;
	}
	r = session_attach_sites(s, first_site, &log, &err);
	for (size_t i = first_site; i < s->plan->sites.n; i++)
		n += site_has_events(&s->plan->sites.v[i]);
	if (r && s->sink->note)
		s->sink->note(s->sink->ctx, err.msg);
	else if (!r && s->sink->attached)
		s->sink->attached(s->sink->ctx, s->plan->probes.n - first_probe, n);
	free(log);
	session_report_notes(s);
}

/* Are the files of this process traced? */
static bool is_traced(const struct session *s, pid_t pid)
{
	if (pid == getpid())
		return false;
	if (session_has_target(s, pid))
		return true;
	return s->follow && s->options.targets.follow ? follow_contains(s->follow, pid) : !s->targets.n;
}

static int mapped(void *ctx, pid_t pid, const struct mapping *m, uint64_t time_ns)
{
	struct session *s = ctx;
	size_t first_probe = s->plan->probes.n, first_site = s->plan->sites.n;
	struct ut_err err = { 0 };
	int r;

	session_sample_mapped(s, pid, m, time_ns);
	if (!m->file.ino || !is_traced(s, pid))
		return 0;
	if (s->late)
		late_note(s->late, pid, m);
	r = plan_mapping(s->plan, pid, m, &err);
	if (!r && plan_lacks_choice(s->plan))
		r = plan_choose(s->plan, pid, &err);
	if (r) /* once, not each time that a process maps the file */
		plan_note(s->plan, "%s", err.msg);
	if (s->measure && runtime_of_mapping(s->plan->options.runtimes, pid, m))
		session_measure(s, pid, true);
	attach_new_sites(s, first_probe, first_site);
	return 0;
}

void session_serve_suspended(struct session *s)
{
	const struct runtimes *known = s->plan->options.runtimes;
	const struct runtime *runtime;
	pid_t pid;

	while (s->follow && (pid = follow_next_suspended(s->follow))) {
		size_t first_probe = s->plan->probes.n, first_site = s->plan->sites.n;
		struct ut_err err = { 0 };

		if (plan_process(s->plan, pid, &err) && err.code != -ESRCH)
			plan_note(s->plan, "%s", err.msg); /* once, not at each exec */
		session_measure(s, pid, false);
		session_sample_process(s, pid);
		attach_new_sites(s, first_probe, first_site);
		if (s->sink->process)
			s->sink->process(s->sink->ctx, pid);
		runtime = known && !s->plan->probes.n ? runtime_of_process(known, pid) : NULL;
		s->runtime = runtime ? runtime : s->runtime; /* for the message when no probe is found in the end */
		err = (struct ut_err){ 0 };
		if (follow_linker(s->follow, pid, lifecycle_libraries_prog(s->lifecycle), &err) && err.code != -ESRCH &&
		    s->sink->note)
			s->sink->note(s->sink->ctx, err.msg);
		follow_continue(pid);
	}
}

void session_choose_again(struct session *s)
{
	size_t first_probe = s->plan->probes.n, first_site = s->plan->sites.n;
	struct ut_err err = { 0 };

	if (!plan_lacks_choice(s->plan))
		return;
	for (size_t i = 0; i < s->targets.n; i++)
		plan_choose(s->plan, s->targets.v[i].id.pid, &err);
	attach_new_sites(s, first_probe, first_site);
}

/* Mapping records were lost: plans all present mappings. */
static void scan_mappings_again(struct session *s)
{
	size_t first_probe = s->plan->probes.n, first_site = s->plan->sites.n;
	struct ut_err err = { 0 };

	for (size_t i = 0; i < s->targets.n; i++)
		plan_process(s->plan, s->targets.v[i].id.pid, &err);
	if (s->options.targets.all || s->options.targets.follow)
		plan_all(s->plan, &err);
	attach_new_sites(s, first_probe, first_site);
}

void session_serve_mappings(struct session *s)
{
	if (mapwatch_read(s->watch, mapped, s) > 0)
		scan_mappings_again(s);
}

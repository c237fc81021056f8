/* SPDX-License-Identifier: MIT */
/* Files that are mapped while the session runs: planned then, attached then. */
#include <errno.h>
#include <unistd.h>

#include "plan/plan_priv.h"
#include "record/session_priv.h"

/* Sites that print something: the entries of traced returns only start their clocks. */
static size_t sites_since(const struct plan *plan, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < plan->sites.n; i++)
		n += site_has_events(&plan->sites.v[i]);
	return n;
}

/* Attaches what the plan grew by since @first; a failure is told, and tracing goes on with what there is. */
static void attach_new_sites(struct session *s, size_t first_probe, size_t first_site)
{
	struct ut_err err = { 0 };
	char *log = NULL;

	if (s->plan->sites.n == first_site) {
		session_report_notes(s); /* why a file has nothing, too */
		return;
	}
	if (session_exclude_unsafe_nop5(s, first_site, &err) ||
	    attach_sites(s->attach, s->plan, first_site, &log, &err)) {
		if (s->sink->note)
			s->sink->note(s->sink->ctx, err.msg);
	} else if (s->sink->attached) {
		s->sink->attached(s->sink->ctx, s->plan->probes.n - first_probe, sites_since(s->plan, first_site));
	}
	free(log);
	session_report_notes(s);
}

/* Is what this process maps any business of ours? */
static bool is_traced(const struct session *s, pid_t pid)
{
	if (pid == getpid())
		return false;
	for (size_t i = 0; i < s->targets.n; i++)
		if (s->targets.v[i].id.pid == pid)
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
	if (r) /* once, not each time that somebody maps the file */
		plan_note(s->plan, "%s", err.msg);
	if (s->measure && runtime_of_mapping(s->plan->options.runtimes, pid, m))
		session_measure(s, pid, true);
	attach_new_sites(s, first_probe, first_site);
	return 0;
}

/* For what to say when nothing is found in the end. */
static void note_runtime(struct session *s, pid_t pid)
{
	const struct runtimes *known = s->plan->options.runtimes;
	const struct runtime *runtime = known && !s->plan->probes.n ? runtime_of_process(known, pid) : NULL;

	if (runtime)
		s->runtime = runtime;
}

/* Processes of the command that wait at an exec or behind their dynamic linker. */
void session_serve_suspended(struct session *s)
{
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
		note_runtime(s, pid);
		err = (struct ut_err){ 0 };
		if (follow_linker(s->follow, pid, lifecycle_libraries_prog(s->lifecycle), &err) && err.code != -ESRCH &&
		    s->sink->note)
			s->sink->note(s->sink->ctx, err.msg);
		follow_continue(s->follow, pid);
	}
}

/* Mappings went by unseen: looks at all that is mapped now. */
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

/* SPDX-License-Identifier: MIT */
/*
 * e: requests. The kernel sends every user event once, and the requests filter them later. So all requests share the sites
 * of the two transports: the probe of <usertrace.h> in every file that has it, and the prctl system call.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "probe/eval.h"
#include "gen/gen_user.h"
#include "proc/tracefs.h"
#include "plan/event.h"
#include "plan/plan_priv.h"

static bool wants(const struct plan *plan, enum probe_kind kind)
{
	for (size_t i = 0; i < plan->requests.n; i++)
		if (plan->requests.v[i].spec->kind == kind)
			return true;
	return false;
}

bool plan_wants_user_events(const struct plan *plan) { return wants(plan, PROBE_USER); }
bool plan_wants_signals(const struct plan *plan) { return wants(plan, PROBE_SIGNAL); }

bool plan_wants_lifecycle(const struct plan *plan)
{
	return plan_wants_user_events(plan) || plan_wants_signals(plan) || plan->options.lifecycle;
}

static int add_user_probe(struct plan *plan, unsigned request, struct ut_err *err)
{
	bool is_signal = plan->requests.v[request].spec->kind == PROBE_SIGNAL;
	int *first = is_signal ? &plan->signal_probe : &plan->user_probe;
	struct plan_probe p = { .request = request };
	int r = plan_check(plan, request, eval_user_scope(), NULL, &p.checked, err);

	if (r)
		return r;
	p.provider = strdup(is_signal ? "s" : "e");
	p.func = strdup(plan->requests.v[request].spec->name);
	r = plan_add_probe(plan, &p);
	if (r < 0)
		return ut_err_nomem(err);
	if (*first < 0)
		*first = r;
	return 0;
}

/* A field of a tracepoint, looked up by its name. */
struct field {
	const char *name;
	unsigned offset;
};

static int read_event(int tracefs, const char *category, const char *event, struct field *fields, size_t n,
		      unsigned *ret_id, struct ut_err *err)
{
	struct tracepoint tp = { 0 };
	int r = event_read(tracefs, category, event, &tp, err);

	if (r)
		return r;
	*ret_id = tp.id;
	for (size_t i = 0; !r && i < n; i++) {
		const struct tracepoint_field *f = event_field(&tp, fields[i].name);

		if (f && f->offset < 4096)
			fields[i].offset = f->offset;
		else
			r = ut_err_set(err, -ENOTSUP, "the tracepoint %s:%s has no field %s", category, event,
				       fields[i].name);
	}
	tracepoint_done(&tp);
	return r;
}

static int add_prctl(struct plan *plan, int tracefs, struct ut_err *err)
{
	struct field f[] = { { "option", 0 }, { "arg2", 0 }, { "arg3", 0 }, { "arg4", 0 }, { "arg5", 0 } };
	struct plan_site site = { .kind = SITE_PRCTL, .probe = (unsigned)plan->user_probe };
	struct gen_prctl prctl;
	struct gen_snippet snippet;
	int r = read_event(tracefs, "syscalls", "sys_enter_prctl", f, ARRAY_SIZE(f), &site.tracepoint_id, err);

	if (r == -ENOENT)
		return ut_err_set(err, -ENOTSUP,
				  "this kernel has no tracepoint for the prctl system call (CONFIG_FTRACE_SYSCALLS); "
				  "use --no-prctl to trace only the user events of <usertrace.h>");
	if (r)
		return r;
	prctl.option = f[0].offset;
	for (unsigned i = 0; i < 4; i++)
		prctl.arg[i] = f[i + 1].offset;
	r = gen_user_snippet(&prctl, &plan->options.gen, &snippet, err);
	return r ? r : plan_add_site_with(plan, &site, &snippet, err);
}

/* Without a snippet: their programs are src/bpf/signal.bpf.c. */
static int add_signal_site(struct plan *plan, unsigned id, struct ut_err *err)
{
	struct plan_site site = { .kind = SITE_SIGNAL,
				  .probe = (unsigned)plan->signal_probe,
				  .tracepoint_id = id,
				  .snippet = SITE_NO_SNIPPET };

	if (vec_push(&plan->sites, site))
		return ut_err_nomem(err);
	plan->probes.v[site.probe].nsites++;
	return 0;
}

static int add_signals(struct plan *plan, int tracefs, struct ut_err *err)
{
	struct field f[] = { { "sig", 0 }, { "code", 0 }, { "sa_handler", 0 } };
	int r = read_event(tracefs, "signal", "signal_deliver", f, ARRAY_SIZE(f), &plan->signals.deliver, err);

	if (r)
		return r;
	plan->signals.number = f[0].offset;
	plan->signals.code = f[1].offset;
	plan->signals.handler = f[2].offset;
	r = add_signal_site(plan, plan->signals.deliver, err);
	if (r)
		return r;
	r = read_event(tracefs, "syscalls", "sys_enter_rt_sigreturn", NULL, 0, &plan->signals.sigreturn, err);
	if (r == -ENOENT)
		return ut_err_set(err, -ENOTSUP,
				  "this kernel has no tracepoint for the return of signal handlers "
				  "(CONFIG_FTRACE_SYSCALLS); t:signal:signal_deliver shows where they begin");
	return r ? r : add_signal_site(plan, plan->signals.sigreturn, err);
}

int plan_user_transports(struct plan *plan, bool prctl, struct ut_err *err)
{
	AUTO_CLOSE int tracefs = -1;
	int r = 0;

	for (unsigned i = 0; !r && i < plan->requests.n; i++)
		if (plan->requests.v[i].spec->kind == PROBE_USER || plan->requests.v[i].spec->kind == PROBE_SIGNAL)
			r = add_user_probe(plan, i, err);
	if (r || (plan->user_probe < 0 && plan->signal_probe < 0))
		return r;
	tracefs = tracefs_open(err);
	if (tracefs < 0)
		return tracefs;
	if (prctl && plan->user_probe >= 0)
		r = add_prctl(plan, tracefs, err);
	if (!r && plan->signal_probe >= 0)
		r = add_signals(plan, tracefs, err);
	return r;
}

bool plan_is_user_event(const struct usdt_note *n)
{
	return !strcmp(n->provider, "usertrace") && !strcmp(n->name, "event");
}

static int add_header_site(struct plan_scan *scan, const struct usdt_note *n)
{
	struct plan_site site = { .kind = SITE_USER,
				  .probe = (unsigned)scan->plan->user_probe,
				  .vaddr = n->vaddr,
				  .offset = n->offset,
				  .sem_offset = n->sem_offset,
				  .sem_twice = n->sem_twice };
	struct gen_snippet snippet;
	int r = plan_scan_file(scan);

	if (r < 0)
		return r;
	site.file = (unsigned)r;
	site.nop5 = nop5_location(scan->img, n->vaddr);
	site.nop5_before = nop5_begins_before(scan->img, n->vaddr);
	r = gen_user_snippet(NULL, &scan->plan->options.gen, &snippet, scan->err);
	return r ? r : plan_add_site_with(scan->plan, &site, &snippet, scan->err);
}

int plan_user(struct plan_scan *scan)
{
	int r = scan->plan->user_probe < 0 ? 0 : plan_scan_notes(scan, false);

	for (size_t i = 0; !r && scan->notes_read && i < scan->notes.notes.n; i++) {
		const struct usdt_note *n = &scan->notes.notes.v[i];
		const char *defect = plan_is_user_event(n) ? plan_site_defect(scan, n) : NULL;

		if (!plan_is_user_event(n))
			continue;
		if (!defect && strcmp(n->args, GEN_USER_OPERANDS))
			defect = "it was built with a version of <usertrace.h> that is not supported";
		r = defect ? plan_note(scan->plan, "user events of '%s' are left out: %s", scan->path, defect)
			   : add_header_site(scan, n);
	}
	return r;
}

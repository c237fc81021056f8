/* SPDX-License-Identifier: MIT */
/* t: requests: the matching tracepoints become probes, each with one site. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "proc/tracefs.h"
#include "plan/event.h"
#include "plan/plan_priv.h"

static int add_event(struct plan *plan, unsigned request, int tracefs, const char *category, const char *event,
		     struct ut_err *err)
{
	struct probe_scope scope = { .kind = PROBE_TRACEPOINT };
	struct plan_site site = { .kind = SITE_TRACEPOINT };
	struct plan_probe p = { .request = request };
	AUTO_FREE struct probe_field *fields = NULL;
	char display[256];
	int probe, r = event_read(tracefs, category, event, &p.tracepoint, err);

	if (r)
		return r;
	snprintf(display, sizeof(display), "%s:%s", category, event);
	fields = calloc(p.tracepoint.fields.n + 1, sizeof(*fields));
	for (size_t i = 0; fields && i < p.tracepoint.fields.n; i++) {
		const struct tracepoint_field *f = &p.tracepoint.fields.v[i];

		fields[i] = (struct probe_field){ .name = f->name, .type = f->type, .unreadable = f->unreadable };
	}
	scope.display = display;
	scope.fields = fields;
	scope.nfields = (unsigned)p.tracepoint.fields.n;
	r = fields ? plan_check(plan, request, &scope, NULL, &p.checked, err) : ut_err_nomem(err);
	if (r) {
		tracepoint_done(&p.tracepoint);
		return r;
	}
	p.provider = strdup(category);
	p.func = strdup(event);
	probe = plan_add_probe(plan, &p);
	if (probe < 0)
		return ut_err_nomem(err);
	site.probe = (unsigned)probe;
	site.tracepoint_id = plan->probes.v[probe].tracepoint.id;
	return plan_add_site(plan, &site, err);
}

static int add_events(struct plan *plan, unsigned request, int tracefs, struct ut_err *err)
{
	const struct probe_spec *spec = plan->requests.v[request].spec;
	struct tracefs_names names = { 0 };
	int r;

	if (!glob_is_pattern(spec->where) && !glob_is_pattern(spec->name))
		return add_event(plan, request, tracefs, spec->where, spec->name, err);
	r = tracefs_events(tracefs, spec->where, spec->name, &names, err);
	for (size_t i = 0; !r && i < names.names.n; i++) {
		char *colon = strchr(names.names.v[i], ':');

		if (!colon)
			continue;
		*colon = '\0';
		r = add_event(plan, request, tracefs, names.names.v[i], colon + 1, err);
	}
	tracefs_names_done(&names);
	return r;
}

int plan_tracepoints(struct plan *plan, struct ut_err *err)
{
	AUTO_CLOSE int tracefs = -1;
	int r = 0;

	for (unsigned i = 0; !r && i < plan->requests.n; i++) {
		if (plan->requests.v[i].spec->kind != PROBE_TRACEPOINT)
			continue;
		if (tracefs < 0)
			tracefs = tracefs_open(err);
		r = tracefs < 0 ? tracefs : add_events(plan, i, tracefs, err);
		if (r == -ENOENT && tracefs >= 0 && err)
			r = err->code = -EINVAL; /* an unknown tracepoint is bad input */
	}
	return r;
}

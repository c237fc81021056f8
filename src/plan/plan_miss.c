/* SPDX-License-Identifier: MIT */
/* Errors for requests without a probe: the reason, similar names, and what the runtime offers instead. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "plan/plan_priv.h"

#define NEAR_MAX 3

static void append_near_names(const struct plan *plan, const struct probe_spec *spec, struct buf *out)
{
	AUTO_FREE const char **names = calloc(plan->names.n ? plan->names.n : 1, sizeof(*names));
	size_t near[NEAR_MAX], k;

	if (!names || glob_is_pattern(spec->name))
		return;
	for (size_t i = 0; i < plan->names.n; i++)
		names[i] = strchr(plan->names.v[i], ':') + 1;
	k = suggest(spec->name, names, plan->names.n, near, ARRAY_SIZE(near));
	for (size_t i = 0; i < k; i++)
		buf_addf(out, "%s%s", i ? ", " : k > 1 ? "; there are " : "; there is ", plan->names.v[near[i]]);
	if (!k && plan->names.n)
		buf_addf(out, "; there are %zu others (usertrace list shows them), such as %s", plan->names.n,
			 plan->names.v[0]);
}

/* Suggests a provider for a mistyped one: only if no probe of the given provider exists. */
static void append_near_provider(const struct plan *plan, const struct probe_spec *spec, struct buf *out)
{
	size_t near[1];

	if (plan->names.n || glob_is_pattern(spec->where) || strchr(spec->where, '/'))
		return;
	if (suggest(spec->where, (const char *const *)plan->providers.v, plan->providers.n, near, 1))
		buf_addf(out, "; there is a provider %s", plan->providers.v[near[0]]);
}

static void append_runtime(const struct runtime *rt, struct buf *out)
{
	if (!rt)
		return;
	buf_addf(out, "\nthis is %s (%s)", rt->name, rt->language);
	for (size_t i = 0; i < rt->provider.n; i++)
		buf_addf(out, "%s%s", i ? ", " : "; builds of it with probes have the provider ", rt->provider.v[i]);
	for (size_t i = 0; i < rt->offer.n; i++)
		buf_addf(out, "\n  can be traced: %s  (%s)", rt->offer.v[i].probe, rt->offer.v[i].what);
	for (size_t i = 0; i < rt->hint.n; i++)
		buf_addf(out, "\n  %s", rt->hint.v[i]);
}

bool plan_is_complete(const struct plan *plan)
{
	for (size_t i = 0; i < plan->requests.n; i++)
		if (!plan->requests.v[i].nprobes)
			return false;
	return true;
}

/* -EINVAL with the error for one request without a probe. */
static int report_request(const struct plan *plan, const struct plan_request *r, const char *where,
			  const struct runtime *runtime, struct ut_err *err)
{
	/* a file of that name without probes means little if the provider exists elsewhere */
	bool use_miss = r->miss && !(r->weak_miss && plan->names.n);
	const char *kind = r->spec->kind == PROBE_USDT ? "probe" : "function";
	struct buf text = { 0 };

	if (use_miss)
		buf_adds(&text, r->miss);
	else if (plan_request_is_path(r))
		buf_addf(&text, "no %s %s in '%s'", kind, r->spec->name, r->spec->where);
	else
		buf_addf(&text, "no %s %s:%s in %s", kind, r->spec->where, r->spec->name, where);
	if (r->spec->kind == PROBE_USDT && !use_miss) {
		append_near_names(plan, r->spec, &text);
		append_near_provider(plan, r->spec, &text);
	}
	if (!use_miss && plan->denied) {
		buf_addf(&text, "; '%s'", plan->denied);
		if (plan->ndenied > 1)
			buf_addf(&text, " and %zu more %s", plan->ndenied - 1, plural(plan->ndenied - 1, "file"));
		buf_adds(&text, " could not be opened: permission denied; run as root, or with CAP_SYS_PTRACE");
	}
	append_runtime(plan->names.n || r->failed || r->spec->kind != PROBE_USDT ? NULL : runtime, &text);
	ut_err_set(err, -EINVAL, "%s", text.data ? text.data : "out of memory");
	buf_done(&text);
	return -EINVAL;
}

int plan_complete(const struct plan *plan, const char *where, const struct runtime *runtime, struct ut_err *err)
{
	for (size_t i = 0; i < plan->requests.n; i++)
		if (!plan->requests.v[i].nprobes)
			return report_request(plan, &plan->requests.v[i], where, runtime, err);
	return 0;
}

/* Has it an indirect function whose implementation is known when the program runs? */
static bool may_choose(const struct plan *plan, unsigned request)
{
	for (size_t i = 0; i < plan->ifuncs.n; i++)
		if (plan->ifuncs.v[i].request == request)
			return true;
	return false;
}

int plan_paths_complete(const struct plan *plan, struct ut_err *err)
{
	for (size_t i = 0; i < plan->requests.n; i++) {
		const struct plan_request *r = &plan->requests.v[i];

		if (!r->nprobes && r->has_id && !may_choose(plan, (unsigned)i))
			return report_request(plan, r, r->spec->where, NULL, err);
	}
	return 0;
}

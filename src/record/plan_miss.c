/* SPDX-License-Identifier: MIT */
/* What to say when a request fits nothing: why, what is near, and what the runtime has instead. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "record/plan_priv.h"

#define NEAR_MAX 3

static void add_near(const struct plan *plan, const struct probe_spec *spec, struct buf *out)
{
	AUTO_FREE const char **names = calloc(plan->names.n ? plan->names.n : 1, sizeof(*names));
	size_t near[NEAR_MAX], k;

	if (!names || glob_is_pattern(spec->name))
		return;
	for (size_t i = 0; i < plan->names.n; i++)
		names[i] = strchr(plan->names.v[i], ':') + 1;
	k = suggest(spec->name, names, plan->names.n, near, ARRAY_SIZE(near));
	for (size_t i = 0; i < k; i++)
		buf_addf(out, "%s%s", i ? ", " : "; there is ", plan->names.v[near[i]]);
	if (!k && plan->names.n)
		buf_addf(out, "; there are %zu others (usertrace list shows them), such as %s", plan->names.n,
			 plan->names.v[0]);
}

static void add_runtime(const struct runtime *rt, struct buf *out)
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

static const char *kind_word(const struct probe_spec *spec)
{
	return spec->kind == PROBE_USDT ? "probe" : "function";
}

bool plan_is_complete(const struct plan *plan)
{
	for (size_t i = 0; i < plan->requests.n; i++)
		if (!plan->requests.v[i].nprobes)
			return false;
	return true;
}

int plan_complete(const struct plan *plan, const char *where, const struct runtime *runtime, struct ut_err *err)
{
	for (size_t i = 0; i < plan->requests.n; i++) {
		const struct plan_request *r = &plan->requests.v[i];
		struct buf text = { 0 };

		if (r->nprobes)
			continue;
		if (r->miss)
			buf_adds(&text, r->miss);
		else if (plan_request_is_path(r))
			buf_addf(&text, "no %s %s in '%s'", kind_word(r->spec), r->spec->name, r->spec->where);
		else
			buf_addf(&text, "no %s %s:%s in %s", kind_word(r->spec), r->spec->where, r->spec->name, where);
		if (r->spec->kind == PROBE_USDT && !r->miss)
			add_near(plan, r->spec, &text);
		add_runtime(plan->names.n ? NULL : runtime, &text);
		ut_err_set(err, -EINVAL, "%s", text.data ? text.data : "out of memory");
		buf_done(&text);
		return -EINVAL;
	}
	return 0;
}

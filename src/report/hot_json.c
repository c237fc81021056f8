/* SPDX-License-Identifier: MIT */
/* Prints hot functions as one JSON object, all of them unless --rows limits them. Unknown values have no key. */

#include "base/auto.h"
#include "base/json.h"
#include "report/hot_priv.h"

static void add_profile_totals(const struct hot *h, struct json *j)
{
	const struct profile_totals *t = &h->p->totals;
	hot_reasons_list reasons = { 0 };

	json_object(j, "totals");
	if (!t->times_only)
		json_u64(j, "samples", t->samples);
	json_u64(j, "lost", t->lost);
	json_u64(j, "truncated", t->cut);
	json_u64(j, "frames", t->frames ? t->frames : h->frames);
	json_u64(j, "unnamed", t->frames ? t->unnamed : h->unnamed);
	json_u64(j, "threads", h->threads.n);
	if (t->duration_ns)
		json_u64(j, "duration_ns", t->duration_ns);
	if (t->period_ns)
		json_u64(j, "period_ns", t->period_ns);
	if (t->begin_wall_ns > 0)
		json_u64(j, "wall_ns", (uint64_t)t->begin_wall_ns);
	json_close(j);
	json_array(j, "reasons");
	if (hot_reasons(h, &reasons))
		j->out->failed = true;
	for (size_t i = 0; i < reasons.n; i++) {
		json_object(j, NULL);
		json_string(j, "reason", reasons.v[i].text);
		json_u64(j, "frames", reasons.v[i].frames);
		json_close(j);
	}
	vec_done(&reasons);
	json_close(j);
}

static void add_function_name(const struct hot_function *f, struct json *j)
{
	json_string(j, "name", f->name);
	if (*f->module)
		json_string(j, "module", f->module);
	json_string(j, "code", hot_kind_name(f->kind));
}

static void add_function_rows(const struct hot *h, enum profile_state s, struct json *j)
{
	size_t n;
	AUTO_FREE uint32_t *order = hot_rank(h, s, false, &n);

	if (!order) {
		j->out->failed = true;
		return;
	}
	json_array(j, "functions");
	for (size_t i = 0; i < n && (!h->o->rows || i < h->o->rows); i++) {
		const struct hot_function *f = &h->functions.v[order[i]];

		json_object(j, NULL);
		add_function_name(f, j);
		json_u64(j, "self", f->self[s]);
		json_u64(j, "total", f->total[s]);
		json_close(j);
	}
	json_close(j);
}

static void add_states(const struct hot *h, struct json *j)
{
	json_array(j, "states");
	for (unsigned i = 0; i < PROFILE_STATES; i++) {
		const struct hot_state *s = &h->states[i];

		if (!(h->present >> i & 1))
			continue;
		json_object(j, NULL);
		json_string(j, "state", hot_state_name((enum profile_state)i));
		json_string(j, "unit", hot_unit(h, (enum profile_state)i));
		if (!h->p->totals.times_only)
			json_u64(j, "count", s->count);
		json_u64(j, "value", s->value);
		json_u64(j, "kernel", s->kernel);
		if (s->idle)
			json_u64(j, "idle", s->idle);
		add_function_rows(h, (enum profile_state)i, j);
		json_close(j);
	}
	json_close(j);
}

static void add_state_values(const uint64_t values[PROFILE_STATES], struct json *j)
{
	for (unsigned i = 0; i < PROFILE_STATES; i++)
		if (values[i])
			json_u64(j, hot_state_name((enum profile_state)i), values[i]);
}

static void add_edges(const struct hot *h, uint32_t chosen, bool callers, struct json *j)
{
	json_array(j, callers ? "callers" : "callees");
	for (size_t i = 0; i < h->edges.n; i++) {
		const struct hot_edge *e = &h->edges.v[i];

		if (e->chosen != chosen || e->caller != callers)
			continue;
		json_object(j, NULL);
		if (e->other != HOT_NONE)
			add_function_name(&h->functions.v[e->other], j);
		add_state_values(e->value, j);
		json_close(j);
	}
	json_close(j);
}

static void add_chosen(const struct hot *h, struct json *j)
{
	json_array(j, "neighbors");
	for (size_t i = 0; i < h->chosen.n; i++) {
		json_object(j, NULL);
		add_function_name(&h->functions.v[h->chosen.v[i]], j);
		add_edges(h, h->chosen.v[i], true, j);
		add_edges(h, h->chosen.v[i], false, j);
		json_close(j);
	}
	json_close(j);
}

static void add_thread(struct hot *h, const struct hot_thread *t, struct json *j)
{
	const struct profile_thread *who = &h->p->threads.v[t->number];

	json_object(j, NULL);
	if (who->pid > 0)
		json_u64(j, "pid", (uint64_t)who->pid);
	if (who->tid > 0)
		json_u64(j, "tid", (uint64_t)who->tid);
	if (who->comm && *who->comm)
		json_string(j, "comm", who->comm);
	if (who->process && *who->process)
		json_string(j, "process", who->process);
	add_state_values(t->value, j);
	if (t->idle)
		json_u64(j, "idle", t->idle);
	if (h->o->threads) {
		hot_count_thread(h, t->number);
		json_array(j, "states");
		for (unsigned s = 0; s < PROFILE_STATES; s++) {
			if (!t->value[s])
				continue;
			json_object(j, NULL);
			json_string(j, "state", hot_state_name((enum profile_state)s));
			json_u64(j, "value", t->value[s]);
			add_function_rows(h, (enum profile_state)s, j);
			json_close(j);
		}
		json_close(j);
	}
	json_close(j);
}

int hot_json(const struct profile *p, const struct hot_options *o, struct buf *out)
{
	struct json j = { .out = out };
	struct buf sentence = { 0 };
	struct hot h;
	int r = hot_make(&h, p, o);

	if (!r) {
		hot_sentence(&h, &sentence);
		json_object(&j, NULL);
		json_string(&j, "type", "hot");
		json_string(&j, "message", sentence.data ? sentence.data : "");
		add_profile_totals(&h, &j);
		add_states(&h, &j);
		add_chosen(&h, &j);
		json_array(&j, "threads"); /* last: their functions change the counts */
		for (size_t i = 0; i < h.threads.n; i++)
			add_thread(&h, &h.threads.v[i], &j);
		json_line(&j);
	}
	out->failed |= sentence.failed;
	buf_done(&sentence);
	hot_done(&h);
	return r || out->failed ? -ENOMEM : 0;
}

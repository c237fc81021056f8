/* SPDX-License-Identifier: MIT */
/* Hot functions as one JSON object. What is not known has no key; rows are all of them unless a number is asked for. */

#include "base/auto.h"
#include "report/hot_priv.h"
#include "report/json.h"

static void add_totals(const struct hot *h, struct buf *out)
{
	const struct profile_totals *t = &h->p->totals;
	hot_reasons_list reasons = { 0 };

	buf_adds(out, "\"totals\":{");
	if (!t->times_only)
		json_add_number("samples", t->samples, out);
	json_add_number("lost", t->lost, out);
	json_add_number("cut", t->cut, out);
	json_add_number("frames", t->frames ? t->frames : h->frames, out);
	json_add_number("unnamed", t->frames ? t->unnamed : h->unnamed, out);
	json_add_number("threads", h->threads.n, out);
	if (t->duration_ns)
		json_add_number("duration_ns", t->duration_ns, out);
	if (t->period_ns)
		json_add_number("period_ns", t->period_ns, out);
	if (t->begin_wall_ns > 0)
		json_add_number("wall_start_ns", (uint64_t)t->begin_wall_ns, out);
	json_close_with('}', out);
	buf_adds(out, ",\"reasons\":[");
	if (hot_reasons(h, &reasons))
		out->failed = true;
	for (size_t i = 0; i < reasons.n; i++) {
		buf_addc(out, '{');
		json_add_text("reason", reasons.v[i].text, out);
		json_add_number("frames", reasons.v[i].frames, out);
		json_close_with('}', out);
		buf_addc(out, ',');
	}
	vec_done(&reasons);
	json_close_with(']', out);
	buf_addc(out, ',');
}

static void add_name(const struct hot_function *f, struct buf *out)
{
	json_add_text("name", f->name, out);
	if (*f->module)
		json_add_text("module", f->module, out);
	json_add_text("kind", hot_kind_name(f->kind), out);
}

static void add_functions(const struct hot *h, enum profile_state s, struct buf *out)
{
	size_t n;
	AUTO_FREE uint32_t *order = hot_rank(h, s, false, &n);

	if (!order) {
		out->failed = true;
		return;
	}
	buf_adds(out, "\"functions\":[");
	for (size_t i = 0; i < n && (!h->o->rows || i < h->o->rows); i++) {
		const struct hot_function *f = &h->functions.v[order[i]];

		buf_addc(out, '{');
		add_name(f, out);
		json_add_number("self", f->self[s], out);
		json_add_number("total", f->total[s], out);
		json_close_with('}', out);
		buf_adds(out, ",");
	}
	json_close_with(']', out);
	buf_addc(out, ',');
}

static void add_states(const struct hot *h, struct buf *out)
{
	buf_adds(out, "\"states\":[");
	for (unsigned i = 0; i < PROFILE_STATES; i++) {
		const struct hot_state *s = &h->states[i];

		if (!(h->present >> i & 1))
			continue;
		buf_addc(out, '{');
		json_add_text("state", hot_state_name((enum profile_state)i), out);
		json_add_text("unit", hot_unit(h, (enum profile_state)i), out);
		if (!h->p->totals.times_only)
			json_add_number("count", s->count, out);
		json_add_number("value", s->value, out);
		json_add_number("kernel", s->kernel, out);
		if (s->idle)
			json_add_number("idle", s->idle, out);
		add_functions(h, (enum profile_state)i, out);
		json_close_with('}', out);
		buf_addc(out, ',');
	}
	json_close_with(']', out);
	buf_addc(out, ',');
}

static void add_values(const uint64_t values[PROFILE_STATES], struct buf *out)
{
	for (unsigned i = 0; i < PROFILE_STATES; i++)
		if (values[i])
			json_add_number(hot_state_name((enum profile_state)i), values[i], out);
}

static void add_edges(const struct hot *h, uint32_t chosen, bool callers, struct buf *out)
{
	buf_addf(out, "\"%s\":[", callers ? "callers" : "callees");
	for (size_t i = 0; i < h->edges.n; i++) {
		const struct hot_edge *e = &h->edges.v[i];

		if (e->chosen != chosen || e->caller != callers)
			continue;
		buf_addc(out, '{');
		if (e->other != HOT_NONE)
			add_name(&h->functions.v[e->other], out);
		add_values(e->value, out);
		json_close_with('}', out);
		buf_addc(out, ',');
	}
	json_close_with(']', out);
	buf_addc(out, ',');
}

static void add_chosen(const struct hot *h, struct buf *out)
{
	buf_adds(out, "\"neighbours\":[");
	for (size_t i = 0; i < h->chosen.n; i++) {
		buf_addc(out, '{');
		add_name(&h->functions.v[h->chosen.v[i]], out);
		add_edges(h, h->chosen.v[i], true, out);
		add_edges(h, h->chosen.v[i], false, out);
		json_close_with('}', out);
		buf_addc(out, ',');
	}
	json_close_with(']', out);
	buf_addc(out, ',');
}

static void add_thread(struct hot *h, const struct hot_thread *t, struct buf *out)
{
	const struct profile_thread *who = &h->p->threads.v[t->number];

	buf_addc(out, '{');
	if (who->pid > 0)
		json_add_number("pid", (uint64_t)who->pid, out);
	if (who->tid > 0)
		json_add_number("tid", (uint64_t)who->tid, out);
	if (who->comm && *who->comm)
		json_add_text("comm", who->comm, out);
	if (who->process && *who->process)
		json_add_text("process", who->process, out);
	add_values(t->value, out);
	if (t->idle)
		json_add_number("idle", t->idle, out);
	if (h->o->threads) {
		hot_count_thread(h, t->number);
		buf_adds(out, "\"states\":[");
		for (unsigned s = 0; s < PROFILE_STATES; s++) {
			if (!t->value[s])
				continue;
			buf_addc(out, '{');
			json_add_text("state", hot_state_name((enum profile_state)s), out);
			json_add_number("value", t->value[s], out);
			add_functions(h, (enum profile_state)s, out);
			json_close_with('}', out);
			buf_addc(out, ',');
		}
		json_close_with(']', out);
		buf_addc(out, ',');
	}
	json_close_with('}', out);
	buf_addc(out, ',');
}

int hot_json(const struct profile *p, const struct hot_options *o, struct buf *out)
{
	struct buf sentence = { 0 };
	struct hot h;
	int r = hot_make(&h, p, o);

	if (!r) {
		hot_sentence(&h, &sentence);
		buf_adds(out, "{\"type\":\"hot\",");
		json_add_text("sentence", sentence.data ? sentence.data : "", out);
		add_totals(&h, out);
		add_states(&h, out);
		add_chosen(&h, out);
		buf_adds(out, "\"threads\":["); /* last: their functions change the counts */
		for (size_t i = 0; i < h.threads.n; i++)
			add_thread(&h, &h.threads.v[i], out);
		json_close_with(']', out);
		buf_adds(out, "}\n");
	}
	out->failed |= sentence.failed;
	buf_done(&sentence);
	hot_done(&h);
	return r || out->failed ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: MIT */
/* Sums a profile by function and by thread. Each stack is walked once, from the innermost frame to the outermost. */
#include "report/hot_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/sum.h"
#include "base/text.h"
#include "model/waits.h"

#define NO_SYMBOLS "[no symbols: "

const enum profile_state hot_states[PROFILE_STATES] = { PROFILE_CPU, PROFILE_EVENT, PROFILE_BLOCKED, PROFILE_RUNNABLE };

/* Sums for pairs of numbers. */
struct pair_sums {
	struct pairs pairs;
	VEC(uint64_t) v; /* by the number of a pair */
};

static int pair_sums_add(struct pair_sums *s, uint32_t a, uint32_t b, uint64_t value)
{
	uint32_t number = pairs_number(&s->pairs, a, b);

	if (number == HOT_NONE || (number == s->v.n && vec_push(&s->v, 0)))
		return -ENOMEM;
	add_u64(&s->v.v[number], value);
	return 0;
}

static void pair_sums_done(struct pair_sums *s)
{
	vec_done(&s->v);
	pairs_done(&s->pairs);
}

/* --- functions --- */

size_t hot_reason_len(const char *name)
{
	const char *address = strstr(name, "+0x");

	return !strncmp(name, NO_SYMBOLS, strlen(NO_SYMBOLS)) && address ? (size_t)(address - name) : 0;
}

/* Placeholder frames are merged: without the address in "[unknown code, no map: 0x7f12]". "[no symbols: bash+0x12]" is a function. */
static const char *function_name(struct hot *h, const struct profile_frame *frame)
{
	const char *name = frame->name, *address = strstr(name, ": 0x");
	char *text = NULL;

	if (!frame->unnamed && frame->kind != FRAME_REASON)
		return name;
	if (!strncmp(name, "0x", 2))
		return "[address without a name]";
	if (hot_reason_len(name))
		return name;
	if (!address)
		address = strstr(name, "+0x");
	if (!address || *name != '[')
		return name;
	if (asprintf(&text, "%.*s]", (int)(address - name), name) < 0)
		return name;
	if (vec_push(&h->owned, text)) {
		free(text);
		return name;
	}
	return text;
}

static int find_functions(struct hot *h)
{
	const struct profile *p = h->p;
	struct pairs pairs = { 0 };
	int r = 0;

	for (size_t i = 0; i < p->frames.n && !r; i++) {
		const struct profile_frame *frame = &p->frames.v[i];
		struct hot_function f = { .name = function_name(h, frame),
					  .module = frame->module ? frame->module : "",
					  .kind = frame->kind,
					  .unnamed = frame->unnamed };
		uint32_t name = strings_number(&h->strings, f.name), module = strings_number(&h->strings, f.module);
		uint32_t number =
			name == HOT_NONE || module == HOT_NONE ? HOT_NONE : pairs_number(&pairs, name, module);

		if (number == HOT_NONE || (number == h->functions.n && vec_push(&h->functions, f)))
			r = -ENOMEM;
		else
			h->functions.v[number].unnamed |= frame->unnamed;
		h->function_of[i] = number;
		h->idle[i] = !strcmp(frame->name, WAITS_IDLE);
	}
	pairs_done(&pairs);
	return r;
}

/* --- weights --- */

static void add_weight(struct hot *h, const struct profile_weight *w, uint64_t stamp)
{
	const struct profile_node *nodes = h->p->nodes.v;
	uint64_t value = hot_value(h, w);
	uint32_t self = hot_self_node(h->p, w);

	if (self)
		add_u64(&h->functions.v[h->function_of[nodes[self].frame]].self[w->state], value);
	for (uint32_t node = w->node; node; node = nodes[node].parent) {
		uint32_t number = h->function_of[nodes[node].frame];
		struct hot_function *f = &h->functions.v[number];

		if (h->p->frames.v[nodes[node].frame].unnamed)
			add_u64(&f->unnamed_frames, w->count);
		if (h->seen[number] == stamp)
			continue;
		h->seen[number] = stamp;
		add_u64(&f->total[w->state], value);
		if (w->state == h->primary)
			f->depth += (double)h->depth[node] * (double)value;
	}
	add_u64(&h->frames, product_u64(h->depth[w->node], w->count));
}

static void add_weights(struct hot *h)
{
	for (size_t i = 0; i < h->p->weights.n; i++) {
		const struct profile_weight *w = &h->p->weights.v[i];
		struct hot_state *s = &h->states[w->state];

		if (!hot_wants(h, w->state))
			continue;
		h->present |= 1u << w->state;
		if (hot_is_idle(h, w)) {
			add_u64(&s->idle, hot_value(h, w));
			continue;
		}
		add_u64(&s->count, w->count);
		add_u64(&s->value, hot_value(h, w));
		if (w->node && h->p->frames.v[h->p->nodes.v[w->node].frame].kind == FRAME_KERNEL)
			add_u64(&s->kernel, hot_value(h, w));
		add_weight(h, w, i + 1);
	}
	for (size_t i = 0; i < h->functions.n; i++)
		add_u64(&h->unnamed, h->functions.v[i].unnamed_frames);
}

void hot_count_thread(struct hot *h, uint32_t thread)
{
	memset(h->seen, 0, h->functions.n * sizeof(*h->seen));
	for (size_t i = 0; i < h->functions.n; i++) {
		memset(h->functions.v[i].self, 0, sizeof(h->functions.v[i].self));
		memset(h->functions.v[i].total, 0, sizeof(h->functions.v[i].total));
	}
	for (size_t i = 0; i < h->p->weights.n; i++) {
		const struct profile_weight *w = &h->p->weights.v[i];

		if (w->thread == thread && hot_wants(h, w->state) && !hot_is_idle(h, w))
			add_weight(h, w, i + 1);
	}
}

static void find_units(struct hot *h)
{
	unsigned counted = 0;

	for (size_t i = 0; i < h->p->weights.n; i++) {
		const struct profile_weight *w = &h->p->weights.v[i];

		h->states[w->state].times |= w->value_ns != 0;
		if (hot_wants(h, w->state))
			counted |= 1u << w->state;
	}
	for (size_t i = PROFILE_STATES; i-- > 0;)
		if (counted >> hot_states[i] & 1)
			h->primary = hot_states[i];
}

/* --- threads --- */

/* The function with the most self value in each thread. */
static int count_thread_functions(struct hot *h, uint32_t *row_of, enum profile_state state)
{
	struct pair_sums sums = { 0 };
	int r = 0;

	for (size_t i = 0; i < h->p->weights.n && !r; i++) {
		const struct profile_weight *w = &h->p->weights.v[i];
		uint32_t self =
			w->state == state && hot_wants(h, w->state) && !hot_is_idle(h, w) ? hot_self_node(h->p, w) : 0;

		if (self)
			r = pair_sums_add(&sums, row_of[w->thread], h->function_of[h->p->nodes.v[self].frame],
					  hot_value(h, w));
	}
	for (size_t i = 0; i < sums.v.n && !r; i++) {
		struct hot_thread *t = &h->threads.v[sums.pairs.v.v[i].a];

		if (sums.v.v[i] <= t->hottest_value[state])
			continue;
		t->hottest[state] = sums.pairs.v.v[i].b;
		t->hottest_value[state] = sums.v.v[i];
	}
	pair_sums_done(&sums);
	return r;
}

/* By CPU time, then events, then waits. */
static int compare_threads(const void *x, const void *y)
{
	const struct hot_thread *a = x, *b = y;

	for (size_t i = 0; i < PROFILE_STATES; i++)
		if (a->value[hot_states[i]] != b->value[hot_states[i]])
			return a->value[hot_states[i]] > b->value[hot_states[i]] ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int find_threads(struct hot *h)
{
	AUTO_FREE uint32_t *row_of = malloc((h->p->threads.n + 1) * sizeof(*row_of));
	int r;

	if (!row_of)
		return -ENOMEM;
	memset(row_of, 0xff, (h->p->threads.n + 1) * sizeof(*row_of));
	for (size_t i = 0; i < h->p->weights.n; i++) {
		const struct profile_weight *w = &h->p->weights.v[i];
		struct hot_thread *t, new = { .number = w->thread };

		if (!hot_wants(h, w->state))
			continue;
		memset(new.hottest, 0xff, sizeof(new.hottest));
		if (row_of[w->thread] == HOT_NONE) {
			row_of[w->thread] = (uint32_t)h->threads.n;
			if (vec_push(&h->threads, new))
				return -ENOMEM;
		}
		t = &h->threads.v[row_of[w->thread]];
		add_u64(&t->count[w->state], w->count);
		add_u64(hot_is_idle(h, w) ? &t->idle : &t->value[w->state], hot_value(h, w));
	}
	r = count_thread_functions(h, row_of, h->primary);
	if (!r && h->primary != PROFILE_BLOCKED)
		r = count_thread_functions(h, row_of, PROFILE_BLOCKED);
	if (h->threads.n)
		qsort(h->threads.v, h->threads.n, sizeof(*h->threads.v), compare_threads);
	return r;
}

/* --- order --- */

struct rank {
	const struct hot_function *f;
	enum profile_state state;
	bool by_total;
};

static int compare_functions(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;
	uint64_t va = a->f->self[a->state], vb = b->f->self[b->state];
	uint64_t ta = a->f->total[a->state], tb = b->f->total[b->state];

	if (!a->by_total && va != vb)
		return va > vb ? -1 : 1;
	if (ta != tb)
		return ta > tb ? -1 : 1;
	if (va != vb)
		return va > vb ? -1 : 1;
	return a->f < b->f ? -1 : a->f > b->f; /* in order of first appearance */
}

uint32_t *hot_rank(const struct hot *h, enum profile_state state, bool by_total, size_t *ret_n)
{
	uint32_t *ret = malloc((h->functions.n + 1) * sizeof(*ret));
	AUTO_FREE struct rank *ranks = malloc((h->functions.n + 1) * sizeof(*ranks));
	size_t n = 0;

	*ret_n = 0;
	if (!ret || !ranks) {
		free(ret);
		return NULL;
	}
	for (size_t i = 0; i < h->functions.n; i++)
		if (h->functions.v[i].total[state])
			ranks[n++] = (struct rank){ &h->functions.v[i], state, by_total };
	qsort(ranks, n, sizeof(*ranks), compare_functions);
	for (size_t i = 0; i < n; i++)
		ret[i] = (uint32_t)(ranks[i].f - h->functions.v);
	*ret_n = n;
	return ret;
}

/* For each function that waits, the callee in which it waits most. */
static int find_wait_callees(struct hot *h)
{
	struct pair_sums sums = { 0 };
	int r = 0;

	for (size_t i = 0; i < h->p->weights.n && !r; i++) {
		const struct profile_weight *w = &h->p->weights.v[i];
		uint32_t self = hot_is_wait(w->state) && !hot_is_idle(h, w) ? hot_self_node(h->p, w) : 0;
		uint32_t low = self ? hot_wait_callee(h->p, w) : 0, function, below;

		if (!low)
			continue;
		function = h->function_of[h->p->nodes.v[self].frame];
		below = h->function_of[h->p->nodes.v[low].frame];
		if (function != below)
			r = pair_sums_add(&sums, function, below, hot_value(h, w));
	}
	for (size_t i = 0; i < sums.v.n && !r; i++) {
		struct hot_function *f = &h->functions.v[sums.pairs.v.v[i].a];

		if (sums.v.v[i] <= f->wait_callee_value)
			continue;
		f->wait_callee = h->functions.v[sums.pairs.v.v[i].b].name;
		f->wait_callee_value = sums.v.v[i];
	}
	pair_sums_done(&sums);
	return r;
}

/* The functions whose callers and callees are shown: those that match the pattern, or the hottest, and then the hottest waits. */
static int choose_functions(struct hot *h)
{
	size_t n, nwaits;
	AUTO_FREE uint32_t *order = hot_rank(h, h->primary, h->o->function, &n);
	AUTO_FREE uint32_t *waits = hot_rank(h, PROFILE_BLOCKED, false, &nwaits);

	if (!order || !waits)
		return -ENOMEM;
	for (size_t i = 0; i < n && h->o->function; i++) {
		if (!glob_match(h->o->function, h->functions.v[order[i]].name))
			continue;
		h->matches++;
		if (h->chosen.n < HOT_CHOSEN_MAX && vec_push(&h->chosen, order[i]))
			return -ENOMEM;
	}
	if (h->o->function)
		return 0;
	for (size_t i = 0; i < n && h->chosen.n < HOT_CHOSEN; i++)
		if (h->functions.v[order[i]].self[h->primary] && vec_push(&h->chosen, order[i]))
			return -ENOMEM;
	h->nhottest = h->chosen.n;
	for (size_t i = 0; i < nwaits && h->waits.n < HOT_CHOSEN && h->primary != PROFILE_BLOCKED; i++) {
		bool chosen = false;

		if (!h->functions.v[waits[i]].self[PROFILE_BLOCKED])
			break;
		for (size_t k = 0; k < h->chosen.n; k++)
			chosen |= h->chosen.v[k] == waits[i];
		if (vec_push(&h->waits, waits[i]) || (!chosen && vec_push(&h->chosen, waits[i])))
			return -ENOMEM;
	}
	return 0;
}

static int compare_reasons(const void *x, const void *y)
{
	const struct hot_reason *a = x, *b = y;

	return a->frames > b->frames ? -1 : a->frames < b->frames ? 1 : strcmp(a->text, b->text);
}

int hot_reasons(const struct hot *h, hot_reasons_list *ret)
{
	for (size_t i = 0; i < h->functions.n; i++) {
		const struct hot_function *f = &h->functions.v[i];
		size_t len = hot_reason_len(f->name), at = 0;
		struct hot_reason new = { .frames = 0 };

		if (!f->unnamed_frames)
			continue;
		snprintf(new.text, sizeof(new.text), len ? "%.*s]" : "%.*s", len ? (int)len : (int)strlen(f->name),
			 f->name);
		while (at < ret->n && strcmp(ret->v[at].text, new.text))
			at++;
		if (at == ret->n && vec_push(ret, new))
			return -ENOMEM;
		add_u64(&ret->v[at].frames, f->unnamed_frames);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_reasons);
	return 0;
}

int hot_make(struct hot *h, const struct profile *p, const struct hot_options *o)
{
	int r;

	*h = (struct hot){ .p = p, .o = o };
	h->function_of = calloc(p->frames.n + 1, sizeof(*h->function_of));
	h->idle = calloc(p->frames.n + 1, 1);
	if (!h->function_of || !h->idle)
		return -ENOMEM;
	r = find_functions(h);
	h->seen = calloc(h->functions.n + 1, sizeof(*h->seen));
	if (r || !h->seen)
		return -ENOMEM;
	h->depth = calloc(p->nodes.n + 1, sizeof(*h->depth));
	if (!h->depth)
		return -ENOMEM;
	for (size_t i = 1; i < p->nodes.n; i++)
		h->depth[i] = h->depth[p->nodes.v[i].parent] + 1;
	find_units(h);
	add_weights(h);
	r = find_threads(h);
	if (!r)
		r = find_wait_callees(h);
	if (!r)
		r = choose_functions(h);
	return r ? r : hot_find_edges(h);
}

void hot_done(struct hot *h)
{
	vec_done(&h->functions);
	vec_done(&h->threads);
	vec_done(&h->chosen);
	vec_done(&h->waits);
	vec_done(&h->edges);
	for (size_t i = 0; i < h->owned.n; i++)
		free(h->owned.v[i]);
	vec_done(&h->owned);
	strings_done(&h->strings);
	free(h->function_of);
	free(h->idle);
	free(h->depth);
	free(h->seen);
}

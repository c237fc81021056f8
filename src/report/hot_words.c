/* SPDX-License-Identifier: MIT */
/* Units, shares, names, and the first sentence of the report on hot functions. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/width.h"
#include "report/hot_priv.h"

enum { NAME_COLUMNS = 56 }; /* of a name in a sentence */

const char *hot_state_name(enum profile_state state)
{
	static const char *const names[PROFILE_STATES] = { "cpu", "runnable", "blocked", "event" };

	return names[state];
}

const char *hot_kind_name(uint8_t kind)
{
	static const char *const names[] = { "native",	"kernel",  "compiled",	 "interpreted",
					     "inlined", "waiting", "placeholder" };

	return kind < ARRAY_SIZE(names) ? names[kind] : "native";
}

const char *hot_unit(const struct hot *h, enum profile_state state)
{
	static const char *const counts[PROFILE_STATES] = { "samples", "waits", "waits", "events" };

	if (h->states[state].times)
		return "nanoseconds";
	if ((state == PROFILE_CPU || state == PROFILE_EVENT) && h->p->totals.unit && *h->p->totals.unit)
		return h->p->totals.unit;
	return counts[state];
}

const char *hot_module(const struct hot_function *f)
{
	if (*f->module)
		return f->module;
	switch (f->kind) {
	case FRAME_KERNEL: return "kernel";
	case FRAME_COMPILED: return "compiled";
	case FRAME_INTERPRETED: return "interpreted";
	default: return "-";
	}
}

const char *hot_amount(const struct hot *h, enum profile_state state, uint64_t value, char *ret)
{
	return h->states[state].times ? human_ns(value, ret) : human_count(value, ret);
}

const char *hot_share(uint64_t part, uint64_t whole, char *ret)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!part || !whole)
		snprintf(ret, 32, "0 %%");
	else if (percent < 0.01)
		snprintf(ret, 32, "<0.01 %%");
	else if (percent >= 99.995)
		snprintf(ret, 32, "100 %%");
	else
		snprintf(ret, 32, "%.*f %%", percent < 0.995 ? 2 : percent < 9.95 || percent >= 99.5, percent);
	return ret;
}

/* Sentences have whole percents. */
static const char *share_in_words(uint64_t part, uint64_t whole, char *ret)
{
	if (part && part >= whole / 100 && part < whole)
		snprintf(ret, 32, "%.0f %%", 100.0 * (double)part / (double)whole);
	else
		hot_share(part, whole, ret);
	return ret;
}

void hot_add_name(struct buf *out, const char *name, size_t columns)
{
	struct buf b = { 0 };
	size_t used, head, at;

	buf_add_name(&b, name, strlen(name));
	out->failed |= b.failed;
	if (!b.len || columns < 3 || text_width(b.data, b.len) <= columns) {
		buf_add(out, b.data ? b.data : "", b.len);
		buf_done(&b);
		return;
	}
	head = at = text_fit(b.data, b.len, (columns - 1) / 2, &used);
	buf_add(out, b.data, head);
	buf_adds(out, "…");
	while (at < b.len && text_width(b.data + at, b.len - at) > columns - 1 - used)
		for (at++; at < b.len && ((unsigned char)b.data[at] & 0xc0) == 0x80;)
			at++;
	buf_add(out, b.data + at, b.len - at);
	buf_done(&b);
}

static void add_function_phrase(const struct hot_function *f, struct buf *out)
{
	hot_add_name(out, f->name, NAME_COLUMNS);
	if (f->kind == FRAME_KERNEL || (f->kind != FRAME_REASON && f->kind != FRAME_WAITING && *f->module)) {
		buf_adds(out, f->kind == FRAME_KERNEL ? " of the " : " of ");
		buf_add_name(out, hot_module(f), strlen(hot_module(f)));
	}
}

/*
 * The function nearest to the leaves that still has half of the value as its total; of several as near, the smallest. It must be
 * one function: no placeholder, which stands for many, and in a wait no function of the kernel, which all waits have.
 */
static const struct hot_function *find_half_of_total(const struct hot *h, enum profile_state s)
{
	const struct hot_function *best = NULL;
	double depth, deepest = 0;

	for (size_t i = 0; i < h->functions.n; i++) {
		const struct hot_function *f = &h->functions.v[i];

		if (f->unnamed || f->kind == FRAME_REASON || f->kind == FRAME_WAITING ||
		    (hot_is_wait(s) && f->kind == FRAME_KERNEL) ||
		    f->total[s] < h->states[s].value - h->states[s].value / 2)
			continue;
		depth = f->depth / (double)f->total[s];
		if (best && (depth < deepest || (depth <= deepest && f->total[s] >= best->total[s])))
			continue;
		best = f;
		deepest = depth;
	}
	return best;
}

/* The function with the most self value, except functions without symbols: a user cannot look them up. */
static const struct hot_function *find_hottest(const struct hot *h, enum profile_state s)
{
	const struct hot_function *best = NULL;

	for (size_t i = 0; i < h->functions.n; i++) {
		const struct hot_function *f = &h->functions.v[i];

		if (f->self[s] && !hot_reason_len(f->name) && (!best || f->self[s] > best->self[s]))
			best = f;
	}
	return best;
}

/* A function without symbols may be hotter. */
static const char *hottest_phrase(const struct hot *h, const struct hot_function *self, enum profile_state s)
{
	for (size_t i = 0; i < h->functions.n; i++)
		if (h->functions.v[i].self[s] > self->self[s])
			return "the hottest function with a name is ";
	return "the hottest function is ";
}

/* "parse of libfoo.so and its callees, 31 % self time" */
static void add_function_and_callees(const struct hot *h, const struct hot_function *f, enum profile_state s,
				     struct buf *out)
{
	uint64_t value = h->states[s].value;
	char text[32];

	add_function_phrase(f, out);
	if (f->self[s] == f->total[s])
		return;
	buf_adds(out, " and its callees");
	if (f->self[s] >= f->total[s] - f->total[s] / 20)
		buf_addf(out, ", almost all self time");
	else if (f->self[s])
		buf_addf(out, ", %s self time", share_in_words(f->self[s], value, text));
}

static const char *what_was_spent(const struct hot *h, enum profile_state s, char text[64])
{
	if (h->states[s].times)
		return s == PROFILE_CPU ? "the CPU time was spent in" : "the waiting time was spent in";
	snprintf(text, 64, "%s were in", hot_unit(h, s));
	return text;
}

static void add_where(const struct hot *h, enum profile_state s, struct buf *out)
{
	const struct hot_function *half = find_half_of_total(h, s), *self = find_hottest(h, s);
	uint64_t value = h->states[s].value;
	char share[32], words[64];

	if (half) {
		buf_addf(out, "%s of %s ", share_in_words(half->total[s], value, share), what_was_spent(h, s, words));
		add_function_and_callees(h, half, s, out);
	}
	if (!self || self == half)
		return;
	if (half) {
		buf_addf(out, "; %s", hottest_phrase(h, self, s));
		add_function_phrase(self, out);
		buf_addf(out, " (%s)", share_in_words(self->self[s], value, share));
		return;
	}
	buf_addf(out, "%s%s", self->self[s] >= value / 4 ? "" : "no function stands out: ", hottest_phrase(h, self, s));
	add_function_phrase(self, out);
	buf_addf(out, " with %s of %s", share_in_words(self->self[s], value, share),
		 h->states[s].times ? s == PROFILE_CPU ? "the CPU time" : "the time waited" : hot_unit(h, s));
}

/* The shares of the kernel and of garbage collection. */
static void add_kernel_and_gc(const struct hot *h, enum profile_state s, struct buf *out)
{
	uint64_t value = h->states[s].value;
	char share[32];

	if (h->states[s].kernel >= value / 100 + 1)
		buf_addf(out, "; %s ran in the kernel", share_in_words(h->states[s].kernel, value, share));
	for (size_t i = 0; i < h->functions.n; i++) {
		const struct hot_function *f = &h->functions.v[i];

		if (f->kind == FRAME_REASON && !strcmp(f->name, "[GC]") && f->total[s])
			buf_addf(out, "; %s was garbage collection", share_in_words(f->total[s], value, share));
	}
}

static void add_waits(const struct hot *h, struct buf *out)
{
	const struct hot_state *blocked = &h->states[PROFILE_BLOCKED], *ready = &h->states[PROFILE_RUNNABLE];
	const struct hot_function *f = find_hottest(h, PROFILE_BLOCKED);
	uint64_t ran = h->states[PROFILE_CPU].value;
	char text[32], share[32];

	if (blocked->value && f && h->primary != PROFILE_BLOCKED) {
		buf_addf(out, "; threads waited for %s, ", hot_amount(h, PROFILE_BLOCKED, blocked->value, text));
		buf_addf(out, "%s of it in ",
			 f->self[PROFILE_BLOCKED] == blocked->value
				 ? "all"
				 : share_in_words(f->self[PROFILE_BLOCKED], blocked->value, share));
		add_function_phrase(f, out);
	}
	if (ready->value && ready->times && h->primary != PROFILE_RUNNABLE && ready->value >= ran / 50)
		buf_addf(out, "; runnable threads waited %s for a CPU",
			 hot_amount(h, PROFILE_RUNNABLE, ready->value, text));
}

void hot_sentence(const struct hot *h, struct buf *out)
{
	size_t begin = out->len;

	if (!h->states[h->primary].value) {
		buf_adds(out, h->states[PROFILE_BLOCKED].idle ? "nothing ran, and all waits were idle" : "no samples");
		return;
	}
	add_where(h, h->primary, out);
	if (!hot_is_wait(h->primary))
		add_kernel_and_gc(h, h->primary, out);
	add_waits(h, out);
	if (out->len == begin)
		buf_adds(out, h->frames ? "no sampled function has a name" : "no sample has a stack");
	if (out->len > begin + 2 && out->data[begin] == ';') /* the first part begins with its separator */
		memmove(out->data + begin, out->data + begin + 2, (out->len -= 2) - begin + 1);
}

/* SPDX-License-Identifier: MIT */
/* User events as begins and ends for the pairing engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/span_priv.h"

/* A name that could not be read is known by its address. */
static struct pair_event pair_event_of(const struct span_event *e)
{
	bool fault = e->name.state == UT_TEXT_FAULT;
	size_t len = e->name.len < SPAN_NAME_MAX ? e->name.len : SPAN_NAME_MAX;

	return (struct pair_event){ .time_ns = e->time_ns,
				    .pid = e->pid,
				    .tid = e->tid,
				    .by = e->has_id ? PAIR_BY_ID : PAIR_BY_THREAD,
				    .id = e->has_id ? e->id : 0,
				    .what = (uint64_t)e->name.state << 1 | e->is_signal,
				    .name = fault ? (const void *)&e->name.address : e->name.bytes,
				    .name_len = fault ? sizeof(e->name.address) : len };
}

static int on_ended(void *ctx, struct pair *pair, struct span *span)
{
	const struct pair_event begin = pair_begun(pair);
	struct spans *s = ctx;

	span->name.state = (enum ut_text_state)(begin.what >> 1);
	if (span->name.state == UT_TEXT_FAULT) {
		memcpy(&span->name.address, begin.name, sizeof(span->name.address));
	} else {
		span->name.bytes = begin.name;
		span->name.len = begin.name_len;
	}
	span->is_signal = begin.what & 1;
	span->has_id = begin.by == PAIR_BY_ID;
	span->id = begin.id;
	memcpy(&span->value, pair_data(pair), sizeof(span->value));
	s->counts.of[span->end]++;
	if (span->end != SPAN_COMPLETE && s->closed)
		s->closed(s->ctx, span);
	else if (span->end == SPAN_COMPLETE && s->ended)
		*s->ended = *span;
	return 0;
}

struct spans *spans_new_limited(void (*closed)(void *ctx, const struct span *span), void *ctx,
				const struct pair_limits *limits)
{
	struct spans *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->closed = closed;
	s->ctx = ctx;
	s->pairs = pairs_new(
		&(struct pairs_options){ .limits = *limits, .sees_starts = true, .ended = on_ended, .ctx = s });
	return s->pairs ? s : spans_free(s);
}

struct spans *spans_new(void (*closed)(void *ctx, const struct span *span), void *ctx)
{
	static const struct pair_limits usual = { .per_process = SPANS_PER_PROCESS,
						  .all = SPANS_MAX,
						  .idle = 16384,
						  .heritage = 1024,
						  .all_heritage = SPANS_MAX };

	return spans_new_limited(closed, ctx, &usual);
}

struct spans *spans_free(struct spans *s)
{
	if (s)
		pairs_free(s->pairs);
	free(s);
	return NULL;
}

int spans_begin(struct spans *s, const struct span_event *e)
{
	struct pair_event event = pair_event_of(e);
	struct pair *pair = pairs_begin(s->pairs, &event, sizeof(e->value));

	s->counts.begins++;
	if (!pair) {
		s->counts.of[SPAN_EVICTED]++;
		return -ENOMEM;
	}
	memcpy(pair_data(pair), &e->value, sizeof(e->value));
	pairs_trim(s->pairs, pair);
	return 0;
}

enum span_end spans_end(struct spans *s, const struct span_event *e, struct span *ret)
{
	struct pair_event event = pair_event_of(e);
	struct pair *pair = pairs_newest(s->pairs, &event);
	uint64_t since_ns;
	enum span_end what;

	s->counts.ends++;
	if (!pair) {
		what = pairs_without(s->pairs, &event, &since_ns);
		s->counts.of[what]++;
		return what;
	}
	s->ended = ret;
	pairs_end(s->pairs, pair, e->time_ns, e->tid);
	if (ret)
		ret->name.bytes = e->name.bytes;
	return SPAN_COMPLETE;
}

struct pairs *spans_pairs(const struct spans *s) { return s->pairs; }
const struct span_counts *spans_counts(const struct spans *s) { return &s->counts; }

/* SPDX-License-Identifier: MIT */
/* Fuzzes the pairing of spans: in whatever order things happen, all begins are accounted for, no time is negative. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/pair_priv.h"
#include "model/span_priv.h"
#include "fuzz.h"

static const struct pair_limits limits = { .per_process = 12, .all = 30, .idle = 8, .heritage = 6, .all_heritage = 32 };

struct input {
	const uint8_t *at, *end;
	uint64_t time;
};

static uint8_t next(struct input *in) { return in->at < in->end ? *in->at++ : 0; }

static void check_span(const struct span *span)
{
	if (span->end_ns < span->begin_ns || span->own_ns > span->end_ns - span->begin_ns || !span->depth ||
	    span->name.len > SPAN_NAME_MAX || span->flags > (SPAN_LOST_INSIDE | SPAN_CLOCK_STEP | SPAN_CROSSED))
		abort();
}

static void closed(void *ctx, const struct span *span)
{
	++*(uint64_t *)ctx;
	check_span(span);
	if (span->end == SPAN_COMPLETE)
		abort();
}

static void check(const struct spans *s, uint64_t told)
{
	const struct span_counts *c = spans_counts(s);
	uint64_t others = 0, without = 0;

	for (size_t i = SPAN_OPEN; i < SPAN_LOST; i++)
		others += c->of[i];
	for (size_t i = SPAN_LOST; i < SPAN_ENDS; i++)
		without += c->of[i];
	if (others != told || c->begins != told + c->of[SPAN_COMPLETE] + s->pairs->open)
		abort();
	if (c->ends != c->of[SPAN_COMPLETE] + without)
		abort();
	if (s->pairs->open > limits.all || s->pairs->keys.n_idle > limits.idle ||
	    s->pairs->procs.n_idle > limits.idle || s->pairs->threads.n_idle > limits.idle ||
	    s->pairs->n_heritage > limits.all_heritage)
		abort();
}

/* The time goes on by a little, back by a little, or anywhere. */
static uint64_t next_time(struct input *in)
{
	uint8_t b = next(in);

	if (b < 0xf0)
		return in->time += b;
	if (b < 0xfe)
		return in->time -= b & 0xf;
	return in->time = b == 0xff ? UINT64_MAX - next(in) : next(in);
}

static struct span_event next_event(struct input *in, char name[512])
{
	uint8_t who = next(in), what = next(in);
	struct span_event e = {
		.pid = who & 7, .tid = who >> 4, .name = { .bytes = name }, .has_id = what & 1, .id = what >> 5
	};

	e.name.len = what & 16 ? 100u + next(in) : what >> 1 & 3;
	memset(name, what & 8 ? 'a' : '\0', 512);
	if (what & 16)
		name[next(in)] = 'b';
	return e;
}

static void step(struct spans *s, struct input *in)
{
	uint8_t what = next(in);
	char name[512];
	struct span_event e = next_event(in, name);
	struct span span;

	e.time_ns = next_time(in);
	switch (what & 15) {
	case 0: pairs_fork(spans_pairs(s), e.time_ns, e.pid, e.tid); break;
	case 1: pairs_exec(spans_pairs(s), e.time_ns, e.pid); break;
	case 2: pairs_thread_exit(spans_pairs(s), e.time_ns, e.pid, e.tid); break;
	case 3: pairs_thread_exit(spans_pairs(s), e.time_ns, e.pid, e.tid); break;
	case 4: pairs_process_exit(spans_pairs(s), e.time_ns, e.pid, what & 16, what); break;
	case 5: pairs_lost(spans_pairs(s), e.pid, e.time_ns - next(in), e.time_ns); break;
	case 6:
		if (what > 0xf0)
			pairs_stop(spans_pairs(s), e.time_ns);
		break;
	case 7:
	case 8:
	case 9:
	case 10:
	case 11:
		if (spans_end(s, &e, &span) == SPAN_COMPLETE)
			check_span(&span);
		break;
	default: spans_begin(s, &e); break;
	}
}

FUZZ_TARGET(span)
{
	struct input in = { .at = data, .end = data + size };
	uint64_t told = 0;
	struct spans *s = spans_new_limited(closed, &told, &limits);

	while (s && in.at < in.end) {
		step(s, &in);
		check(s, told);
	}
	if (!s)
		return 0;
	if (size & 1) /* else without an end of the stream */
		pairs_stop(spans_pairs(s), in.time);
	check(s, told);
	spans_free(s);
	return 0;
}

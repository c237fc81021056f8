/* SPDX-License-Identifier: MIT */
/* The pairing of spans: names of any bytes, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/pair_priv.h"
#include "model/span_priv.h"
#include "span_events.h"
#include "unit.h"

struct heard {
	size_t n, of_pid[4];
	struct span first, last;
};

static void hear(void *ctx, const struct span *span)
{
	struct heard *h = ctx;

	if (!h->n++)
		h->first = *span;
	h->last = *span;
	if (span->pid < 4)
		h->of_pid[span->pid]++;
}

static void test_nothing(void **state)
{
	struct spans *s = spans_new(NULL, NULL);

	(void)state;
	assert_non_null(s);
	pairs_fork(spans_pairs(s), 1, 1, 2);
	pairs_fork(spans_pairs(s), 1, 1, 1);
	pairs_exec(spans_pairs(s), 1, 3);
	pairs_thread_exit(spans_pairs(s), 1, 4, 4);
	pairs_process_exit(spans_pairs(s), 1, 5, false, 0);
	pairs_lost(spans_pairs(s), 0, 1, 2);
	pairs_stop(spans_pairs(s), 2);
	pairs_stop(spans_pairs(s), 3);
	assert_int_equal(s->pairs->open, 0);
	assert_int_equal(spans_counts(s)->begins, 0);
	assert_null(spans_free(s));
	assert_null(spans_free(NULL));
}

static void test_all_of_an_event_is_in_the_span(void **state)
{
	struct spans *s = spans_new(NULL, NULL);
	struct span_event b = with_id(event(1000, 7, 8, "gc"), UINT64_MAX),
			  e = with_id(event(4000, 7, 9, "gc"), UINT64_MAX);
	struct span span;

	(void)state;
	b.value = INT64_MIN;
	e.value = 5;
	begin(s, b);
	assert_int_equal(spans_end(s, &e, &span), SPAN_COMPLETE);
	assert_int_equal(span.pid, 7);
	assert_int_equal(span.tid, 8);
	assert_int_equal(span.name.len, 2);
	assert_memory_equal(span.name.bytes, "gc", 2);
	assert_true(span.has_id && span.id == UINT64_MAX && span.value == INT64_MIN);
	assert_true(span.begin_ns == 1000 && span.end_ns == 4000 && span.own_ns == 3000);
	assert_int_equal(span.end, SPAN_COMPLETE);
	assert_false(span.exit_known);
	spans_free(s);
}

static void test_a_result_is_left_alone_without_a_match(void **state)
{
	struct spans *s = spans_new(NULL, NULL);
	struct span_event e = event(1, 1, 1, "x");
	struct span span, before;

	(void)state;
	memset(&span, 0x5a, sizeof(span));
	before = span;
	assert_int_equal(spans_end(s, &e, &span), SPAN_BEFORE_ATTACH);
	assert_memory_equal(&span, &before, sizeof(span));
	spans_free(s);
}

/* The name of @len bytes in memory of just that size, so that a sanitizer sees a read behind it. */
static void name_is_cut(struct spans *s, size_t len)
{
	size_t kept = len < SPAN_NAME_MAX ? len : SPAN_NAME_MAX;
	char *name = malloc(len ? len : 1);
	struct span_event e = { .time_ns = 5, .pid = 1, .tid = 1, .name = { .bytes = name, .len = len } };
	struct span span;

	assert_non_null(name);
	for (size_t i = 0; i < len; i++)
		name[i] = (char)(i * 7 + 1);
	begin(s, e);
	if (len > SPAN_NAME_MAX)
		name[SPAN_NAME_MAX] ^= 1; /* behind what is kept */
	if (kept) {
		name[kept - 1] ^= 1;
		assert_int_not_equal(end(s, e), SPAN_COMPLETE);
		name[kept - 1] ^= 1;
	}
	assert_int_equal(spans_end(s, &e, &span), SPAN_COMPLETE);
	assert_int_equal(span.name.len, kept);
	assert_memory_equal(span.name.bytes, name, kept);
	free(name);
}

static void test_names_of_any_length(void **state)
{
	struct spans *s = spans_new(NULL, NULL);

	(void)state;
	for (size_t len = 0; len < 300; len++)
		name_is_cut(s, len);
	name_is_cut(s, 1 << 20);
	assert_int_equal(s->pairs->open, 0);
	spans_free(s);
}

static void test_names_of_any_bytes(void **state)
{
	struct spans *s = spans_new(NULL, NULL);
	char one[] = "a\0b", other[] = "a\0c";
	struct span_event e = { .pid = 1, .tid = 1, .name = { .bytes = one, .len = 3 } },
			  none = { .pid = 1, .tid = 1, .name = { .bytes = NULL, .len = 9 } };

	(void)state;
	begin(s, e);
	e.name.bytes = other;
	assert_int_equal(end(s, e), SPAN_BEFORE_ATTACH);
	e.name.len = 2;
	assert_int_equal(end(s, e), SPAN_BEFORE_ATTACH);
	e.name.bytes = one;
	e.name.len = 3;
	assert_int_equal(end(s, e), SPAN_COMPLETE);
	begin(s, none); /* no name is the empty one */
	e.name.len = 0;
	assert_int_equal(end(s, e), SPAN_COMPLETE);
	spans_free(s);
}

/* The millionth begin costs what the first does, and only the newest are kept. */
static void test_a_million_begins_beside_a_polite_process(void **state)
{
	struct heard heard = { 0 };
	struct spans *s = spans_new(hear, &heard);

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		begin(s, with_id(event(i, 2, 2, "polite"), i));
	for (uint64_t i = 0; i < 1000000; i++)
		begin(s, event(100 + i, 1, 1, "flood"));
	assert_int_equal(s->pairs->open, 100 + SPANS_PER_PROCESS);
	assert_int_equal(heard.n, 1000000 - SPANS_PER_PROCESS);
	assert_int_equal(heard.of_pid[2], 0);
	assert_int_equal(heard.last.end, SPAN_EVICTED);
	assert_int_equal(heard.first.begin_ns, 100);
	assert_int_equal(heard.last.begin_ns, 100 + 999999 - SPANS_PER_PROCESS);
	assert_int_equal(heard.last.end_ns, 100 + 999999);
	assert_int_equal(spans_counts(s)->of[SPAN_EVICTED], heard.n);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(end(s, with_id(event(2000000, 2, 2, "polite"), i)), SPAN_COMPLETE);
	for (size_t i = 0; i < SPANS_PER_PROCESS; i++)
		assert_int_equal(end(s, event(2000000, 1, 1, "flood")), SPAN_COMPLETE);
	assert_int_equal(end(s, event(2000000, 1, 1, "flood")), SPAN_ORPHAN); /* its begin was forgotten */
	spans_free(s);
}

static void test_the_process_with_most_pays(void **state)
{
	struct heard heard = { 0 };
	struct spans *s = spans_new(hear, &heard);

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		begin(s, with_id(event(i, 2, 2, "polite"), i));
	for (uint64_t i = 0; i < SPANS_MAX; i++)
		begin(s, event(100 + i, 10 + (uint32_t)(i / 1000), 1, "x"));
	assert_int_equal(s->pairs->open, SPANS_MAX);
	assert_int_equal(heard.n, 100);
	assert_int_equal(heard.of_pid[2], 0);
	pairs_stop(spans_pairs(s), 1 << 20);
	assert_int_equal(heard.of_pid[2], 100);
	assert_int_equal(heard.last.end, SPAN_OPEN);
	spans_free(s);
}

static const struct pair_limits small = { .per_process = 4, .all = 6, .idle = 3, .heritage = 4, .all_heritage = 16 };

static void test_of_two_limits(void **state)
{
	struct heard heard = { 0 };
	struct spans *s = spans_new_limited(hear, &heard, &small);

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		begin(s, event(i, 1, 1, "a"));
	assert_int_equal(heard.of_pid[1], 1); /* of one process */
	begin(s, event(10, 2, 2, "b"));
	begin(s, event(11, 2, 2, "b"));
	assert_int_equal(heard.n, 1);
	begin(s, event(12, 3, 3, "c"));
	assert_int_equal(heard.of_pid[1], 2); /* in all */
	begin(s, event(13, 3, 3, "c"));
	assert_int_equal(heard.of_pid[1], 3);
	assert_int_equal(heard.last.begin_ns, 2);
	assert_int_equal(s->pairs->open, 6);
	spans_free(s);
}

/* What has no open spans is forgotten in time: then an end is told as if from before. */
static void test_what_is_idle_is_forgotten(void **state)
{
	struct spans *s = spans_new_limited(NULL, NULL, &small);

	(void)state;
	begin(s, event(1, 1, 1, "x"));
	end(s, event(2, 1, 1, "x"));
	assert_int_equal(end(s, event(3, 1, 1, "x")), SPAN_ORPHAN);
	for (uint32_t pid = 2; pid < 9; pid++) {
		begin(s, event(4, pid, 1, "x"));
		end(s, event(4, pid, 1, "x"));
	}
	assert_int_equal(end(s, event(5, 1, 1, "x")), SPAN_BEFORE_ATTACH);
	assert_int_equal(end(s, event(5, 8, 1, "x")), SPAN_ORPHAN);
	assert_true(s->pairs->procs.index.n <= 3 && s->pairs->threads.index.n <= 3 && s->pairs->keys.index.n <= 3);
	spans_free(s);
}

/* Of a process with more open spans than a child is given, the newest are. */
static void test_heritage_is_bounded(void **state)
{
	struct pair_limits limits = small;
	struct spans *s;

	(void)state;
	limits.heritage = 2;
	s = spans_new_limited(NULL, NULL, &limits);
	begin(s, event(1, 1, 1, "a"));
	begin(s, event(2, 1, 1, "b"));
	begin(s, event(3, 1, 1, "c"));
	for (uint32_t child = 2; child < 9; child++)
		pairs_fork(spans_pairs(s), 4, 1, child);
	assert_true(s->pairs->n_heritage <= limits.all_heritage);
	assert_int_equal(end(s, event(5, 8, 8, "c")), SPAN_INHERITED);
	assert_int_equal(end(s, event(5, 8, 8, "b")), SPAN_INHERITED);
	assert_int_equal(end(s, event(5, 8, 8, "a")), SPAN_ORPHAN);
	spans_free(s);
}

static void test_counts_say_where_all_went(void **state)
{
	struct spans *s = spans_new(NULL, NULL);
	const struct span_counts *c = spans_counts(s);

	(void)state;
	end(s, event(1, 1, 1, "early"));
	begin(s, event(2, 1, 1, "a"));
	pairs_fork(spans_pairs(s), 3, 1, 2);
	end(s, event(4, 2, 2, "a"));
	end(s, event(5, 2, 2, "a"));
	end(s, event(6, 1, 1, "a"));
	pairs_lost(spans_pairs(s), 0, 6, 7);
	end(s, event(8, 1, 1, "a"));
	begin(s, event(9, 1, 2, "t"));
	pairs_thread_exit(spans_pairs(s), 10, 1, 2);
	begin(s, event(11, 1, 1, "e"));
	pairs_exec(spans_pairs(s), 12, 1);
	begin(s, event(13, 1, 1, "p"));
	pairs_process_exit(spans_pairs(s), 14, 1, true, 0);
	begin(s, event(15, 3, 3, "o"));
	pairs_stop(spans_pairs(s), 16);
	assert_true(c->begins == 5 && c->ends == 5);
	for (size_t i = 0; i < SPAN_ENDS; i++)
		assert_int_equal(c->of[i], i != SPAN_EVICTED);
	spans_free(s);
}

UNIT_TESTS(span)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_all_of_an_event_is_in_the_span),
		cmocka_unit_test(test_a_result_is_left_alone_without_a_match),
		cmocka_unit_test(test_names_of_any_length),
		cmocka_unit_test(test_names_of_any_bytes),
		cmocka_unit_test(test_a_million_begins_beside_a_polite_process),
		cmocka_unit_test(test_the_process_with_most_pays),
		cmocka_unit_test(test_of_two_limits),
		cmocka_unit_test(test_what_is_idle_is_forgotten),
		cmocka_unit_test(test_heritage_is_bounded),
		cmocka_unit_test(test_counts_say_where_all_went),
	};

	return unit_run(tests, NULL, NULL);
}

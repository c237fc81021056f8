/* SPDX-License-Identifier: MIT */
/* Rings that are too small: what was delivered and what was told to be lost add up, and gaps lie where they were. */
#include <pthread.h>
#include <sched.h>

#include "traced.h"
#include "unit.h"

__asm__(".text\n.globl tick\n.hidden tick\n.type tick, @function\n.p2align 4\ntick:\n	nop\n	ret\n.size tick, . - "
	"tick\n");
void tick(uint64_t number, uint64_t thread);

#define THREADS 3

/* What has come out of the merge. */
struct tally {
	uint64_t records, lost, gaps, last_time;
	uint64_t last[THREADS]; /* number of the last record of each thread, from 1 on */
	uint64_t missing[THREADS]; /* by the numbers themselves */
	bool strict; /* one thread on one CPU: gaps and numbers must agree at each place */
};

static void count_item(const struct traced *t, struct tally *sum, const struct merge_item *item)
{
	const struct ut_rec_event *rec = item->rec;
	const struct probe_checked *checked;
	uint64_t number, thread;

	assert_true(item->time_ns >= sum->last_time);
	sum->last_time = item->time_ns;
	if (!rec) {
		assert_true(item->lost > 0);
		assert_true(item->since_ns <= item->time_ns);
		sum->lost += item->lost;
		sum->gaps++;
		return;
	}
	checked = traced_probe(t, rec)->checked;
	number = record_value(rec, checked, 0);
	thread = record_value(rec, checked, 1);
	assert_true(thread < THREADS);
	assert_true(number > sum->last[thread]);
	sum->missing[thread] += number - sum->last[thread] - 1;
	if (sum->strict)
		assert_int_equal(sum->missing[0], sum->lost);
	sum->last[thread] = number;
	sum->records++;
}

static void read_some(struct traced *t, struct tally *sum)
{
	const struct merge_item *item;
	unsigned ring;
	uint64_t n;

	assert_int_equal(rings_read(&t->r.rings, t->r.merge, &n), 0);
	while ((item = merge_next(t->r.merge, &ring)))
		count_item(t, sum, item);
	rings_release(&t->r.rings, t->r.merge);
}

static void read_rest(struct traced *t, struct tally *sum)
{
	attach_release(t->attach);
	read_some(t, sum);
	rings_end_watermarks(&t->r.rings, t->r.merge);
	read_some(t, sum);
}

static void ring_open(struct traced *t, uint64_t bytes)
{
	const char *text = "p:tick \"%u %u\", arg1, arg2";
	struct ut_err err = { 0 };

	memset(t, 0, sizeof(*t));
	recorder_open(&t->r, bytes);
	if (own_plan(&text, 1, &t->plan, &err) || traced_attach(t, getpid(), false, &err))
		fail_msg("%s", err.msg);
}

/* Bound to one CPU, so that there is one ring and one order. */
static void bind_to_one_cpu(cpu_set_t *before)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof(*before), before);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, before)) {
			CPU_SET(i, &one);
			break;
		}
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void gaps_lie_where_events_were_lost(void **state)
{
	struct tally sum = { .strict = true };
	cpu_set_t before;
	struct traced t;
	uint64_t fired = 0;

	(void)state;
	need_root();
	bind_to_one_cpu(&before);
	ring_open(&t, 4096);
	for (int burst = 1; burst < 200; burst++) {
		for (int i = 0; i < burst; i++)
			tick(++fired, 0);
		read_some(&t, &sum);
	}
	read_rest(&t, &sum);
	assert_true(sum.gaps > 50 && sum.records > 5000);
	assert_int_equal(sum.records + sum.lost, fired);
	assert_int_equal(sum.lost, sum.missing[0] + fired - sum.last[0]);
	assert_int_equal(t.r.rings.lost[0] || sum.lost, 1);
	traced_close(&t);
	sched_setaffinity(0, sizeof(before), &before);
}

static void nothing_is_lost_in_a_large_ring(void **state)
{
	struct tally sum = { 0 };
	struct traced t;

	(void)state;
	need_root();
	ring_open(&t, 1 << 20);
	for (uint64_t i = 1; i <= 3000; i++)
		tick(i, 0);
	read_rest(&t, &sum);
	assert_int_equal(sum.records, 3000);
	assert_int_equal(sum.lost + sum.gaps + sum.missing[0], 0);
	traced_close(&t);
}

/* Records that are read but still held by the merge are not overwritten. */
static void what_is_held_stays(void **state)
{
	struct tally sum = { .strict = true };
	cpu_set_t before;
	struct traced t;
	uint64_t n, fired = 0;

	(void)state;
	need_root();
	bind_to_one_cpu(&before);
	ring_open(&t, 4096);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 10; i++)
			tick(++fired, 0);
		assert_int_equal(rings_read(&t.r.rings, t.r.merge, &n), 0);
		rings_release(&t.r.rings, t.r.merge); /* nothing has left the merge: nothing is given back */
	}
	assert_true(rings_pressure(&t.r.rings) > 0.9 && rings_pressure(&t.r.rings) <= 1.0);
	read_rest(&t, &sum);
	assert_int_equal(sum.records + sum.lost, fired);
	assert_true(sum.lost > 100);
	traced_close(&t);
	sched_setaffinity(0, sizeof(before), &before);
}

struct ticker {
	pthread_t thread;
	uint64_t number, n;
};

static void *tick_many(void *arg)
{
	struct ticker *t = arg;

	for (uint64_t i = 1; i <= t->n; i++)
		tick(i, t->number);
	return NULL;
}

static void several_threads_at_full_speed(uint64_t ring_bytes, uint64_t each)
{
	struct ticker tickers[THREADS];
	struct tally sum = { 0 };
	struct traced t;
	uint64_t told = 0;

	ring_open(&t, ring_bytes);
	for (uint64_t i = 0; i < THREADS; i++) {
		tickers[i] = (struct ticker){ .number = i, .n = each };
		assert_int_equal(pthread_create(&tickers[i].thread, NULL, tick_many, &tickers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		while (pthread_tryjoin_np(tickers[i].thread, NULL))
			read_some(&t, &sum);
	}
	read_rest(&t, &sum);
	for (int i = 0; i < THREADS; i++)
		told += sum.missing[i] + each - sum.last[i];
	print_message("rings of %llu bytes: %llu records, %llu lost in %llu gaps\n", (unsigned long long)ring_bytes,
		      (unsigned long long)sum.records, (unsigned long long)sum.lost, (unsigned long long)sum.gaps);
	assert_int_equal(sum.lost, told);
	assert_int_equal(sum.records + sum.lost + attach_missed(t.attach), THREADS * each);
	traced_close(&t);
}

static void every_event_is_accounted_for(void **state)
{
	(void)state;
	need_root();
	several_threads_at_full_speed(4096, 30000);
	several_threads_at_full_speed(65536, 30000);
	several_threads_at_full_speed(1 << 21, 30000);
}

static void sizes_that_are_none(void **state)
{
	struct ut_err err = { 0 };
	struct rings rings;

	(void)state;
	need_root();
	assert_true(rings_open(&rings, 2, 5000, &err) < 0);
	assert_non_null(strstr(err.msg, "ring"));
	assert_true(rings_open(&rings, 2, 0, &err) < 0);
	for (unsigned n = 1; n <= 1024; n *= 2) {
		uint64_t size = rings_default_size(n);

		assert_true(size >= 256 << 10 && !(size & (size - 1)));
	}
}

UNIT_TESTS(ring)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_that_are_none),
		cmocka_unit_test(gaps_lie_where_events_were_lost),
		cmocka_unit_test(nothing_is_lost_in_a_large_ring),
		cmocka_unit_test(what_is_held_stays),
		cmocka_unit_test(every_event_is_accounted_for),
	};

	return unit_run(tests, NULL, NULL);
}

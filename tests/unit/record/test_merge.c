/* SPDX-License-Identifier: MIT */
/* The merge of rings against a full sort, with producers that nest, stall and are read at odd moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "record/merge.h"
#include "unit.h"

#define RINGS_MAX 40
#define EVENTS 6000

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A reservation in a ring; its time is read later than that, and it is submitted later still. */
struct event {
	uint64_t time;
	unsigned ring;
	size_t number; /* of the ring */
	bool submitted;
};

struct world {
	unsigned nrings;
	uint64_t clock;
	struct event events[EVENTS];
	size_t n;
	size_t by_ring[RINGS_MAX][EVENTS], reserved[RINGS_MAX], read[RINGS_MAX];
	size_t out[EVENTS], nout; /* as they left the merge */
	uint64_t last_time;
	struct merge *merge;
};

static size_t new_event(struct world *w, unsigned ring)
{
	size_t i = w->n++;

	w->events[i] = (struct event){ .ring = ring, .number = w->reserved[ring] };
	w->by_ring[ring][w->reserved[ring]++] = i;
	return i;
}

/* The clock moves between a reservation and its reading of it; what nests in there has the earlier time. */
static void produce(struct world *w, unsigned ring, unsigned depth)
{
	size_t i;

	if (w->n == EVENTS)
		return;
	i = new_event(w, ring);
	w->clock += rnd() % 3;
	while (depth && rnd() % 4 == 0)
		produce(w, ring, --depth);
	w->clock += rnd() % 2;
	w->events[i].time = w->clock;
	w->events[i].submitted = rnd() % 8 != 0; /* else: when the stalled ones go on */
}

static void submit_stalled(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		w->events[i].submitted |= rnd() % 2;
}

/* The reader's protocol: time first, then how far it is reserved, then all of that. */
static void read_one(struct world *w, unsigned ring)
{
	uint64_t time = w->clock;

	while (w->read[ring] < w->reserved[ring]) {
		size_t i = w->by_ring[ring][w->read[ring]];
		struct merge_item item = { .time_ns = w->events[i].time,
					   .rec = &w->events[i],
					   .position = w->read[ring] };

		if (!w->events[i].submitted)
			return;
		assert_int_equal(merge_add(w->merge, ring, &item), 0);
		w->read[ring]++;
	}
	merge_set_watermark(w->merge, ring, time);
}

static void check_oldest(const struct world *w, const bool *given, unsigned ring)
{
	uint64_t want = w->read[ring];
	size_t held = 0;

	for (size_t k = w->read[ring]; k-- > 0;) {
		if (given[w->by_ring[ring][k]])
			continue;
		want = k;
		held++;
	}
	assert_int_equal(merge_oldest(w->merge, ring, w->read[ring]), want);
	assert_int_equal(merge_count(w->merge, ring), held);
}

static void take(struct world *w, bool *given)
{
	const struct merge_item *item;
	unsigned ring;

	while ((item = merge_next(w->merge, &ring))) {
		const struct event *e = item->rec;
		size_t i = (size_t)(e - w->events);

		assert_true(i < w->n && !given[i]);
		assert_int_equal(ring, e->ring);
		assert_true(e->time >= w->last_time);
		w->last_time = e->time;
		given[i] = true;
		w->out[w->nout++] = i;
	}
	for (unsigned r = 0; r < w->nrings; r++)
		check_oldest(w, given, r);
}

/* Of equal times, those of one ring keep their order. */
static void check_all_given(const struct world *w)
{
	size_t last[RINGS_MAX];

	assert_int_equal(w->nout, w->n);
	for (unsigned r = 0; r < RINGS_MAX; r++)
		last[r] = SIZE_MAX;
	for (size_t k = 0; k < w->nout; k++) {
		const struct event *e = &w->events[w->out[k]];

		if (last[e->ring] != SIZE_MAX && w->events[last[e->ring]].time == e->time)
			assert_true(w->events[last[e->ring]].number < e->number);
		last[e->ring] = w->out[k];
	}
}

static void random_world(uint64_t s)
{
	struct world *w = calloc(1, sizeof(*w));
	bool *given = calloc(EVENTS, sizeof(*given));

	assert_true(w && given);
	seed = s;
	w->nrings = 1 + (unsigned)(rnd() % RINGS_MAX);
	w->merge = merge_new(w->nrings);
	assert_non_null(w->merge);
	while (w->n < EVENTS) {
		for (uint64_t k = rnd() % 40; k > 0; k--)
			produce(w, (unsigned)(rnd() % w->nrings), 3);
		if (rnd() % 3 == 0)
			submit_stalled(w);
		for (unsigned r = 0; r < w->nrings; r++)
			if (rnd() % 6)
				read_one(w, r);
		take(w, given);
	}
	for (size_t i = 0; i < w->n; i++)
		w->events[i].submitted = true;
	for (unsigned r = 0; r < w->nrings; r++) {
		read_one(w, r);
		merge_set_watermark(w->merge, r, UINT64_MAX);
	}
	take(w, given);
	check_all_given(w);
	assert_null(merge_free(w->merge));
	free(given);
	free(w);
}

static void random_producers(void **state)
{
	(void)state;
	for (uint64_t s = 1; s <= 60; s++)
		random_world(s * 0x9e3779b97f4a7c15);
}

static void add(struct merge *m, unsigned ring, uint64_t time, uint64_t position)
{
	struct merge_item item = { .time_ns = time, .position = position };

	assert_int_equal(merge_add(m, ring, &item), 0);
}

static void expect(struct merge *m, unsigned ring, uint64_t position)
{
	unsigned from;
	const struct merge_item *item = merge_next(m, &from);

	assert_non_null(item);
	assert_int_equal(from, ring);
	assert_int_equal(item->position, position);
}

static void nothing_passes_a_seal(void **state)
{
	struct merge *m = merge_new(2);
	unsigned ring;

	(void)state;
	add(m, 0, 5, 50);
	assert_null(merge_next(m, &ring)); /* ring 1 is not known about */
	merge_set_watermark(m, 0, 100);
	assert_null(merge_next(m, &ring));
	merge_set_watermark(m, 1, 5);
	assert_null(merge_next(m, &ring)); /* ring 1 could still have something of the time 5 that was earlier */
	merge_set_watermark(m, 1, 6);
	expect(m, 0, 50);
	assert_null(merge_next(m, &ring));
	merge_set_watermark(m, 1, 3); /* seals only grow */
	add(m, 0, 5, 51);
	expect(m, 0, 51);
	merge_free(m);
}

static void seals_of_the_end_let_everything_out(void **state)
{
	struct merge *m = merge_new(2);
	unsigned ring;

	(void)state;
	add(m, 1, UINT64_MAX, 1);
	add(m, 0, 7, 2);
	add(m, 0, 3, 3);
	merge_set_watermark(m, 0, UINT64_MAX);
	assert_null(merge_next(m, &ring));
	merge_set_watermark(m, 1, UINT64_MAX);
	expect(m, 0, 3);
	expect(m, 0, 2);
	expect(m, 1, 1);
	assert_null(merge_next(m, &ring));
	merge_free(m);
	assert_null(merge_free(NULL));
}

/* Gaps have no memory in a ring: they never hold back what rings_release gives back. */
static void oldest_of_what_is_held(void **state)
{
	struct merge *m = merge_new(1);

	(void)state;
	assert_int_equal(merge_oldest(m, 0, 77), 77);
	add(m, 0, 10, 5);
	add(m, 0, 9, 6);
	add(m, 0, 8, UINT64_MAX);
	assert_int_equal(merge_oldest(m, 0, 77), 5);
	merge_set_watermark(m, 0, 10);
	expect(m, 0, UINT64_MAX);
	expect(m, 0, 6);
	assert_int_equal(merge_oldest(m, 0, 77), 5);
	merge_set_watermark(m, 0, 11);
	expect(m, 0, 5);
	assert_int_equal(merge_oldest(m, 0, 77), 77);
	merge_free(m);
}

/* Of equal times, the ring with the lower number comes first, and in a ring what was added first. */
static void equal_times(void **state)
{
	struct merge *m = merge_new(5);

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned ring = 5; ring-- > 0;)
			add(m, ring, 7, ring * 10 + i);
	add(m, 3, 6, 39);
	for (unsigned ring = 0; ring < 5; ring++)
		merge_set_watermark(m, ring, 8);
	expect(m, 3, 39);
	for (unsigned ring = 0; ring < 5; ring++)
		for (unsigned i = 0; i < 3; i++)
			expect(m, ring, ring * 10 + i);
	merge_free(m);
}

/* A ring that was passed over because it had nothing comes in again with what it gets. */
static void rings_that_come_and_go(void **state)
{
	struct merge *m = merge_new(3);
	unsigned ring;

	(void)state;
	for (uint64_t t = 1; t < 100; t++) {
		add(m, (unsigned)(t % 3), t, t);
		for (unsigned r = 0; r < 3; r++)
			merge_set_watermark(m, r, t + 1);
		expect(m, (unsigned)(t % 3), t);
		assert_null(merge_next(m, &ring));
	}
	add(m, 1, 120, 1000);
	add(m, 1, 110, 1001); /* now it is the ring's first */
	add(m, 0, 115, 1002);
	for (unsigned r = 0; r < 3; r++)
		merge_set_watermark(m, r, 200);
	expect(m, 1, 1001);
	expect(m, 0, 1002);
	expect(m, 1, 1000);
	assert_null(merge_next(m, &ring));
	merge_free(m);
}

/* Losses stand in the order like records, and hold back no memory of their ring. */
static void losses(void **state)
{
	struct merge_item loss = { .time_ns = 20, .lost = 3, .since_ns = 10, .position = UINT64_MAX };
	struct merge *m = merge_new(2);
	const struct merge_item *item;
	unsigned ring;

	(void)state;
	add(m, 0, 10, 64);
	assert_int_equal(merge_add(m, 0, &loss), 0);
	add(m, 0, 30, 128);
	add(m, 1, 19, 1);
	add(m, 1, 21, 2);
	merge_set_watermark(m, 0, UINT64_MAX);
	merge_set_watermark(m, 1, UINT64_MAX);
	expect(m, 0, 64);
	assert_int_equal(merge_oldest(m, 0, 777), 128);
	expect(m, 1, 1);
	item = merge_next(m, &ring);
	assert_non_null(item);
	assert_null(item->rec);
	assert_int_equal(ring, 0);
	assert_int_equal(item->lost, 3);
	assert_int_equal(item->since_ns, 10);
	expect(m, 1, 2);
	expect(m, 0, 128);
	assert_int_equal(merge_oldest(m, 0, 777), 777);
	merge_free(m);

	/* Asked about before they are given out, as a ring of nothing but losses is. */
	m = merge_new(1);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(merge_add(m, 0, &loss), 0);
		assert_int_equal(merge_oldest(m, 0, 777), 777);
	}
	add(m, 0, 30, 64);
	merge_set_watermark(m, 0, UINT64_MAX);
	for (unsigned i = 0; i < 1000; i++) {
		assert_non_null(merge_next(m, &ring));
		assert_int_equal(merge_oldest(m, 0, 777), 64);
	}
	expect(m, 0, 64);
	assert_int_equal(merge_oldest(m, 0, 777), 777);
	merge_free(m);
}

#define MANY_RINGS 128u
#define PER_RING 200u

static int compare_items(const void *a, const void *b)
{
	const struct merge_item *x = a, *y = b;

	return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? -1 : 1)
					: (x->size > y->size) - (x->size < y->size);
}

/* The same as a sort of everything, for as many rings as a large machine has. */
static void many_rings(void **state)
{
	struct merge_item *all = calloc(MANY_RINGS * PER_RING, sizeof(*all));
	struct merge *m = merge_new(MANY_RINGS);
	unsigned ring;

	(void)state;
	seed = 42;
	for (unsigned i = 0; i < PER_RING; i++)
		for (unsigned r = 0; r < MANY_RINGS; r++) {
			struct merge_item *item = &all[i * MANY_RINGS + r];

			*item = (struct merge_item){ .time_ns = i * 50 + rnd() % 80, .size = r, .position = i };
			assert_int_equal(merge_add(m, r, item), 0);
		}
	for (unsigned r = 0; r < MANY_RINGS; r++) {
		assert_null(merge_next(m, &ring));
		merge_set_watermark(m, r, UINT64_MAX);
	}
	qsort(all, MANY_RINGS * PER_RING, sizeof(*all), compare_items);
	for (size_t i = 0; i < MANY_RINGS * PER_RING; i++) {
		const struct merge_item *item = merge_next(m, &ring);

		assert_non_null(item);
		assert_int_equal(item->time_ns, all[i].time_ns);
		assert_int_equal(ring, all[i].size);
	}
	assert_null(merge_next(m, &ring));
	merge_free(m);
	free(all);
}

UNIT_TESTS(merge)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_passes_a_seal),
		cmocka_unit_test(seals_of_the_end_let_everything_out),
		cmocka_unit_test(oldest_of_what_is_held),
		cmocka_unit_test(equal_times),
		cmocka_unit_test(rings_that_come_and_go),
		cmocka_unit_test(losses),
		cmocka_unit_test(many_rings),
		cmocka_unit_test(random_producers),
	};

	return unit_run(tests, NULL, NULL);
}

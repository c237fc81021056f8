/* SPDX-License-Identifier: MIT */
/* What lay at an address at a moment, when places come, go, overlap, and when news of them come late. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sym/history.h"
#include "unit.h"

static struct history h;
static struct sym_file files[8];

static int clean(void **state)
{
	(void)state;
	history_done(&h);
	h = (struct history){ 0 };
	return 0;
}

static void add(uint64_t start, uint64_t end, unsigned file, uint64_t from)
{
	struct place p = {
		.start = start, .end = end, .offset = start, .from = from, .to = UINT64_MAX, .file = &files[file]
	};

	assert_int_equal(history_add(&h, &p), 0);
}

/* The number of the file, -1: nothing. Every place's offset is its address here. */
static int at(uint64_t addr, uint64_t time)
{
	const struct place *p = history_at(&h, addr, time);

	if (!p)
		return -1;
	assert_true(addr >= p->start && addr < p->end);
	assert_int_equal(p->offset, p->start);
	return (int)(p->file - files);
}

static void addresses_have_owners_by_time(void **state)
{
	(void)state;
	add(100, 200, 1, 10);
	add(100, 200, 2, 20);
	assert_int_equal(history_remove(&h, 100, 200, 30), 0);
	add(100, 200, 3, 40);
	assert_int_equal(at(150, 9), -1);
	assert_int_equal(at(150, 10), 1);
	assert_int_equal(at(150, 19), 1);
	assert_int_equal(at(150, 20), 2);
	assert_int_equal(at(199, 29), 2);
	assert_int_equal(at(150, 30), -1);
	assert_int_equal(at(150, 40), 3);
	assert_int_equal(at(150, UINT64_MAX), 3);
	assert_int_equal(at(99, 40), -1);
	assert_int_equal(at(200, 40), -1);
}

static void what_is_cut_stays_on_both_sides(void **state)
{
	(void)state;
	add(100, 400, 1, 1);
	add(200, 300, 2, 5);
	assert_int_equal(h.now.n, 3);
	assert_int_equal(at(150, 6), 1);
	assert_int_equal(at(250, 6), 2);
	assert_int_equal(at(350, 6), 1);
	assert_int_equal(at(250, 4), 1);
	add(0, 1000, 3, 7);
	assert_int_equal(h.now.n, 1);
	assert_int_equal(at(250, 4), 1);
	assert_int_equal(at(250, 6), 2);
	assert_int_equal(at(350, 6), 1);
	assert_int_equal(at(350, 7), 3);
	assert_true(history_contradicts(&h, &(struct place){ .start = 999, .end = 1001, .file = &files[1] }));
	assert_true(history_contradicts(&h, &(struct place){ .start = 999, .end = 1001, .file = &files[3] }));
	assert_false(history_contradicts(&h, &(struct place){ .start = 9, .end = 11, .offset = 9, .file = &files[3] }));
	assert_false(history_contradicts(&h, &(struct place){ .start = 1000, .end = 1001, .file = &files[1] }));
}

static void late_news_do_not_take_what_came_after(void **state)
{
	(void)state;
	add(100, 200, 2, 50);
	add(100, 200, 1, 40);
	assert_int_equal(at(150, 45), 1);
	assert_int_equal(at(150, 50), 2);
	assert_int_equal(at(150, 39), -1);
	add(100, 200, 2, 30); /* the same: it was there before already */
	assert_int_equal(at(150, 60), 2);
}

static void a_child_has_what_its_parent_had(void **state)
{
	struct history child = { 0 };

	(void)state;
	add(100, 200, 1, 1);
	add(300, 400, 2, 1);
	add(100, 200, 3, 10);
	add(500, 600, 4, 10);
	assert_int_equal(history_copy(&child, &h, 5), 0);
	assert_ptr_equal(history_at(&child, 150, 20)->file, &files[1]);
	assert_ptr_equal(history_at(&child, 350, 20)->file, &files[2]);
	assert_null(history_at(&child, 550, 20));
	history_done(&child);
}

/* Against a table of every address at every time. */
static void random_histories_agree_with_a_table(void **state)
{
	enum { ADDRESSES = 64, TIMES = 200 };
	static int8_t table[TIMES + 1][ADDRESSES];

	(void)state;
	srand(7);
	for (int round = 0; round < 50; round++) {
		memset(table, -1, sizeof(table));
		for (int t = 1; t <= TIMES; t++) {
			unsigned start = (unsigned)rand() % ADDRESSES, end = start + 1 + (unsigned)rand() % 16;
			unsigned file = (unsigned)rand() % 8;

			end = end > ADDRESSES ? ADDRESSES : end;
			memcpy(table[t], table[t - 1], ADDRESSES);
			if (rand() % 4 == 0) {
				assert_int_equal(history_remove(&h, start, end, (uint64_t)t), 0);
				memset(table[t] + start, -1, end - start);
			} else {
				add(start, end, file, (uint64_t)t);
				memset(table[t] + start, (int)file, end - start);
			}
		}
		for (unsigned t = 0; t <= TIMES; t++)
			for (unsigned a = 0; a < ADDRESSES; a++)
				assert_int_equal(at(a, t), table[t][a]);
		clean(NULL);
	}
}

UNIT_TESTS(history)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(addresses_have_owners_by_time, clean),
		cmocka_unit_test_teardown(what_is_cut_stays_on_both_sides, clean),
		cmocka_unit_test_teardown(late_news_do_not_take_what_came_after, clean),
		cmocka_unit_test_teardown(a_child_has_what_its_parent_had, clean),
		cmocka_unit_test_teardown(random_histories_agree_with_a_table, clean),
	};

	return unit_run(tests, NULL, NULL);
}

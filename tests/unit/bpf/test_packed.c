/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of packed counters in every order of several CPUs' steps. A step is an atomic operation of bpf/packed.h,
 * or a reading of the clock; each CPU is a coroutine that stops before each of its own.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "unit.h"

static uint64_t step_add(uint64_t *at, uint64_t value);
static uint64_t step_load(const uint64_t *at);

#define PACKED_ADD(counter, value) ((void)step_add((counter), (value)))
#define PACKED_FETCH_ADD(counter, value) step_add((counter), (value))
#define PACKED_LOAD(counter) step_load(counter)
#include "bpf/packed.h"

#define CPUS_MAX 3
#define STEPS_MAX 32
#define STACK_BYTES 65536
#define START 1000 /* units */

static struct cpu {
	ucontext_t context;
	void (*run)(void);
	bool ended;
	int64_t now; /* units: what its operation uses */
	char *stack;
} cpus[CPUS_MAX];

static unsigned ncpus, running;
static ucontext_t scheduler;
static uint64_t counter;
static int64_t clock_units;

/* What the steps so far come to. */
static struct {
	int64_t count;
	int64_t units; /* of the sum, once the second steps that are still to come have been made */
	int64_t pending; /* by those */
} right;

static uint64_t packed_units(int64_t units) { return (uint64_t)units << UT_WORD_COUNT_BITS; }
static int64_t sum_of(uint64_t value) { return (int64_t)value >> UT_WORD_COUNT_BITS; }

static void next_step(void) { swapcontext(&cpus[running].context, &scheduler); }

/* The steps of a counter of none, told by what they add: 1 or -1, then a time. */
static void note_any(uint64_t value)
{
	int64_t step = (int64_t)value;

	if (step == 1 || step == -1) {
		int64_t units = right.count == (step < 0) ? step * cpus[running].now : 0;

		right.count += step;
		right.units += units;
		right.pending += units;
	} else if (!PACKED_COUNT(value)) {
		right.pending -= sum_of(value);
	}
}

static uint64_t step_add(uint64_t *at, uint64_t value)
{
	uint64_t before;

	next_step();
	before = *at;
	*at += value;
	note_any(value);
	return before;
}

static uint64_t step_load(const uint64_t *at)
{
	next_step();
	return *at;
}

/* As programs read it: a step of its own, before what they add. */
static uint64_t read_clock(void)
{
	next_step();
	cpus[running].now = ++clock_units;
	return packed_units(clock_units);
}

static void enter_cpu(void)
{
	struct cpu *c = &cpus[running];

	c->run();
	c->ended = true;
	next_step();
}

/* Until it stops before its first step. */
static void start(unsigned cpu, void (*run)(void))
{
	struct cpu *c = &cpus[cpu];

	if (!c->stack)
		c->stack = malloc(STACK_BYTES);
	assert_non_null(c->stack);
	c->run = run;
	c->ended = false;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK_BYTES;
	c->context.uc_link = NULL;
	makecontext(&c->context, enter_cpu, 0);
	running = cpu;
	swapcontext(&scheduler, &c->context);
}

static unsigned runnable(unsigned ret[CPUS_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < ncpus; i++)
		if (!cpus[i].ended)
			ret[n++] = i;
	return n;
}

/* Runs @runs on @n CPUs in every order, with @first in the counter: @each after every step. How many orders there were. */
static unsigned every_order(void (*const *runs)(void), unsigned n, uint64_t first, void (*each)(void),
			    void (*end)(void))
{
	unsigned choice[STEPS_MAX] = { 0 }, of[STEPS_MAX], which[CPUS_MAX], depth, orders = 0, k;

	ncpus = n;
	do {
		counter = first;
		clock_units = START;
		memset(&right, 0, sizeof(right));
		right.count = (int64_t)PACKED_COUNT(first);
		right.units = sum_of(first);
		for (unsigned i = 0; i < n; i++)
			start(i, runs[i]);
		for (depth = 0; (k = runnable(which)); depth++) {
			assert_true(depth < STEPS_MAX);
			of[depth] = k;
			running = which[choice[depth]];
			swapcontext(&scheduler, &cpus[running].context);
			if (each)
				each();
		}
		end();
		orders++;
		while (depth > 0 && choice[depth - 1] + 1 == of[depth - 1])
			choice[--depth] = 0;
		if (depth > 0)
			choice[depth - 1]++;
	} while (depth > 0);
	for (unsigned i = 0; i < n; i++) {
		free(cpus[i].stack);
		cpus[i].stack = NULL;
	}
	return orders;
}

/* --- the time of all --------------------------------------------------------------------------------------- */

static void run_once(void)
{
	packed_enter(&counter, read_clock());
	right.count++;
	right.units -= cpus[running].now;
	packed_leave(&counter, read_clock());
	right.count--;
	right.units += cpus[running].now;
}

static void run_twice(void)
{
	run_once();
	run_once();
}

/* One load has both: at no moment is there a count without its sum. */
static void all_is_right(void)
{
	assert_int_equal(PACKED_COUNT(counter), right.count);
	assert_int_equal(sum_of(counter), right.units);
	assert_true(right.units + right.count * clock_units >= 0);
}

static void all_ended(void)
{
	assert_int_equal(PACKED_COUNT(counter), 0);
	assert_true(sum_of(counter) >= ncpus);
}

static void the_time_of_all(void **state)
{
	void (*const three[])(void) = { run_once, run_once, run_once };
	void (*const two[])(void) = { run_twice, run_twice };

	(void)state;
	assert_int_equal(every_order(three, 3, 0, all_is_right, all_ended), 34650);
	assert_int_equal(every_order(two, 2, 0, all_is_right, all_ended), 12870);
}

/* --- the time of none -------------------------------------------------------------------------------------- */

/* Numbers with a time in the place of each: the clock read some time before the first step. */
static int64_t fixed_now[CPUS_MAX][2];

static void any_at_fixed_times(void)
{
	cpus[running].now = fixed_now[running][0];
	packed_enter_any(&counter, packed_units(cpus[running].now));
	cpus[running].now = fixed_now[running][1];
	packed_leave_any(&counter, packed_units(cpus[running].now));
}

static void any_by_the_clock(void)
{
	packed_enter_any(&counter, read_clock());
	packed_leave_any(&counter, read_clock());
}

/*
 * The sum is that of the times at which the first came and the last went, in the order of the first steps, whatever the
 * order of the second ones. Until those are made it is wrong by what they are going to add.
 */
static void any_is_right(void)
{
	assert_int_equal(PACKED_COUNT(counter), right.count);
	assert_int_equal(sum_of(counter), right.units - right.pending);
}

static void any_ended(void)
{
	any_is_right();
	assert_int_equal(right.count, 0);
	assert_int_equal(right.pending, 0);
}

static void the_time_of_none(void **state)
{
	static const int64_t times[][CPUS_MAX][2] = {
		{ { 1001, 1002 }, { 1003, 1004 }, { 1005, 1006 } }, /* one after the other */
		{ { 1001, 1006 }, { 1002, 1005 }, { 1003, 1004 } }, /* one within the other */
		{ { 1001, 1004 }, { 1002, 1005 }, { 1003, 1006 } }, /* each over the next */
	};
	void (*const fixed[])(void) = { any_at_fixed_times, any_at_fixed_times, any_at_fixed_times };
	void (*const clocked[])(void) = { any_by_the_clock, any_by_the_clock };
	uint64_t nobody = -packed_units(START);

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		memcpy(fixed_now, times[i], sizeof(fixed_now));
		assert_true(every_order(fixed, 3, nobody, any_is_right, any_ended) >= 90);
	}
	assert_true(every_order(clocked, 2, nobody, any_is_right, any_ended) >= 70);
}

/* --- nobody waits any more --------------------------------------------------------------------------------- */

/* One waits since the start. The stop ends, while that one comes back or another begins to wait. */
static int64_t cleared_at, came_back_at, began_at;

static void clear_all(void)
{
	cleared_at = ++clock_units;
	packed_clear(&counter, packed_units(cleared_at));
}

static void come_back(void)
{
	came_back_at = ++clock_units;
	packed_leave_cleared(&counter, packed_units(came_back_at));
}

static void begin_to_wait(void)
{
	began_at = ++clock_units;
	packed_enter(&counter, packed_units(began_at));
}

/* Subtracted once, by either. */
static void one_is_subtracted(void)
{
	int64_t sum = sum_of(counter);

	assert_int_equal(PACKED_COUNT(counter), 0);
	assert_true(sum == cleared_at - START || sum == came_back_at - START);
}

/* The other is subtracted too, or came after that and waits on: its time is there as its number is. */
static void other_fits_its_count(void)
{
	int64_t other = sum_of(counter) - (cleared_at - START);

	if (PACKED_COUNT(counter)) {
		assert_int_equal(PACKED_COUNT(counter), 1);
		assert_int_equal(other, -began_at);
	} else {
		assert_int_equal(other, cleared_at - began_at);
	}
}

static void who_waits_is_cleared(void **state)
{
	void (*const back[])(void) = { clear_all, come_back };
	void (*const beside[])(void) = { clear_all, begin_to_wait };
	uint64_t one = 1 - packed_units(START);

	(void)state;
	assert_true(every_order(back, 2, one, NULL, one_is_subtracted) >= 3);
	assert_int_equal(every_order(beside, 2, one, NULL, other_fits_its_count), 3);
}

UNIT_TESTS(packed)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_all),
		cmocka_unit_test(the_time_of_none),
		cmocka_unit_test(who_waits_is_cleared),
	};

	return unit_run(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Random sampling rates: their bounds, their mean, and that no periodic program is in lockstep with them. The timer of the
 * kernel and the recorder's loop are simulated. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/auto.h"
#include "sample/period.h"
#include "unit.h"

#define MS 1e6
#define LOOP_NS (2 * MS) /* the recorder sleeps so long, */
#define SLACK_NS (0.1 * MS) /* and up to so much longer: timers and what it does between */
#define SHARE 0.3 /* of the program's period: the function that is looked for */

static const uint32_t frequencies[] = { 499, 999, 1999, 4999 };

static void test_bounds(void **state)
{
	const struct {
		uint32_t frequency_hz, limit_hz;
		double spread;
	} cases[] = {
		{ 999, 0, 0.4 },      { 999, 100000, 0.4 }, { 1000, 1200, 0.2 },
		{ 1000, 1000, 0.05 }, { 1, 0, 0.4 },	    { 5000, 1000, 0.05 }, /* the kernel has lowered its limit */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double f = cases[i].frequency_hz, unit = f < 1000 ? 1e9 / f : MS, least = f, most = f;
		struct sampling_period p;

		period_init(&p, cases[i].frequency_hz, cases[i].limit_hz, i);
		for (int k = 0; k < 1000; k++) {
			uint64_t hold_ns;
			double rate = period_draw(&p, &hold_ns), drawn = rate - 0.5e9 / (double)hold_ns;

			assert_true((double)hold_ns >= 10 * unit - 1 && (double)hold_ns <= 30 * unit);
			assert_true(fabs(drawn - f) <= cases[i].spread * f * 1.0001);
			least = drawn < least ? drawn : least;
			most = drawn > most ? drawn : most;
		}
		assert_true(most > f * (1 + cases[i].spread * 0.98) && least < f * (1 - cases[i].spread * 0.98));
	}
}

/* In pairs the mean is the frequency. */
static void test_pairs(void **state)
{
	struct sampling_period p;

	(void)state;
	period_init(&p, 999, 0, 1);
	for (int i = 0; i < 1000; i++) {
		uint64_t a_ns, b_ns;
		double a = period_draw(&p, &a_ns), b = period_draw(&p, &b_ns);

		assert_int_equal(a_ns, b_ns);
		assert_true(fabs(a + b - 2 * 999 - 1e9 / (double)a_ns) < 1e-6);
	}
}

struct seen {
	double samples, in, time_ns, time_in_ns; /* in: while the function ran; times are weights */
};

static double next_loop(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return LOOP_NS + SLACK_NS * (double)(*random >> 40) / (1 << 24);
}

/* @program_ns: its period; the function runs in the first SHARE of it. @fixed: a clock that does not vary. */
static struct seen simulate(uint32_t frequency_hz, double program_ns, double until_ns, uint64_t seed, int fixed)
{
	struct sampling_period p;
	struct seen s = { 0 };
	double period_ns = 1e9 / frequency_hz, last_ns = 0, next_ns, loop_ns = 0, change_ns = 0;
	uint64_t hold_ns, random = seed;

	period_init(&p, frequency_hz, 100000, seed);
	if (!fixed) {
		period_ns = 1e9 / period_draw(&p, &hold_ns);
		change_ns = (double)hold_ns;
	}
	for (next_ns = period_ns; next_ns < until_ns; next_ns += period_ns) {
		for (; !fixed && loop_ns < next_ns; loop_ns += next_loop(&random)) {
			if (loop_ns < change_ns)
				continue;
			period_ns = 1e9 / period_draw(&p, &hold_ns);
			change_ns = loop_ns + (double)hold_ns;
			next_ns = loop_ns + period_ns; /* the kernel starts its timer anew */
		}
		s.samples++;
		s.time_ns += next_ns - last_ns;
		if (fmod(next_ns, program_ns) < SHARE * program_ns) {
			s.in++;
			s.time_in_ns += next_ns - last_ns;
		}
		last_ns = next_ns;
	}
	return s;
}

static void test_average(void **state)
{
	static const uint32_t more[] = { 1, 49, 499, 999, 4999, 20000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		double seconds = more[i] < 100 ? 1000 : 20, per_second;

		per_second = simulate(more[i], MS, seconds * 1e9, i, 0).samples / seconds;
		if (fabs(per_second / more[i] - 1) > 0.01)
			fail_msg("%.1f samples a second instead of %u", per_second, more[i]);
	}
}

/* Deviations of 40 program periods from 0.2 to 20 ms at each frequency, in standard errors of random sampling. */
static void deviations(int fixed, int by_time, unsigned *ret_over_3, unsigned *ret_over_4_5)
{
	*ret_over_3 = *ret_over_4_5 = 0;
	for (size_t f = 0; f < ARRAY_SIZE(frequencies); f++) {
		for (int k = 0; k < 40; k++) {
			double program_ns = 0.2 * MS * pow(100, k / 39.0), got, error;
			struct seen s = simulate(frequencies[f], program_ns, 5000 / (double)frequencies[f] * 1e9,
						 f * 40 + (unsigned)k, fixed);

			got = by_time ? s.time_in_ns / s.time_ns : s.in / s.samples;
			error = fabs(got - SHARE) / sqrt(SHARE * (1 - SHARE) / s.samples);
			*ret_over_3 += error > 3;
			*ret_over_4_5 += error > 4.5;
		}
	}
}

static void test_no_lockstep(void **state)
{
	unsigned over_3, over_4_5;

	(void)state;
	for (int by_time = 0; by_time < 2; by_time++) {
		deviations(0, by_time, &over_3, &over_4_5);
		if (over_3 > 3 || over_4_5)
			fail_msg("of 160 %u are off by more than 3 standard errors, %u by more than 4.5", over_3,
				 over_4_5);
	}
}

/* The periods that a clock of 999 Hz that does not vary is in lockstep with. */
static void test_near_the_period(void **state)
{
	static const double program_ms[] = { 0.5, 0.5005, 1, 1.001, 1.001001, 2, 2.002, 3.003 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(program_ms); i++) {
		struct seen s = simulate(999, program_ms[i] * MS, 10e9, i, 0);
		double bound = 3 * sqrt(SHARE * (1 - SHARE) / s.samples);

		assert_true(fabs(s.in / s.samples - SHARE) < bound);
		assert_true(fabs(s.time_in_ns / s.time_ns - SHARE) < bound);
	}
	assert_true(simulate(999, 1.001 * MS, 5e9, 0, 1).in > 4900); /* a clock that does not vary sees nothing else */
}

UNIT_TESTS(period)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_average),		cmocka_unit_test(test_no_lockstep),
		cmocka_unit_test(test_near_the_period),
	};

	return unit_run(tests, NULL, NULL);
}

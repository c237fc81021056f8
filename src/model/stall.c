/* SPDX-License-Identifier: MIT */
/* The arithmetic of packed counters: what two states of a process tell about the time between them. */
#include "model/stall.h"

#include "base/sum.h"
#include "wire/record.h"

#define SUM_BITS (64 - UT_WORD_COUNT_BITS)
#define COUNT_MASK ((UINT64_C(1) << UT_WORD_COUNT_BITS) - 1)
#define MOST_CPUS 8192 /* of any Linux */

/* The most time between an event's time stamp and the reading of its packed counters. */
#define MOMENT ((int64_t)(UINT64_C(4000) >> UT_WORD_UNIT_SHIFT))
/* The usual error of counters that are read between two steps of another CPU, and the largest, when that CPU is stopped there. */
#define USUAL_SLACK ((int64_t)(UINT64_C(50000) >> UT_WORD_UNIT_SHIFT))
#define MOST_SLACK ((int64_t)(UINT64_C(20000000) >> UT_WORD_UNIT_SHIFT))

static uint64_t units_of(uint64_t base_ns, uint64_t ns)
{
	return ns > base_ns ? (ns - base_ns) >> UT_WORD_UNIT_SHIFT : 0;
}

static int64_t signed_sum(uint64_t units) { return (int64_t)(units << UT_WORD_COUNT_BITS) >> UT_WORD_COUNT_BITS; }
static int64_t sum_of(uint64_t word) { return (int64_t)word >> UT_WORD_COUNT_BITS; }
static uint64_t ns_of(int64_t units) { return units > 0 ? (uint64_t)units << UT_WORD_UNIT_SHIFT : 0; }

/* Modulo 2^SUM_BITS, as the sum itself: it wraps with many threads over many days, and differences stay right. */
static uint64_t word_units(uint64_t word, uint64_t now) { return (uint64_t)sum_of(word) + (word & COUNT_MASK) * now; }

uint64_t stall_word_ns(uint64_t word, uint64_t base_ns, uint64_t ns)
{
	return ns_of(signed_sum(word_units(word, units_of(base_ns, ns))));
}

/*
 * When one CPU has reported that the count left 0 before another reported that it had come to 0, the sum is a whole «now»
 * too large; when two CPUs report late that it is 0 again, the sum is one «now» too small.
 */
static int64_t zero_units(uint64_t word, int64_t now)
{
	int64_t sum = sum_of(word);

	if (!now)
		return 0;
	if (sum < 0 || !word) /* a word of 0 has been 0 since the base */
		sum += now;
	if (sum >= -MOMENT && sum < 0) /* reported a moment after this time */
		return 0;
	if (sum < 0)
		sum += now * ((now - 1 - sum) / now);
	else if (sum > now)
		sum -= now * ((sum - 1) / now);
	return sum;
}

uint64_t stall_zero_ns(uint64_t word, uint64_t base_ns, uint64_t ns)
{
	return ns_of(zero_units(word, (int64_t)units_of(base_ns, ns)));
}

/* In units of the counters. */
struct interval {
	int64_t from, to;
};

static int64_t distance_outside(int64_t value, int64_t most)
{
	return value < 0 ? -value : value > most ? value - most : 0;
}

/*
 * How long a count was 0. One state alone may not distinguish reports in the wrong order from a process that never or always
 * ran; with both states, the interpretation that fits best between them is taken. False: none fits.
 */
static bool zero_time_between(uint64_t from, uint64_t to, const struct interval *at, uint64_t *ret_ns)
{
	int64_t span = at->to - at->from, best = zero_units(to, at->to) - zero_units(from, at->from);
	const int64_t other[] = { best - at->to, best + at->to, best - at->from, best + at->from };

	for (unsigned i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (distance_outside(other[i], span) + USUAL_SLACK < distance_outside(best, span))
			best = other[i];
	*ret_ns = ns_of(best < span ? best : span);
	return distance_outside(best, span) <= MOST_SLACK;
}

/* Thread time, added up. False: the counters cannot come from one measurement. */
static bool thread_time_between(uint64_t from, uint64_t to, const struct interval *at, int64_t most_threads,
				uint64_t *ret_ns)
{
	int64_t units = signed_sum(word_units(to, (uint64_t)at->to) - word_units(from, (uint64_t)at->from));
	int64_t most;

	if (__builtin_mul_overflow(at->to - at->from, most_threads, &most))
		most = INT64_MAX;
	*ret_ns = ns_of(units < most ? units : most);
	return distance_outside(units, most) <= MOST_SLACK;
}

struct stall stall_between(const struct ut_rec_state *from, uint64_t from_ns, const struct ut_rec_state *to,
			   uint64_t to_ns, uint64_t base_ns)
{
	struct stall s = { 0 };
	struct interval at;
	uint64_t none_ns, free_ns, span_ns;

	if (!from || !to || from->known != 1 || to->known != 1 || to_ns < from_ns || from_ns < base_ns)
		return s;
	at = (struct interval){ (int64_t)units_of(base_ns, from_ns), (int64_t)units_of(base_ns, to_ns) };
	s.known = zero_time_between(from->none_runs, to->none_runs, &at, &none_ns) &&
		  zero_time_between(from->held, to->held, &at, &free_ns) &&
		  thread_time_between(from->program, to->program, &at, MOST_CPUS, &s.program_ns) &&
		  thread_time_between(from->collector, to->collector, &at, MOST_CPUS, &s.collector_ns) &&
		  thread_time_between(from->waiting, to->waiting, &at, COUNT_MASK, &s.waited_ns);
	if (!s.known)
		return (struct stall){ 0 };
	span_ns = to_ns - from_ns;
	s.held_ns = span_ns - least_u64(free_ns, span_ns);
	if (s.held_ns < 2u << UT_WORD_UNIT_SHIFT) /* nothing but rounding */
		s.held_ns = 0;
	none_ns = least_u64(none_ns, span_ns);
	s.stopped_ns = none_ns - least_u64(none_ns, s.held_ns);
	return s;
}

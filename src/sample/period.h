/* SPDX-License-Identifier: MIT */
/*
 * The sampling rate of one CPU over time. It varies at random, so that no program runs in lockstep with it: a program
 * that does the same every millisecond would otherwise be sampled at the same point of its loop for seconds. Pure.
 */
#ifndef UT_SAMPLE_PERIOD_H
#define UT_SAMPLE_PERIOD_H

#include <stdint.h>

struct sampling_period {
	double frequency_hz, spread; /* rates lie in frequency_hz * (1 ± spread) */
	uint64_t random; /* state of the generator */
	double offset; /* of the last rate, as a share of the frequency */
	uint64_t hold_ns; /* how long that one holds */
	uint8_t mirrored; /* the last rate was the second of a pair */
};

/* Nothing is drawn yet. @limit_hz: the kernel takes no more samples a second; 0: no limit is known. */
void period_init(struct sampling_period *p, uint32_t frequency_hz, uint32_t limit_hz, uint64_t seed);

/*
 * Draws the next rate, in samples a second, and for how long it shall hold. Rates come in pairs, each as far above the
 * frequency as the other is below, for the same time: the average stays what was asked for in any second. Setting a rate
 * starts the CPU's timer anew, which loses half a period on average; the rate makes up for that.
 */
double period_draw(struct sampling_period *p, uint64_t *ret_hold_ns);

#endif

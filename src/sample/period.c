/* SPDX-License-Identifier: MIT */
/* Random rates whose mean is the frequency. */
#include "sample/period.h"

#define SPREAD 0.4 /* wide enough that some twenty samples of one rate pass through all phases of any program */
#define SPREAD_LEAST 0.05 /* at the kernel's limit: what is above it is throttled, but nothing runs in lockstep */
#define HOLD_NS 1000000u /* of 10 to 30 such units, or of as many periods when those are longer */

/* splitmix64 */
static uint64_t next_random(struct sampling_period *p)
{
	uint64_t x = p->random += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* From 0 to below 1. */
static double next_share(struct sampling_period *p) { return (double)(next_random(p) >> 11) / 9007199254740992.0; }

void period_init(struct sampling_period *p, uint32_t frequency_hz, uint32_t limit_hz, uint64_t seed)
{
	double room = limit_hz ? (double)limit_hz / frequency_hz - 1 : SPREAD;

	*p = (struct sampling_period){
		.frequency_hz = frequency_hz,
		.spread = room > SPREAD		? SPREAD
			  : room < SPREAD_LEAST ? SPREAD_LEAST
						: room,
		.random = seed,
		.mirrored = 1,
	};
}

double period_draw(struct sampling_period *p, uint64_t *ret_hold_ns)
{
	double period_ns = 1e9 / p->frequency_hz, unit = period_ns > HOLD_NS ? period_ns : HOLD_NS;

	if (p->mirrored) {
		p->offset = p->spread * (2 * next_share(p) - 1);
		p->hold_ns = (uint64_t)(unit * (10 + 20 * next_share(p)));
	} else {
		p->offset = -p->offset;
	}
	p->mirrored = !p->mirrored;
	*ret_hold_ns = p->hold_ns;
	return p->frequency_hz * (1 + p->offset) + 0.5e9 / (double)p->hold_ns;
}

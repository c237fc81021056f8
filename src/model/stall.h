/* SPDX-License-Identifier: MIT */
/*
 * What happened between two states of a process (wire/record.h). Pure.
 *
 * A packed counter holds a count (low UT_WORD_COUNT_BITS bits) and a sum of times (the rest, signed, in units of
 * 1 << UT_WORD_UNIT_SHIFT ns since the session's base). A thread that begins to run adds 1 and subtracts the time; one
 * that stops subtracts 1 and adds the time. So sum + count * now is the time that all threads have run, whatever the order
 * in which the CPUs added. The counters none_runs and held add the time when the count leaves 0 and subtract it when it
 * comes to 0: a negative sum means that the count is 0, and sum + now is the time it has been 0.
 */
#ifndef UT_MODEL_STALL_H
#define UT_MODEL_STALL_H

#include <stdbool.h>
#include <stdint.h>

struct ut_rec_state;

struct stall {
	bool known; /* the process was measured from before the first state on */
	uint64_t stopped_ns; /* no thread of the program ran; without held_ns; at most the span */
	uint64_t program_ns; /* the program's threads ran, added up */
	uint64_t collector_ns; /* the collector's threads ran */
	uint64_t waited_ns; /* the program's threads waited for it, added up */
	uint64_t held_ns; /* a signal or a debugger suspended the process */
};

/* Time that the threads of a counter (program, collector, waiting) spent from the base until @ns. */
uint64_t stall_word_ns(uint64_t word, uint64_t base_ns, uint64_t ns);
/* Time that the count of a counter (none_runs, held) was 0. */
uint64_t stall_zero_ns(uint64_t word, uint64_t base_ns, uint64_t ns);
/* Between the state @from at @from_ns and @to at @to_ns; never more than the time between them (times the threads). */
struct stall stall_between(const struct ut_rec_state *from, uint64_t from_ns, const struct ut_rec_state *to,
			   uint64_t to_ns, uint64_t base_ns);

#endif

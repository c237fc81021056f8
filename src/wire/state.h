/* SPDX-License-Identifier: MIT */
/*
 * The tables in which the kernel's side keeps how processes stand (src/bpf/state.h): values of BPF maps that the
 * recorder fills and clears too. Packed counters and unit times are those of struct ut_rec_state.
 */
#ifndef UT_WIRE_STATE_H
#define UT_WIRE_STATE_H

#include "wire/record.h"

/* As what a thread counts: a service thread as nothing. */
enum ut_role { UT_ROLE_SERVICE = 0, UT_ROLE_PROGRAM = 1, UT_ROLE_COLLECTOR = 2 };

/* What a probe of a span does. */
enum ut_span_step {
	UT_SPAN_SEE = 0, /* asks for the state of the process */
	UT_SPAN_STOP = 1, /* begins what stops the program */
	UT_SPAN_GO = 2, /* ends it */
};

/* By process id. */
struct ut_process_state {
	uint64_t none_runs, program, collector, waiting, held; /* packed counters */
	uint64_t open; /* spans that stop the program and are open */
	/* Changes whenever open leaves 0 or comes back to it: what threads remember of other epochs is void. */
	uint64_t epoch;
	uint64_t since; /* unit time: measured since then; 0: since before anything could be missed */
};
UT_ASSERT(sizeof(struct ut_process_state) == 64, "table layout");

/* By thread id. */
struct ut_thread_state {
	uint32_t process;
	uint32_t role; /* enum ut_role, by its name */
	uint64_t waits; /* the epoch in which it waits; 0: none */
	uint64_t collects; /* how many stops it has begun */
	uint64_t collects_in; /* the epoch that holds for */
	uint64_t stack; /* its stack pointer when it began the first of them, where that was a function's entry */
	uint64_t held; /* 1: a signal or a debugger stopped it */
};
UT_ASSERT(sizeof(struct ut_thread_state) == 48, "table layout");

/* By CPU: which thread runs there, and as what it was counted; thread 0: none of a measured process, and role 0. */
struct ut_current_thread {
	union {
		struct {
			uint32_t process, thread;
		};
		uint64_t both; /* changed atomically, except by the scheduler */
	};
	uint64_t role;
};
UT_ASSERT(sizeof(struct ut_current_thread) == 16, "table layout");

#define UT_COMM 16
/* The key of names; the value is an enum ut_role. Of a whole name all UT_COMM bytes count, with its NULs. */
struct ut_thread_name {
	uint32_t bits; /* of process and comm that count */
	uint32_t process;
	char comm[UT_COMM];
};

#endif

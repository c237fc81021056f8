/* SPDX-License-Identifier: MIT */
/*
 * How long a program stands still, counted in the kernel: programs on the scheduler's events keep for each measured
 * process the words of wire/record.h, and the programs of spans' begins and ends copy them into their records. Pure.
 *
 * Nothing here takes a lock: every word is changed by additions, whose order does not matter. What a thread added when it
 * began to run on a processor is remembered in that processor's slot, and taken back from there: a thread that was
 * running before anybody looked is not counted until it runs again.
 */
#ifndef UT_GEN_GEN_STATE_H
#define UT_GEN_GEN_STATE_H

#include "gen/gen.h"
#include "wire/record.h"

enum gen_role { GEN_ROLE_PROGRAM, GEN_ROLE_COLLECTOR, GEN_ROLE_SERVICE };

/* Value of GEN_MAP_PROCESSES. Words and times as in wire/record.h. */
struct gen_process {
	uint64_t none_runs, program, collector, waiting, held;
	uint64_t open; /* spans that stop the program and are open */
	/* changes whenever open leaves 0 or comes to it: what threads remember of earlier ones is void */
	uint64_t round;
	uint64_t since; /* unit times: measured since then; 0: since before anything of it could be missed */
};

/* Value of GEN_MAP_THREADS. */
struct gen_thread {
	uint32_t process;
	uint32_t role; /* enum gen_role, by its name */
	uint64_t waits; /* the round in which it waits, 0: none */
	uint64_t collects; /* how many stops it has begun */
	uint64_t collects_in; /* the round that holds for */
	uint64_t stack; /* its stack pointer when it began the first of them, where that was a function's entry */
	uint64_t held; /* 1: a signal or a debugger stopped it */
};

/* Value of GEN_MAP_SLOTS: who runs here, and what it was counted as; thread 0: nobody of interest. */
struct gen_slot {
	uint32_t process, thread;
	uint64_t role;
};

#define GEN_COMM 16
/* Key of GEN_MAP_NAMES; the value is an enum gen_role. Of a whole name all GEN_COMM bytes count, with its NULs. */
struct gen_name {
	uint32_t bits; /* of process and comm that count */
	uint32_t process;
	char comm[GEN_COMM];
};

/* Where the kernel keeps what is asked for; all must be known. */
struct gen_task {
	int tgid, pid, comm;
};

struct gen_state_options {
	struct gen_task task;
	uint64_t base_ns;
};

/* Whole programs for raw tracepoints, appended to @ret: sched_switch, sched_wakeup and _new, task_rename, and
 * sched_process_exec, _exit and _free. */
int gen_state_switch(const struct gen_state_options *o, struct asm_buf *ret);
int gen_state_wakeup(const struct gen_state_options *o, struct asm_buf *ret);
int gen_state_rename(const struct gen_state_options *o, struct asm_buf *ret);
int gen_state_exec(const struct gen_state_options *o, struct asm_buf *ret);
int gen_state_exit(const struct gen_state_options *o, struct asm_buf *ret);
int gen_state_free(const struct gen_state_options *o, struct asm_buf *ret);

/* A process as it is before anything of it ran, measured from @now_ns on. @fresh: threads may be running uncounted. */
struct gen_process gen_process_new(uint64_t base_ns, uint64_t now_ns, bool fresh);
/* How long a fresh process's state is not believed: every thread that runs has been switched by then. */
#define GEN_STATE_DOUBT_NS 64000000u

#endif

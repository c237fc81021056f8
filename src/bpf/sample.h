/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sample.bpf.c and the recorder share: sizes of maps, the programs' options. */
#ifndef UT_BPF_SAMPLE_H
#define UT_BPF_SAMPLE_H

#include "wire/kernel.h"
#include "wire/unwind.h"

/* Rows lie in chunks, chunks in segments, which are made as they are needed: 1 MiB each. */
#define SAMPLE_CHUNK_ROWS 1024u
#define SAMPLE_SEGMENT_CHUNKS 256u
#define SAMPLE_SEGMENTS 90u /* rows of all files together: 90 MiB */
#define SAMPLE_DIRECTORY_MAX 262144u /* pages of 64 KiB: 16 GiB of code */
#define SAMPLE_MAPPINGS_MAX 65536u
#define SAMPLE_PROCESSES_MAX 8192u
#define SAMPLE_STACKS_KNOWN 32768u
#define SAMPLE_AWAY_MAX 65536u /* threads that are not running */
#define SAMPLE_CACHE 1024u /* a power of two */
#define SAMPLE_PERIODS 3u /* since the last sample: beyond that, a clock that halts on idle CPUs was halted */

#define SAMPLE_WINDOW 32u /* words of the stack that are read at once: a power of two */
#define SAMPLE_NEAR (1u << 20) /* from the stack pointer: further away is something else */
#define SAMPLE_RETURNS 128u /* probed returns of a thread that are looked through: the kernel keeps 64 calls */

/* Walks on one processor that can interrupt each other, or be preempted by each other. */
enum sample_context { SAMPLE_CONTEXT_CLOCK, SAMPLE_CONTEXT_SWITCH, SAMPLE_CONTEXT_PROBE, SAMPLE_CONTEXTS };

struct sample_options {
	struct ut_kernel_offsets at;
	uint32_t ncpus; /* possible ones */
	uint32_t self; /* our own process, which is not sampled by `all` */
	uint8_t all; /* every process */
	uint8_t kernel; /* the kernel's part of stacks */
	uint8_t never; /* 0: nobody knows but the verifier */
	uint8_t halts; /* the clock counts cycles, so it halts while a CPU is idle */
	uint8_t reserved[4];
	uint64_t period_ns; /* of the clock, on average */
};

/* The clock's samples of one CPU, shared with the recorder. A cache line. */
struct sample_clock {
	uint64_t last_ns; /* when the last one was taken, whoever ran; at first, since when the clock runs */
	uint64_t taken; /* of processes that are sampled */
	uint64_t reserved[6];
};

struct sample_cached {
	uint64_t pc;
	uint32_t process, stamp, code, reserved;
	struct ut_unwind_rule rule;
};

/* A thread that is not on a processor. */
struct sample_away {
	uint64_t stack, from_ns, runnable_ns; /* as ut_rec_wait has them */
	uint32_t waker, state, process;
	uint32_t reserved;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What signal.bpf.c and the recorder share. */
#ifndef UT_BPF_SIGNAL_H
#define UT_BPF_SIGNAL_H

#include "wire/record.h"

#define SIGNAL_HANDLERS 8u /* a power of two: handlers of a thread that are remembered */
#define SIGNAL_THREADS_MAX 16384u

/* By thread: the signals whose handlers it runs, innermost last. */
struct signal_handlers {
	uint64_t depth, number[SIGNAL_HANDLERS];
};

struct signal_options {
	uint32_t ncpus; /* possible ones */
	uint32_t self; /* our own process */
	uint32_t targets; /* the processes in ut_follow alone; else all but `self` */
	uint32_t number, code, handler; /* offsets in the record of signal:signal_deliver */
	uint32_t begin, end; /* ut_rec_user.what */
	uint32_t wake_bytes; /* wake the reader when a ring holds this much; 0: never */
	uint32_t fair_bytes; /* from here on a process that floods is refused; 0: never */
	uint32_t fair_share; /* what it may still write in each window of time */
};

#endif

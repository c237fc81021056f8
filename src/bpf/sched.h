/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sched.bpf.c and the recorder share: which of its parts run, for whom. */
#ifndef UT_BPF_SCHED_H
#define UT_BPF_SCHED_H

#include "wire/kernel.h"

/* A fresh process's state is not believed for so long: every thread that runs has been switched by then. */
#define SCHED_DOUBT_NS 64000000u

struct sched_options {
	struct ut_kernel_offsets at;
	uint32_t reserved;
	uint64_t base_ns; /* what the times of packed counters count from */
};

#endif

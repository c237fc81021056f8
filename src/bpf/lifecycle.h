/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What lifecycle.bpf.c and the recorder share: which of its parts run, for whom. */
#ifndef UT_BPF_LIFECYCLE_H
#define UT_BPF_LIFECYCLE_H

#include "wire/kernel.h"

#define LIFECYCLE_FOLLOW_MAX 32768u /* processes */
#define LIFECYCLE_CONTROL_BYTES 65536u

struct lifecycle_options {
	struct ut_kernel_offsets at;
	uint64_t base_ns; /* what the times of packed counters count from */
	uint32_t ncpus; /* possible ones */
	uint32_t self; /* our own process */
	uint8_t records; /* forks, execs and exits are sent to the reader */
	uint8_t targets; /* records of the processes in ut_follow alone; else of all but `self` */
	uint8_t children; /* ut_follow grows at forks */
	uint8_t suspend; /* followed processes are suspended at exec and when their dynamic linker has loaded libraries */
	uint8_t group_dead; /* the exit event says whether the thread was its process's last: kernel 6.15 and later */
	uint8_t samples; /* ut_sampled follows execs and exits */
	uint8_t sample_children; /* and forks */
	uint8_t measure; /* how processes stand is kept over execs and exits */
	uint8_t thread_execs; /* execs of second threads are sent to the reader in any case */
	uint8_t reserved[6];
};

#endif

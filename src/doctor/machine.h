/* SPDX-License-Identifier: MIT */
/* Tests which features of this kernel can be used. Results only; kernel.c explains them. */
#ifndef UT_DOCTOR_MACHINE_H
#define UT_DOCTOR_MACHINE_H

#include <stdbool.h>

#include "record/nop5_harm.h"

enum machine_trial {
	/* Loading empty programs. */
	TRY_KPROBE,
	TRY_SLEEPABLE,
	TRY_TRACEPOINT,
	TRY_PERF_EVENT,
	TRY_RAW_TRACEPOINT,
	TRY_TRACING,
	TRY_LSM,
	/* Creating maps. */
	TRY_RING,
	TRY_RING_ARRAY,
	TRY_COUNTERS,
	TRY_STARTS,
	/* A probe on a function of our own, which is then called. -EIO: attached, but it does not behave as expected. */
	TRY_FIRES, /* every call is seen */
	TRY_COOKIE, /* the program gets the cookie of the site */
	TRY_CLOCK, /* its clock is CLOCK_MONOTONIC */
	TRY_SEMAPHORE, /* raised while attached, lowered after */
	TRY_UPROBE_EVENT, /* perf's uprobes: the older way of attaching */
	/* Events of the kernel. */
	TRY_TRACEPOINT_EVENT, /* one of the scheduler's, opened */
	TRY_MAPWATCH, /* all new mappings of the machine */
	/* User events by prctl. */
	TRY_PRCTL, /* the tracepoint of its calls; -EIO: a call was not seen */
	TRY_PRCTL_ALLOWED, /* the call itself, which needs no privileges: on failure, a seccomp filter rejected it */
	MACHINE_TRIES
};

/* Costs of user events in nanoseconds per call; the traced ones with an empty BPF program. */
struct user_costs {
	double prctl_off_ns; /* 0: the call is rejected */
	double prctl_on_ns;
	double other_ns; /* the additional cost of any other system call on the machine while prctl is traced */
	double site_on_ns; /* the header's out-of-line site */
	bool prctl_measured, site_measured; /* the costs of traced events, which need privileges */
};

struct machine {
	int tried[MACHINE_TRIES]; /* 0: success; else a negative errno */
	bool multi; /* many sites with one call */
	bool jited; /* programs become machine code; valid only if TRY_KPROBE succeeds */
	bool btf; /* the kernel describes its types */
	unsigned nop5_harm; /* enum nop5_harm */
	struct user_costs costs;
};

/* Runs all tests; nothing stays attached. Works without privileges: then most results are -EPERM or -EACCES. */
void machine_try(struct machine *ret);

#endif

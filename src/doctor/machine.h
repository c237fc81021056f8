/* SPDX-License-Identifier: MIT */
/* What this kernel lets us do, found out by trying it. Facts only: kernel.c says what they mean. */
#ifndef UT_DOCTOR_MACHINE_H
#define UT_DOCTOR_MACHINE_H

#include <stdbool.h>

#include "record/nop5_harm.h"

enum machine_trial {
	/* Programs that do nothing, loaded. */
	TRY_KPROBE,
	TRY_SLEEPABLE,
	TRY_TRACEPOINT,
	TRY_PERF_EVENT,
	TRY_RAW_TRACEPOINT,
	TRY_TRACING,
	TRY_LSM,
	/* Maps, made. */
	TRY_RING,
	TRY_RING_ARRAY,
	TRY_COUNTERS,
	TRY_STARTS,
	/* A probe on a function of our own, which is called then. -EIO: attached, but not as promised. */
	TRY_FIRES, /* every call is seen */
	TRY_COOKIE, /* the program is told which site it is */
	TRY_CLOCK, /* its time is our CLOCK_MONOTONIC */
	TRY_SEMAPHORE, /* raised while attached, lowered after */
	TRY_UPROBE_EVENT, /* perf's uprobes: the older way of attaching */
	/* Events of the kernel. */
	TRY_TRACEPOINT_EVENT, /* one of the scheduler's, opened */
	TRY_MAPWATCH, /* all new mappings of the machine */
	/* User events by prctl. */
	TRY_PRCTL, /* the tracepoint of its calls; -EIO: a call was not seen */
	TRY_PRCTL_ALLOWED, /* the call itself, which needs no rights: else a seccomp filter refuses it */
	MACHINE_TRIES
};

/* What user events cost here, in nanoseconds a call; traced ones by a program that does nothing. */
struct user_costs {
	double prctl_off_ns; /* 0: the call is refused */
	double prctl_on_ns;
	double other_ns; /* what any other system call of the machine costs more while that lane is traced */
	double site_on_ns; /* the header's out-of-line site */
	bool prctl_measured, site_measured; /* the traced ones, which take rights */
};

struct machine {
	int tried[MACHINE_TRIES]; /* 0: it works; else a negative errno */
	bool multi; /* many sites with one call */
	bool jited; /* programs become machine code; says nothing unless TRY_KPROBE works */
	bool btf; /* the kernel describes its types */
	unsigned nop5_harm; /* enum nop5_harm */
	struct user_costs costs;
};

/* Tries everything; nothing stays attached. Works without rights: then most results are -EPERM or -EACCES. */
void machine_try(struct machine *ret);

#endif

/* SPDX-License-Identifier: MIT */
/* Loads src/bpf/signal.bpf.c, the programs on begins and ends of signal handlers, and attaches them. */
#ifndef UT_RECORD_SIGNALS_H
#define UT_RECORD_SIGNALS_H

#include "gen/gen.h"
#include "plan/plan.h"

struct signals;

struct signals_setup {
	const struct plan_signals *events;
	const struct gen_options *options; /* ncpus, self_tgid, wake_bytes and fair_bytes */
	bool targets; /* the processes of the followed set alone */
	int rings_fd, lost_fd, throttled_fd; /* the session's */
	int follow_fd; /* -1: no set */
	bool verbose; /* libbpf's own words to standard error: why the kernel refuses a program */
};

/* The descriptors in @setup stay the caller's. */
int signals_open(const struct signals_setup *setup, struct signals **ret, struct ut_err *err);
/* Detaches; no handler runs any more. NULL is fine. */
void signals_stop(struct signals *s);
struct signals *signals_close(struct signals *s);
/* Events that the kernel did not hand to these programs. */
uint64_t signals_missed(const struct signals *s);

#endif

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
	bool targets; /* only processes of the followed set */
	int rings_fd, lost_fd, throttled_fd; /* the session's */
	int follow_fd; /* -1: no set */
	bool verbose; /* print libbpf's messages, and so the reason of a rejected program, to standard error */
};

/* Loads and attaches the programs. The caller keeps the descriptors in @setup. */
int signals_open(const struct signals_setup *setup, struct signals **ret, struct ut_err *err);
/* Detaches; no program runs when this returns. NULL is fine. */
void signals_stop(struct signals *s);
struct signals *signals_close(struct signals *s);
/* Events missed by these programs (BPF recursion). */
uint64_t signals_missed(const struct signals *s);

#endif

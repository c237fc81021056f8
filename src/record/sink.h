/* SPDX-License-Identifier: MIT */
/* The records and events that a session emits in exact time order, and their receiver. Single-threaded. */
#ifndef UT_RECORD_SINK_H
#define UT_RECORD_SINK_H

#include "plan/plan.h"

/* Records in their wire format (wire/record.h, wire/sample.h). */
struct ut_rec_event;
struct ut_rec_sample;
struct ut_rec_stack;
struct ut_rec_state;
struct ut_rec_wait;
struct user_event; /* record/user_event.h */

struct session_event {
	const struct ut_rec_event *rec; /* valid during the call */
	uint32_t size;
	uint32_t pid; /* the record's */
	unsigned cpu;
	const struct plan_probe *probe;
	const struct plan_site *site; /* site->probe is the number of the probe in the plan */
	const struct ut_rec_state *state; /* NULL: not part of a span, or the session does not measure */
};

/* A fork, an exec or the exit of a thread or process. */
struct session_lifecycle {
	unsigned what; /* enum ut_life */
	uint64_t time_ns;
	uint32_t pid, tid;
	char comm[16];
	uint32_t uid; /* of that thread */
	uint32_t child; /* UT_LIFE_FORK */
	bool last; /* UT_LIFE_EXIT: the last thread: the process has exited */
	bool group; /* all threads of the process are exiting */
	bool code_known;
	int code; /* as wait(2) has it */
};

/* Each method may be NULL. A negative result stops the session; session_run returns it. */
struct session_sink {
	void *ctx;
	int (*event)(void *ctx, const struct session_event *e);
	/* A user event, whether or not an e: request selects it. Returns how many times it was printed: at most @room. */
	int (*user)(void *ctx, const struct user_event *e, unsigned cpu, uint64_t room);
	int (*life)(void *ctx, const struct session_lifecycle *life);
	/*
	 * With sampling. A sample may refer to a stack that comes after it. A wait comes when it is over; a wait that is not
	 * over when the session stops comes then, truncated at that time.
	 */
	int (*stack)(void *ctx, const struct ut_rec_stack *rec, const uint64_t *ips);
	int (*sample)(void *ctx, const struct ut_rec_sample *rec, const struct plan_probe *probe);
	int (*wait)(void *ctx, const struct ut_rec_wait *rec);
	/* A sampled process appeared: its mappings can be read now. */
	void (*appeared)(void *ctx, pid_t pid, uint64_t time_ns);
	void (*mapped)(void *ctx, pid_t pid, const struct mapping *m, uint64_t time_ns);
	/* @count user events of @pid were dropped since the last call, because it alone filled the ring. */
	int (*throttled)(void *ctx, uint32_t pid, uint64_t count, uint64_t since_ns, uint64_t until_ns);
	/* @count events of this CPU's ring were lost between the two times; @since_ns 0: none came before. */
	int (*lost)(void *ctx, uint64_t count, unsigned cpu, uint64_t since_ns, uint64_t until_ns);
	int (*flush)(void *ctx); /* after each batch */
	/* Probes were attached while running: a program or library was mapped. */
	void (*attached)(void *ctx, size_t nprobes, size_t nsites);
	/* A process of the command is suspended with its libraries mapped: data for stacks can be read now. */
	void (*process)(void *ctx, pid_t pid);
	/* Sampling has ended, but the BPF programs are still loaded, so the kernel still has names for them. */
	void (*sampled)(void *ctx);
	/* A message for the user about a problem that does not stop the session. */
	void (*note)(void *ctx, const char *text);
};

/* A sink that passes everything to several sinks, in order. The tee must outlive it; the sinks are copied. */
#define SESSION_TEE_MAX 4
struct session_tee {
	struct session_sink sinks[SESSION_TEE_MAX];
	size_t n;
};
void session_tee_add(struct session_tee *t, const struct session_sink *sink); /* at most SESSION_TEE_MAX */
/* Has the methods that any of the sinks has. A negative result of one sink ends the call. */
struct session_sink session_tee_sink(struct session_tee *t);

#endif

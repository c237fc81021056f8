/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For sample.bpf.c alone: waits of threads that are off the CPU, from the scheduler's events.
 *
 * sched.bpf.c has programs on sched_switch and sched_wakeup_new as well, but no session attaches both: `profile` does not
 * measure stopped time, and no other command records waits, so each event runs one program. The two parts share neither
 * maps nor code. In one object, chosen by a constant, a switch would cost the same, but `trace` and `gc` would open and
 * relocate the walker and its maps at each start: opening takes 0.08 ms for sample.bpf.c and 0.03 ms for sched.bpf.c.
 */
#ifndef UT_BPF_SAMPLE_WAIT_H
#define UT_BPF_SAMPLE_WAIT_H

#include "bpf/sample_stack.h"

static __always_inline void send_wait(const struct sample_away *away, const void *task, uint32_t tid)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct ut_rec_wait *r = record_reserve(cpu, options.ncpus, sizeof(*r), 0);

	if (!r)
		return;
	record_head(&r->head, UT_SITE_WAIT, cpu, options.ncpus);
	r->head.pid = away->process;
	r->head.tid = tid;
	bpf_probe_read_kernel(r->head.comm, sizeof(r->head.comm), (const char *)task + options.at.task_comm);
	r->stack = away->stack;
	r->from_ns = away->from_ns;
	r->runnable_ns = away->runnable_ns;
	r->waker = away->waker;
	r->state = away->state;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

static __always_inline void switch_in(const void *task)
{
	struct ids ids = ids_of(task, &options.at);
	struct sample_away *away, before = { .process = ids.process };

	if (!ids.tid || !is_sampled(ids.process))
		return;
	away = bpf_map_lookup_elem(&ut_away, &ids.tid);
	if (away && away->process == ids.process)
		before = *away;
	send_wait(&before, task, ids.tid);
	bpf_map_delete_elem(&ut_away, &ids.tid);
}

static __always_inline void switch_out(void *ctx, uint32_t state, int preempted)
{
	uint64_t now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	uint32_t tid = (uint32_t)id;
	struct sample_away away = { .from_ns = now, .process = id >> 32 };

	if (!tid || !is_sampled(away.process))
		return;
	if (!preempted && state & TASK_DEAD) { /* nobody would ever take it out */
		bpf_map_delete_elem(&ut_away, &tid);
		return;
	}
	away.state = preempted ? 0 : state;
	away.runnable_ns = away.state ? 0 : now;
	away.stack = stack_of(ctx, SAMPLE_CONTEXT_SWITCH, 0);
	bpf_map_update_elem(&ut_away, &tid, &away, BPF_ANY);
}

/* preempted, who leaves, who comes, and the state in which the former leaves. */
SEC("raw_tp/sched_switch")
int sample_switch(struct bpf_raw_tracepoint_args *ctx)
{
	switch_out(ctx, (uint32_t)ctx->args[3], (int)ctx->args[0]);
	switch_in((void *)ctx->args[2]);
	return 0;
}

SEC("raw_tp/sched_waking")
int sample_waking(struct bpf_raw_tracepoint_args *ctx)
{
	const void *task = (void *)ctx->args[0];
	uint32_t tid = read_kernel32(task, options.at.task_pid);
	struct sample_away *away = bpf_map_lookup_elem(&ut_away, &tid);

	if (!away || away->runnable_ns)
		return 0;
	away->runnable_ns = bpf_ktime_get_ns();
	away->waker = (uint32_t)bpf_get_current_pid_tgid();
	return 0;
}

/* A new thread is off the processor from its first moment on. */
SEC("raw_tp/sched_wakeup_new")
int sample_wakeup_new(struct bpf_raw_tracepoint_args *ctx)
{
	const void *task = (void *)ctx->args[0];
	struct ids ids = ids_of(task, &options.at);
	uint64_t now = bpf_ktime_get_ns();
	struct sample_away away = { .from_ns = now, .runnable_ns = now, .process = ids.process, .state = UT_STATE_NEW };

	if (is_sampled(ids.process))
		bpf_map_update_elem(&ut_away, &ids.tid, &away, BPF_ANY);
	return 0;
}

#endif

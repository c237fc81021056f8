/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For sample.bpf.c alone: threads that are not on a processor, from the scheduler's events. */
#ifndef UT_BPF_SAMPLE_WAIT_H
#define UT_BPF_SAMPLE_WAIT_H

#include "bpf/sample_stack.h"

static __always_inline void send_wait(const struct sample_away *away, const struct task_struct___kernel *task,
				      uint32_t tid)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&ut_rings, &cpu);
	struct ut_rec_wait *r = ring ? bpf_ringbuf_reserve(ring, sizeof(*r), 0) : 0;

	if (!r) {
		count_lost(cpu);
		return;
	}
	head_of(&r->head, UT_SITE_WAIT, cpu);
	r->head.pid = away->process;
	r->head.tid = tid;
	bpf_probe_read_kernel(r->head.comm, sizeof(r->head.comm), task->comm);
	r->stack = away->stack;
	r->from_ns = away->from_ns;
	r->runnable_ns = away->runnable_ns;
	r->waker = away->waker;
	r->state = away->state;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

static __always_inline void comes_back(const struct task_struct___kernel *task)
{
	uint32_t tid = BPF_CORE_READ(task, pid), process = BPF_CORE_READ(task, tgid);
	struct sample_away *away, before = { .process = process };

	if (!tid || !is_wanted(process))
		return;
	away = bpf_map_lookup_elem(&ut_away, &tid);
	if (away && away->process == process)
		before = *away;
	send_wait(&before, task, tid);
	bpf_map_delete_elem(&ut_away, &tid);
}

static __always_inline void goes_away(void *ctx, uint32_t state, int preempted)
{
	uint64_t now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	uint32_t tid = (uint32_t)id;
	struct sample_away away = { .from_ns = now, .process = id >> 32 };

	if (!tid || !is_wanted(away.process))
		return;
	if (!preempted && state & STATE_ENDED) { /* nobody would ever take it out */
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
	goes_away(ctx, (uint32_t)ctx->args[3], (int)ctx->args[0]);
	comes_back((void *)ctx->args[2]);
	return 0;
}

SEC("raw_tp/sched_waking")
int sample_waking(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___kernel *task = (void *)ctx->args[0];
	uint32_t tid = BPF_CORE_READ(task, pid);
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
	const struct task_struct___kernel *task = (void *)ctx->args[0];
	uint32_t tid = BPF_CORE_READ(task, pid);
	uint64_t now = bpf_ktime_get_ns();
	struct sample_away away = {
		.from_ns = now, .runnable_ns = now, .process = BPF_CORE_READ(task, tgid), .state = UT_STATE_NEW
	};

	if (is_wanted(away.process))
		bpf_map_update_elem(&ut_away, &tid, &away, BPF_ANY);
	return 0;
}

#endif

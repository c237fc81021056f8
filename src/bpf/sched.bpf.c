/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scheduler events: which threads run, wait and collect; and the functions that programs of spans call on the same maps. */
#include <stdint.h>

#include <linux/bpf.h>

#include "bpf/registers.h"
#include "bpf/sched.h"
#include "bpf/state.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct sched_options options = { 0 };

#include "bpf/span.h"

/* preempted, who leaves, who comes, and the state in which the former leaves (since Linux 5.18). */
SEC("raw_tp")
int sched_switch(struct bpf_raw_tracepoint_args *ctx)
{
	state_switch((const void *)ctx->args[2], ctx->args[3], &options.at, options.base_ns);
	return 0;
}

/* sched_wakeup(task), and sched_wakeup_new */
SEC("raw_tp")
int sched_wakeup(struct bpf_raw_tracepoint_args *ctx)
{
	state_wakeup((const void *)ctx->args[0], &options.at, options.base_ns);
	return 0;
}

/* task_rename(task, comm) */
SEC("raw_tp")
int sched_rename(struct bpf_raw_tracepoint_args *ctx)
{
	state_rename((const void *)ctx->args[0], (const char *)ctx->args[1], &options.at, options.base_ns);
	return 0;
}

/* sched_process_free(task): the thread is gone for good, and its number may be another's. */
SEC("raw_tp")
int sched_free(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t tid = read_kernel32((const void *)ctx->args[0], options.at.task_pid);

	bpf_map_delete_elem(&ut_threads, &tid);
	return 0;
}

/*
 * Never attached: the two functions are taken from here when the program is loaded, and appended to the generated
 * programs of spans' begins and ends (gen/gen.h). In this order.
 */
SEC("kprobe")
int sched_functions(struct registers *ctx)
{
	struct ut_process_state *p = span_step((uint32_t)ctx->di, ctx->sp);
	struct ut_rec_state state;

	span_copy(&state, p);
	return (int)state.open;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forks, execs and exits for all their users: records for spans, the set of followed processes, processes that are
 * suspended until their probes are attached, the table of sampled processes, and the states of measured ones. Options
 * select the parts; the verifier removes the rest.
 */
#include <stdint.h>

#include "bpf/lifecycle.h"
#include "bpf/ring.h"
#include "bpf/state.h"
#include "bpf/task.h"
#include "wire/unwind.h"

#define SIGSTOP 19
#define LOST_LIFE 2 /* of a CPU's counters: lost records that are nobody's event */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct lifecycle_options options = { .ncpus = 1 };

/* Cleared before the last suspended process is continued: a program that starts after that suspends no process. */
uint32_t suspending = 1;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, LIFECYCLE_FOLLOW_MAX);
} ut_follow SEC(".maps");

/* PIDs of the processes that are being suspended. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LIFECYCLE_CONTROL_BYTES);
} ut_control SEC(".maps");

/* The sampler's: see bpf/sample_maps.h. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct ut_unwind_process);
	__uint(max_entries, 1);
} ut_sampled SEC(".maps");

static __always_inline int is_followed(uint32_t process) { return bpf_map_lookup_elem(&ut_follow, &process) != 0; }

static __always_inline int is_recorded(uint32_t process)
{
	return options.targets ? is_followed(process) : process != options.self;
}

static __always_inline void send_record(enum ut_life what, uint32_t other, int32_t code)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct ut_rec_life *r;
	int urgent;

	/* An exec of a second thread: see record/attach.h, attach_process_again. */
	urgent = what == UT_LIFE_EXEC && other;
	if ((!options.records && !(options.thread_execs && urgent)) || !is_recorded(current_ids().process))
		return;
	r = record_reserve(cpu, options.ncpus, sizeof(*r), LOST_LIFE);
	if (!r)
		return;
	record_head(&r->head, UT_SITE_LIFE, cpu, options.ncpus);
	r->what = what;
	r->other = other;
	r->code = code;
	r->uid = (uint32_t)bpf_get_current_uid_gid();
	bpf_ringbuf_submit(r, urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* A child has the mappings of its parent. */
static __always_inline void sample_fork(uint32_t parent, uint32_t child)
{
	struct ut_unwind_process *p = bpf_map_lookup_elem(&ut_sampled, &parent), copy;

	if (!p || !options.sample_children) {
		bpf_map_delete_elem(&ut_sampled, &child); /* what an earlier process of that number left */
		return;
	}
	copy = *p;
	bpf_map_update_elem(&ut_sampled, &child, &copy, BPF_ANY);
}

/* sched_process_fork(parent, child), before the child runs: none of its events is missed. */
SEC("raw_tp")
int lifecycle_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct ids parent = current_ids(), child = ids_of((const void *)ctx->args[1], &options.at);
	uint32_t one = 1;

	if (parent.process == child.process)
		return 0; /* a thread */
	if (options.children && is_followed(parent.process))
		bpf_map_update_elem(&ut_follow, &child.process, &one, BPF_ANY);
	if (options.samples)
		sample_fork(parent.process, child.process);
	send_record(UT_LIFE_FORK, child.process, 0);
	return 0;
}

/* Notify the reader first: a process that it does not know of must not be suspended. */
static __always_inline int suspend(void)
{
	uint32_t process = current_ids().process;

	if (!options.suspend || !*(volatile uint32_t *)&suspending || !is_followed(process))
		return 0;
	if (!bpf_ringbuf_output(&ut_control, &process, sizeof(process), BPF_RB_FORCE_WAKEUP))
		bpf_send_signal(SIGSTOP); /* it takes effect before the process returns to its own code */
	return 0;
}

/* Another program has other mappings. */
static __always_inline void sample_exec(uint32_t process)
{
	struct ut_unwind_process *p = bpf_map_lookup_elem(&ut_sampled, &process);

	if (!p)
		return;
	p->n = 0;
	p->flags &= ~UT_PROCESS_KNOWN;
	__sync_fetch_and_add(&p->stamp, 1u << 24);
}

/* sched_process_exec(task, old_pid, bprm) */
SEC("raw_tp")
int lifecycle_exec(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t old = (uint32_t)ctx->args[1];

	if (options.measure)
		state_exec((const void *)ctx->args[0], (uint32_t)ctx->args[1], &options.at, options.base_ns);
	if (options.samples)
		sample_exec(current_ids().process);
	send_record(UT_LIFE_EXEC, old == current_ids().tid ? 0 : old, 0);
	return suspend();
}

/* The function that the dynamic linker calls for debuggers when it has loaded or unloaded libraries. */
SEC("kprobe")
int lifecycle_libraries(void *ctx) { return suspend(); }

/* Is the current thread its process's last? */
static __always_inline int is_last(const struct bpf_raw_tracepoint_args *ctx, const void *signal)
{
	struct ids ids;

	if (options.group_dead)
		return (uint8_t)ctx->args[1] != 0;
	if (options.at.task_signal >= 0 && options.at.signal_live >= 0)
		return !read_kernel32(signal, options.at.signal_live);
	ids = current_ids(); /* the first thread usually is */
	return ids.tid == ids.process;
}

/* sched_process_exit(task), and group_dead since 6.15 */
SEC("raw_tp")
int lifecycle_exit(struct bpf_raw_tracepoint_args *ctx)
{
	const void *task = (const void *)ctx->args[0], *signal = 0;
	const volatile struct ut_kernel_offsets *at = &options.at;
	uint32_t process = current_ids().process, flags = 0;
	int32_t code = 0;

	if (at->task_signal >= 0)
		signal = (const void *)read_kernel64(task, at->task_signal);
	if (is_last(ctx, signal))
		flags |= UT_EXIT_LAST;
	if (at->task_signal >= 0 && at->signal_flags >= 0 &&
	    read_kernel32(signal, at->signal_flags) & SIGNAL_GROUP_EXIT)
		flags |= UT_EXIT_GROUP;
	if (at->task_exit_code >= 0) {
		code = (int32_t)read_kernel32(task, at->task_exit_code);
		flags |= UT_EXIT_CODE_KNOWN;
	}
	send_record(UT_LIFE_EXIT, flags, code);
	if (options.samples && flags & UT_EXIT_LAST)
		bpf_map_delete_elem(&ut_sampled, &process);
	if (options.measure)
		state_exit(current_ids(), options.base_ns);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples: the clock, threads that leave the processor, and probes, each with its stack. A stack is walked here, sent when
 * it is new, and named by its hash from then on. What processes have mapped, and the unwind tables of the files, are put
 * into the maps by src/sample/unwind_maps.c.
 */
#include <stdint.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include "bpf/sample_wait.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline int send_sample(uint64_t stack, uint32_t kind, uint32_t probe_site)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct ut_rec_sample *r = record_reserve(cpu, options.ncpus, sizeof(*r), 0);

	if (!r)
		return 0;
	record_head(&r->head, UT_SITE_SAMPLE, cpu, options.ncpus);
	r->stack = stack;
	r->kind = kind;
	r->probe_site = probe_site;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("perf_event")
int sample_clock(struct bpf_perf_event_data *ctx)
{
	if (is_wanted(bpf_get_current_pid_tgid() >> 32))
		send_sample(stack_of(ctx, SAMPLE_CONTEXT_CLOCK, 0), UT_SAMPLE_CPU, 0);
	return 0;
}

/* Where the session's own programs go on to. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 1);
} ut_walk_uprobe SEC(".maps"), ut_walk_tracepoint SEC(".maps");

/*
 * A probe's predicate held (gen_sample in src/gen/gen.c): its program ends here. The registers of uprobes are the
 * program's.
 */
SEC("kprobe")
int sample_uprobe(struct registers *ctx)
{
	uint64_t site = bpf_get_attach_cookie(ctx);

	if (options.never)
		bpf_tail_call(ctx, &ut_walk_uprobe, 0); /* keeps the stack its task's own: see gen_own_stack */

	send_sample(stack_of(ctx, SAMPLE_CONTEXT_PROBE, 1), UT_SAMPLE_PROBE, (uint32_t)site);
	return 0;
}

SEC("tracepoint")
int sample_tracepoint(void *ctx)
{
	uint64_t site = bpf_get_attach_cookie(ctx);

	send_sample(stack_of(ctx, SAMPLE_CONTEXT_PROBE, 0), UT_SAMPLE_PROBE, (uint32_t)site);
	return 0;
}

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

static __always_inline int send_sample(uint64_t stack, uint64_t weight_ns, uint32_t kind, uint32_t probe_site)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct ut_rec_sample *r = record_reserve(cpu, options.ncpus, sizeof(*r), 0);

	if (!r)
		return 0;
	record_head(&r->head, UT_SITE_SAMPLE, cpu, options.ncpus);
	r->stack = stack;
	r->weight_ns = weight_ns;
	r->kind = kind;
	r->probe_site = probe_site;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * What a sample stands for: the time since the CPU's last one, since the period varies. A clock of cycles does not tell how
 * much of a long time the CPU was idle.
 */
static __always_inline uint64_t weight_of(struct sample_clock *c)
{
	uint64_t now = bpf_ktime_get_ns(), passed = now > c->last_ns ? now - c->last_ns : 0;

	c->last_ns = now;
	return options.halts && passed > SAMPLE_PERIODS * options.period_ns ? options.period_ns : passed;
}

SEC("perf_event")
int sample_clock(struct bpf_perf_event_data *ctx)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct sample_clock *c = bpf_map_lookup_elem(&ut_clock, &cpu);
	uint64_t weight_ns = c ? weight_of(c) : 0;

	if (!c || !is_sampled(bpf_get_current_pid_tgid() >> 32))
		return 0;
	c->taken++;
	return send_sample(stack_of(ctx, SAMPLE_CONTEXT_CLOCK, 0), weight_ns, UT_SAMPLE_CPU, 0);
}

/* Where the session's own programs go on to. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 1);
} ut_walk_uprobe SEC(".maps"), ut_walk_tracepoint SEC(".maps");

/*
 * A probe's predicate held (gen_sample in src/gen/gen_program.c): its program ends here. The registers of uprobes are the
 * program's.
 */
SEC("kprobe")
int sample_uprobe(struct registers *ctx)
{
	uint64_t site = bpf_get_attach_cookie(ctx);

	if (options.never)
		bpf_tail_call(ctx, &ut_walk_uprobe, 0); /* keeps the stack its task's own: see gen_own_stack */

	send_sample(stack_of(ctx, SAMPLE_CONTEXT_PROBE, 1), 0, UT_SAMPLE_PROBE, (uint32_t)site);
	return 0;
}

SEC("tracepoint")
int sample_tracepoint(void *ctx)
{
	uint64_t site = bpf_get_attach_cookie(ctx);

	send_sample(stack_of(ctx, SAMPLE_CONTEXT_PROBE, 0), 0, UT_SAMPLE_PROBE, (uint32_t)site);
	return 0;
}

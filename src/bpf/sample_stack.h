/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For sample.bpf.c alone: which processes are sampled, and the current thread's stack and its record. */
#ifndef UT_BPF_SAMPLE_STACK_H
#define UT_BPF_SAMPLE_STACK_H

#include "bpf/sample_walk.h"

static long walk_one(uint64_t i, uint32_t *slot)
{
	struct scratch *s = bpf_map_lookup_elem(&ut_scratch, slot);

	return s ? walk_step(&s->walk) : 1;
}

static __always_inline void user_registers(struct walk *w, const struct registers *r)
{
	w->reg[0] = r->ax;
	w->reg[1] = r->dx;
	w->reg[2] = r->cx;
	w->reg[3] = r->bx;
	w->reg[4] = r->si;
	w->reg[5] = r->di;
	w->reg[6] = r->bp;
	w->reg[7] = r->sp;
	w->reg[8] = r->r8;
	w->reg[9] = r->r9;
	w->reg[10] = r->r10;
	w->reg[11] = r->r11;
	w->reg[12] = r->r12;
	w->reg[13] = r->r13;
	w->reg[14] = r->r14;
	w->reg[15] = r->r15;
	w->ip = r->ip;
}

static __always_inline struct ut_unwind_process *sampled_process(uint32_t process)
{
	struct ut_unwind_process *p = bpf_map_lookup_elem(&ut_sampled, &process);

	return p && (p->flags & UT_PROCESS_WANTED) ? p : 0;
}

static __always_inline int is_sampled(uint32_t process)
{
	return options.all ? process != options.self && process : sampled_process(process) != 0;
}

/* Sends the stack unless the reader has it. 0: the reader has it now. */
static __always_inline int send_stack(struct walk *w, uint32_t cpu)
{
	uint64_t id = w->hash;
	uint32_t kernel = w->first, user = w->n, size;
	void *ring;
	uint8_t known = 1;

	if (bpf_map_lookup_elem(&ut_stacks, &id))
		return 0;
	record_head(&w->rec.head, UT_SITE_STACK, cpu, options.ncpus);
	w->rec.id = id;
	w->rec.end_addr = w->end_addr;
	w->rec.end = w->end;
	w->rec.kernel = kernel;
	w->rec.user = user;
	size = sizeof(w->rec) + (kernel + user) * 8;
	if (size > sizeof(w->rec) + sizeof(w->ips))
		return 1;
	ring = bpf_map_lookup_elem(&ut_rings, &cpu);
	if (!ring || bpf_ringbuf_output(ring, &w->rec, size, BPF_RB_NO_WAKEUP))
		return 1;
	bpf_map_update_elem(&ut_stacks, &id, &known, BPF_ANY);
	return 0;
}

/*
 * Unwinds the current thread's stack and sends it. Returns its ID, 0 when there is none. @is_user: the context is the
 * registers of the program.
 */
static __always_inline uint64_t stack_of(void *ctx, uint32_t context, const int is_user)
{
	uint32_t cpu = bpf_get_smp_processor_id(), slot = context * options.ncpus + cpu, zero = 0;
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	char *task = (void *)bpf_get_current_task_btf();
	struct scratch *s = bpf_map_lookup_elem(&ut_scratch, &slot);
	const struct ut_unwind_process *p;
	uint64_t id = 0, *busy;
	struct walk *w;
	long got = 0;

	if (!s || cpu >= options.ncpus)
		return 0;
	if (__sync_lock_test_and_set(&s->busy, 1)) {
		busy = bpf_map_lookup_elem(&ut_busy, &zero);
		if (busy)
			(*busy)++;
		return 0;
	}
	w = &s->walk;
	w->process = process;
	w->hash = walk_hash(process);
	if (options.kernel)
		got = bpf_get_stack(ctx, w->ips, UT_WALK_KERNEL_ROOM * 8, 0);
	w->first = got > 0 ? (uint32_t)got / 8 : 0;
	if (w->first > UT_WALK_KERNEL_ROOM)
		w->first = 0;
	w->n = 0;
	w->end = UT_END_NONE;
	w->end_addr = 0;
	if (!(*(uint32_t *)(task + options.at.task_flags) & PF_KTHREAD)) {
		if (is_user)
			user_registers(w, ctx);
		else
			user_registers(w, (void *)bpf_task_pt_regs((void *)task));
		walk_begin(w);
		s->window_at = 0;
		w->end = UT_END_DEPTH;
		p = bpf_map_lookup_elem(&ut_sampled, &process);
		if (p)
			s->process = *p;
		if (!p || !(p->flags & UT_PROCESS_KNOWN))
			w->end = UT_END_NO_PROCESS;
		else
			bpf_loop(UT_WALK_FRAMES + 1, walk_one, &slot, 0);
	}
	for (uint32_t i = 0; i < UT_WALK_KERNEL_ROOM && i < w->first; i++)
		w->hash = walk_mix(w->hash, w->ips[i]);
	w->hash = walk_mix(w->hash, w->end) | 1;
	id = w->hash;
	if (send_stack(w, cpu))
		count_lost(cpu, options.ncpus, 0);
	__sync_lock_test_and_set(&s->busy, 0);
	return id;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples: the clock, threads that leave the processor, and probes, each with its stack. A stack is walked here, sent when
 * it is new, and named by its hash from then on. What processes have mapped, and the unwind tables of the files, are put
 * into the maps by src/record/unwind_maps.c.
 */
#include <stdint.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/sample.h"
#include "wire/sample.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What we read of the kernel's own structures; places are filled in when the programs are loaded. */
struct pt_regs___kernel {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, ip, sp;
} __attribute__((preserve_access_index));

struct signal_struct___kernel {
	struct { int counter; } live;
} __attribute__((preserve_access_index));

struct return_instance___kernel {
	unsigned long stack, orig_ret_vaddr;
	_Bool chained;
	struct return_instance___kernel *next;
} __attribute__((preserve_access_index));

struct uprobe_task___kernel {
	struct return_instance___kernel *return_instances;
} __attribute__((preserve_access_index));

struct task_struct___kernel {
	int pid, tgid;
	struct uprobe_task___kernel *utask;
	unsigned int flags;
	char comm[16];
	struct signal_struct___kernel *signal;
} __attribute__((preserve_access_index));

#define PF_KTHREAD 0x00200000u
#define STATE_ENDED 0x80u	/* TASK_DEAD */

const volatile struct sample_options options = { .ncpus = 1 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(key_size, 4);
	__uint(max_entries, SAMPLE_SEGMENTS);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(key_size, 4);
		__uint(value_size, SAMPLE_CHUNK_ROWS * 4);
		__uint(max_entries, SAMPLE_SEGMENT_CHUNKS);
	});
} ut_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, SAMPLE_DIRECTORY_MAX);
} ut_directory SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct ut_unwind_rule);
	__uint(max_entries, UT_UNWIND_RULES_MAX);
} ut_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct ut_unwind_mapping);
	__uint(max_entries, SAMPLE_MAPPINGS_MAX);
} ut_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct ut_unwind_process);
	__uint(max_entries, SAMPLE_PROCESSES_MAX);
} ut_sampled SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct sample_away);
	__uint(max_entries, 1);		/* changed before loading when waits are wanted */
} ut_away SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, uint64_t);
	__type(value, uint8_t);
	__uint(max_entries, SAMPLE_STACKS_KNOWN);
} ut_stacks SEC(".maps");

/* The session's own: its descriptors take their place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_RINGBUF);
		__uint(max_entries, 4096);
	});
} ut_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint64_t);
	__uint(max_entries, 1);
} ut_lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, uint32_t);
	__type(value, uint64_t);
	__uint(max_entries, 1);
} ut_busy SEC(".maps");

struct walk;
static int sample_find(struct walk *w, uint64_t pc, struct ut_unwind_rule *rule);
static int sample_read(struct walk *w, void *to, uint32_t size, uint64_t address);

/* The kernel's list of the returns that it probes, of the current thread; the innermost call comes first. */
struct returns { const struct return_instance___kernel *at; uint64_t place, address; };

static long return_step(uint64_t i, struct returns *r)
{
	const struct return_instance___kernel *at = r->at;

	if (!at)
		return 1;
	if (BPF_CORE_READ(at, stack) == r->place && !BPF_CORE_READ(at, chained)) {
		r->address = BPF_CORE_READ(at, orig_ret_vaddr);
		return 1;
	}
	r->at = BPF_CORE_READ(at, next);
	return 0;
}

static __noinline int sample_return(uint64_t place, uint64_t *ret)
{
	const struct task_struct___kernel *task = (void *)bpf_get_current_task();
	struct returns r = { .at = BPF_CORE_READ(task, utask, return_instances), .place = place };

	if (!ret)
		return 1;
	bpf_loop(SAMPLE_RETURNS, return_step, &r, 0);
	*ret = r.address;
	return !r.address;
}

#define WALK_READ(w, to, size, address) sample_read((w), (to), (size), (address))
#define WALK_RETURN(w, place, ret) sample_return((place), (ret))
#define WALK_FIND(w, pc, rule) sample_find((w), (pc), (rule))
#include "bpf/walk.h"

/* What a processor needs for a walk in one context; too large for the stack. */
struct scratch {
	uint32_t busy;
	uint32_t reserved;
	struct ut_unwind_process process;	/* as it was when the walk began */
	struct sample_cached cache[SAMPLE_CACHE];
	uint64_t window_at;	/* of the stack; 0: none */
	uint64_t window[SAMPLE_WINDOW];
	struct walk walk;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct scratch);
	__uint(max_entries, SAMPLE_CONTEXTS);	/* times the processors */
} ut_scratch SEC(".maps");

/* One of a file's rows. */
static __always_inline int row_at(uint32_t number, uint32_t *ret)
{
	uint32_t segment = number / (SAMPLE_CHUNK_ROWS * SAMPLE_SEGMENT_CHUNKS);
	uint32_t chunk = number / SAMPLE_CHUNK_ROWS % SAMPLE_SEGMENT_CHUNKS, at = number % SAMPLE_CHUNK_ROWS;
	void *rows = bpf_map_lookup_elem(&ut_rows, &segment);
	uint32_t *v = rows ? bpf_map_lookup_elem(rows, &chunk) : 0;

	if (!v)
		return 1;
	*ret = v[at & (SAMPLE_CHUNK_ROWS - 1)];
	return 0;
}

struct search { uint32_t low, high, wanted, row; uint64_t pc; uint32_t process, reserved; };

/* The last row of low…high whose address is not above `wanted`; the one at low never is. */
static long row_step(uint64_t i, struct search *s)
{
	uint32_t middle = s->low + (s->high - s->low) / 2, row;

	if (s->high - s->low < 2 || row_at(middle, &row))
		return 1;
	if (UT_UNWIND_ROW_LOW(row) <= s->wanted)
		s->low = middle;
	else
		s->high = middle;
	return 0;
}

static __always_inline void rule_of(const struct ut_unwind_mapping *m, uint64_t pc, struct ut_unwind_rule *rule)
{
	uint64_t vaddr = pc - m->bias;
	uint64_t page = (vaddr >> UT_UNWIND_PAGE_SHIFT) - m->first_page;
	uint32_t at = m->directory + (uint32_t)page, next = at + 1, row = 0, number;
	const uint32_t *from, *to;
	const struct ut_unwind_rule *found;
	struct search s = { .wanted = (uint32_t)vaddr & 0xffff };

	if (page >= m->pages)
		return;
	from = bpf_map_lookup_elem(&ut_directory, &at);
	to = bpf_map_lookup_elem(&ut_directory, &next);
	if (!from || !to || *from >= *to)
		return;
	s.low = *from;
	s.high = *to;
	bpf_loop(17, row_step, &s, 0);	/* a page has at most 2^16 rows */
	if (row_at(s.low, &row))
		return;
	number = UT_UNWIND_ROW_RULE(row);
	found = bpf_map_lookup_elem(&ut_rules, &number);
	if (found)
		*rule = *found;
}

/* The first mapping of low…high that does not end before pc. */
static long mapping_step(uint64_t i, struct search *s)
{
	uint32_t middle = s->low + (s->high - s->low) / 2;
	const struct ut_unwind_mapping *m;

	if (s->low >= s->high)
		return 1;
	m = bpf_map_lookup_elem(&ut_mappings, &middle);
	if (!m || m->process != s->process)
		return 1;
	if (s->pc >= m->end)
		s->low = middle + 1;
	else
		s->high = middle;
	return 0;
}

static __always_inline const struct ut_unwind_mapping *mapping_of(const struct ut_unwind_process *p, uint64_t pc)
{
	struct search s = { .low = p->first, .high = p->first + p->n, .pc = pc, .process = p->owner };
	const struct ut_unwind_mapping *m;

	bpf_loop(20, mapping_step, &s, 0);
	m = s.low < p->first + p->n ? bpf_map_lookup_elem(&ut_mappings, &s.low) : 0;
	return m && m->process == p->owner && pc >= m->start && pc < m->end ? m : 0;
}

#define SCRATCH_OF(w) ((struct scratch *)((char *)(w) - __builtin_offsetof(struct scratch, walk)))

/*
 * Words of the stack come in windows, as a read of one costs as much as one of many and frames lie close together. What
 * lies behind the last window of a page that is not in memory is read by itself.
 */
static __always_inline int sample_read(struct walk *w, void *to, uint32_t size, uint64_t address)
{
	struct scratch *s = SCRATCH_OF(w);
	uint64_t at = address - s->window_at, *words = to;

	if ((size != 8 && size != 16) || (address & 7) || address - w->sp >= SAMPLE_NEAR)
		return bpf_probe_read_user(to, size, (void *)address) != 0;
	if (at > sizeof(s->window) - size) {
		if (bpf_probe_read_user(s->window, sizeof(s->window), (void *)address)) {
			s->window_at = 0;
			return bpf_probe_read_user(to, size, (void *)address) != 0;
		}
		s->window_at = address;
		at = 0;
	}
	at /= 8;
	words[0] = s->window[at & (SAMPLE_WINDOW - 1)];
	if (size == 16)
		words[1] = s->window[(at + 1) & (SAMPLE_WINDOW - 1)];
	return 0;
}

static __noinline int sample_find(struct walk *w, uint64_t pc, struct ut_unwind_rule *rule)
{
	struct scratch *s = SCRATCH_OF(w);
	const struct ut_unwind_process *p = &s->process;
	uint32_t process = w->process;
	const struct ut_unwind_mapping *m;
	struct sample_cached *c;

	c = &s->cache[(pc ^ pc >> 10 ^ process * 31u) & (SAMPLE_CACHE - 1)];
	if (c->pc == pc && c->process == process && c->stamp == p->stamp) {
		*rule = c->rule;
		return c->code;
	}
	m = mapping_of(p, pc);
	if (!m)
		return 0;
	if (m->code == UT_CODE_TABLE)
		rule_of(m, pc, rule);
	c->pc = pc;
	c->process = process;
	c->stamp = p->stamp;
	c->code = m->code;
	c->rule = *rule;
	return m->code;
}

static long walk_one(uint64_t i, uint32_t *slot)
{
	struct scratch *s = bpf_map_lookup_elem(&ut_scratch, slot);

	return s ? walk_step(&s->walk) : 1;
}

static __always_inline void user_registers(struct walk *w, const struct pt_regs___kernel *r)
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

static __always_inline struct ut_unwind_process *sampled(uint32_t process)
{
	struct ut_unwind_process *p = bpf_map_lookup_elem(&ut_sampled, &process);

	return p && (p->flags & UT_PROCESS_WANTED) ? p : 0;
}

static __always_inline int is_wanted(uint32_t process)
{
	return options.all ? process != options.self && process : sampled(process) != 0;
}

static __always_inline uint64_t *lost_counter(uint32_t cpu)
{
	uint32_t zero = 0;
	uint64_t at = cpu;
	uint8_t *lost = bpf_map_lookup_elem(&ut_lost, &zero);

	asm volatile("" : "+r"(at));	/* one register for the comparison and for what it proves: older verifiers */
	return lost && at < options.ncpus ? (uint64_t *)(lost + at * 64) : 0;
}

static __always_inline void head_of(struct ut_rec_event *h, uint32_t site, uint32_t cpu)
{
	uint64_t id = bpf_get_current_pid_tgid(), *lost = lost_counter(cpu);

	h->time_ns = bpf_ktime_get_ns();
	h->site = site;
	h->lost = lost ? (uint32_t)*lost : 0;
	h->pid = id >> 32;
	h->tid = (uint32_t)id;
	bpf_get_current_comm(h->comm, sizeof(h->comm));
	h->faults = 0;
	h->text_room = 0;
}

static __always_inline void count_lost(uint32_t cpu)
{
	uint64_t *lost = lost_counter(cpu);

	if (lost)
		__sync_fetch_and_add(lost, 1);
}

/* The stack to the reader, unless it has it. 0: it has. */
static __always_inline int tell_stack(struct walk *w, uint32_t cpu)
{
	uint64_t id = w->hash;
	uint32_t kernel = w->first, user = w->n, size;
	void *ring;
	uint8_t known = 1;

	if (bpf_map_lookup_elem(&ut_stacks, &id))
		return 0;
	head_of(&w->rec.head, UT_SITE_STACK, cpu);
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
 * Walks the current thread's stack, and tells it. Returns its id, 0 when there is none. @is_user: the context is the
 * registers of the program.
 */
static __always_inline uint64_t stack_of(void *ctx, uint32_t context, const int is_user)
{
	uint32_t cpu = bpf_get_smp_processor_id(), slot = context * options.ncpus + cpu, zero = 0;
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	struct task_struct___kernel *task = (void *)bpf_get_current_task_btf();
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
	w->hash = walk_mix(0x5851f42d4c957f2dull, process);
	if (options.kernel)
		got = bpf_get_stack(ctx, w->ips, UT_WALK_KERNEL_ROOM * 8, 0);
	w->first = got > 0 ? (uint32_t)got / 8 : 0;
	if (w->first > UT_WALK_KERNEL_ROOM)
		w->first = 0;
	w->n = 0;
	w->end = UT_END_NONE;
	w->end_addr = 0;
	if (!(task->flags & PF_KTHREAD)) {
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
	if (tell_stack(w, cpu))
		count_lost(cpu);
	__sync_lock_test_and_set(&s->busy, 0);
	return id;
}

static __always_inline int send_sample(uint64_t stack, uint32_t kind, uint32_t probe_site)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&ut_rings, &cpu);
	struct ut_rec_sample *r = ring ? bpf_ringbuf_reserve(ring, sizeof(*r), 0) : 0;

	if (!r) {
		count_lost(cpu);
		return 0;
	}
	head_of(&r->head, UT_SITE_SAMPLE, cpu);
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
 * A probe's predicate held (gen_sample in src/probe/gen.c): its program ends here. The registers of uprobes are the
 * program's.
 */
SEC("kprobe")
int sample_uprobe(struct pt_regs___kernel *ctx)
{
	uint64_t site = bpf_get_attach_cookie(ctx);

	if (options.never)
		bpf_tail_call(ctx, &ut_walk_uprobe, 0);	/* keeps the stack its task's own: see gen_own_stack */

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
	if (!preempted && state & STATE_ENDED) {	/* nobody would ever take it out */
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
	struct sample_away away = { .from_ns = now, .runnable_ns = now, .process = BPF_CORE_READ(task, tgid),
				    .state = UT_STATE_NEW };

	if (is_wanted(away.process))
		bpf_map_update_elem(&ut_away, &tid, &away, BPF_ANY);
	return 0;
}

/* A child has what its parent has mapped. */
SEC("raw_tp/sched_process_fork")
int sample_fork(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___kernel *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	uint32_t from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	struct ut_unwind_process *p, copy;

	if (from == to)
		return 0;
	p = bpf_map_lookup_elem(&ut_sampled, &from);
	if (!p || !(options.all || options.children)) {
		bpf_map_delete_elem(&ut_sampled, &to);	/* what an earlier process of that number left */
		return 0;
	}
	copy = *p;
	bpf_map_update_elem(&ut_sampled, &to, &copy, BPF_ANY);
	return 0;
}

/* Another program: nothing that was known of its memory holds any more. */
SEC("raw_tp/sched_process_exec")
int sample_exec(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t process = bpf_get_current_pid_tgid() >> 32;
	struct ut_unwind_process *p = bpf_map_lookup_elem(&ut_sampled, &process);

	if (!p)
		return 0;
	p->n = 0;
	p->flags &= ~UT_PROCESS_KNOWN;
	__sync_fetch_and_add(&p->stamp, 1u << 24);
	return 0;
}

/* With its last thread the process is gone. */
SEC("raw_tp/sched_process_exit")
int sample_exit(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___kernel *task = (void *)ctx->args[0];
	uint32_t process = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);

	bpf_map_delete_elem(&ut_away, &tid);
	if (!BPF_CORE_READ(task, signal, live.counter))
		bpf_map_delete_elem(&ut_sampled, &process);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs of signal handlers as spans. The kernel tells a signal's number when it starts a handler, and at the handler's end
 * only that some handler returns: which it was is kept for each thread. The record is a struct ut_rec_user without a name:
 * its id is the signal's number, its value the code.
 */
#include <stdint.h>

#include "bpf/ring.h"
#include "bpf/signal.h"
#include "bpf/task.h"

#define LOST_THROTTLED 1 /* of a CPU's counters: events of processes that flood */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct signal_options options = { .ncpus = 1 };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, 1);
} ut_follow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, uint32_t);
	__type(value, struct signal_handlers);
	__uint(max_entries, SIGNAL_THREADS_MAX);
} ut_handlers SEC(".maps");

/* By process; the session reads it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct ut_throttled);
	__uint(max_entries, 1);
} ut_throttled SEC(".maps");

static __always_inline int is_traced(uint32_t process)
{
	return options.targets ? bpf_map_lookup_elem(&ut_follow, &process) != 0 : process != options.self;
}

static __always_inline struct ut_throttled *account_of(uint32_t process)
{
	struct ut_throttled *account = bpf_map_lookup_elem(&ut_throttled, &process), new = { 0 };

	if (account)
		return account;
	bpf_map_update_elem(&ut_throttled, &process, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ut_throttled, &process);
}

/* A nearly full ring is reserved for processes that write little: a flooding process is throttled, and its events counted. */
static __always_inline int is_throttled(uint32_t process, uint64_t available, uint32_t cpu)
{
	uint64_t window = bpf_ktime_get_ns() >> UT_FAIR_WINDOW_SHIFT;
	struct ut_throttled *account;

	if (!options.fair_bytes || available < options.fair_bytes)
		return 0;
	account = account_of(process);
	if (!account)
		return 0;
	if (account->window != window) {
		account->window = window;
		account->bytes = 0;
	}
	account->bytes += sizeof(struct ut_rec_user);
	if (account->bytes <= options.fair_share)
		return 0;
	__sync_fetch_and_add(&account->throttled, 1);
	count_lost(cpu, options.ncpus, LOST_THROTTLED);
	return 1;
}

static __always_inline int send_signal_event(uint32_t process, uint32_t what, uint64_t number, int64_t code)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&ut_rings, &cpu);
	uint64_t available, flags = BPF_RB_NO_WAKEUP;
	struct ut_rec_user *r;

	if (!ring)
		return 0;
	available = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	if (is_throttled(process, available, cpu))
		return 0;
	r = record_reserve(cpu, options.ncpus, sizeof(*r), 0);
	if (!r)
		return 0;
	record_head(&r->head, UT_SITE_SIGNAL, cpu, options.ncpus);
	r->id = number;
	r->value = code;
	r->name_addr = 0;
	r->text_addr = 0;
	r->what = what;
	r->name_len = 1;
	r->text_len = 0;
	r->uid = (uint32_t)bpf_get_current_uid_gid();
	__builtin_memset(r->name, 0, sizeof(r->name));
	if (options.wake_bytes && available < options.wake_bytes &&
	    available + sizeof(*r) + BPF_RINGBUF_HDR_SZ >= options.wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP; /* once, when this record makes the ring cross the mark */
	bpf_ringbuf_submit(r, flags);
	return 0;
}

static __always_inline struct signal_handlers *handlers_of(uint32_t tid)
{
	struct signal_handlers *h = bpf_map_lookup_elem(&ut_handlers, &tid), new = { 0 };

	if (h)
		return h;
	bpf_map_update_elem(&ut_handlers, &tid, &new, BPF_ANY);
	return bpf_map_lookup_elem(&ut_handlers, &tid);
}

/* The oldest, where there is no room, was left by a jump and will never return. */
static __always_inline void push_handler(struct signal_handlers *h, uint64_t number)
{
	uint64_t depth = h->depth;

	if (depth >= SIGNAL_HANDLERS) {
		for (unsigned i = 1; i < SIGNAL_HANDLERS; i++)
			h->number[i - 1] = h->number[i];
		depth = SIGNAL_HANDLERS - 1;
	}
	h->depth = depth + 1;
	h->number[depth & (SIGNAL_HANDLERS - 1)] = number;
}

/* signal:signal_deliver */
SEC("tracepoint")
int signal_begin(const void *ctx)
{
	struct ids ids = current_ids();
	uint64_t handler = read_kernel64(ctx, options.handler);
	uint32_t number = read_kernel32(ctx, options.number);
	struct signal_handlers *h;

	if (!is_traced(ids.process) || handler <= 1) /* SIG_DFL, SIG_IGN */
		return 0;
	h = handlers_of(ids.tid);
	if (!h)
		return 0;
	push_handler(h, number);
	return send_signal_event(ids.process, options.begin, number, (int32_t)read_kernel32(ctx, options.code));
}

/* syscalls:sys_enter_rt_sigreturn. One whose begin nobody saw is none of ours. */
SEC("tracepoint")
int signal_end(const void *ctx)
{
	struct ids ids = current_ids();
	struct signal_handlers *h;
	uint64_t depth;

	if (!is_traced(ids.process))
		return 0;
	h = bpf_map_lookup_elem(&ut_handlers, &ids.tid);
	if (!h || !h->depth)
		return 0;
	depth = h->depth - 1;
	h->depth = depth;
	return send_signal_event(ids.process, options.end, h->number[depth & (SIGNAL_HANDLERS - 1)], 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For programs: a record's way to the reader. Reserve, then read the clock, then fill, then submit without a wake-up: the
 * merge relies on that order (record/merge.h).
 */
#ifndef UT_BPF_RING_H
#define UT_BPF_RING_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "wire/record.h"

/* The session's own: its descriptors take their place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	__array(
		values, struct {
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

/* Per CPU: its counters of what was lost, UT_LOST_BYTES each. */
static __always_inline uint64_t *lost_counter(uint32_t cpu, uint32_t ncpus)
{
	uint32_t zero = 0;
	uint64_t at = cpu;
	uint8_t *lost = bpf_map_lookup_elem(&ut_lost, &zero);

	asm volatile("" : "+r"(at)); /* one register for the comparison and for what it proves: older verifiers */
	return lost && at < ncpus ? (uint64_t *)(lost + at * 64) : 0;
}

static __always_inline void count_lost(uint32_t cpu, uint32_t ncpus, uint32_t which)
{
	uint64_t *lost = lost_counter(cpu, ncpus);

	if (lost)
		__sync_fetch_and_add(&lost[which], 1);
}

/* Room for a record of the current CPU's ring; without room the counter @which of that CPU grows. */
static __always_inline void *record_reserve(uint32_t cpu, uint32_t ncpus, uint64_t size, uint32_t which)
{
	void *ring = bpf_map_lookup_elem(&ut_rings, &cpu);
	void *ret = ring ? bpf_ringbuf_reserve(ring, size, 0) : 0;

	if (!ret)
		count_lost(cpu, ncpus, which);
	return ret;
}

static __always_inline void record_head(struct ut_rec_event *h, uint32_t site, uint32_t cpu, uint32_t ncpus)
{
	uint64_t id = bpf_get_current_pid_tgid(), *lost;

	h->time_ns = bpf_ktime_get_ns();
	lost = lost_counter(cpu, ncpus);
	h->site = site;
	h->lost = lost ? (uint32_t)*lost : 0;
	h->pid = id >> 32;
	h->tid = (uint32_t)id;
	bpf_get_current_comm(h->comm, sizeof(h->comm));
	h->faults = 0;
	h->text_room = 0;
}

#endif

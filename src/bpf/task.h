/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For programs: what they read of the kernel's own structures. The offsets are constants that the loader sets: libbpf's
 * relocations would parse all of the kernel's type information at each start.
 */
#ifndef UT_BPF_TASK_H
#define UT_BPF_TASK_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "wire/kernel.h"

#define PF_KTHREAD 0x00200000u
#define TASK_DEAD 0x80u
#define SIGNAL_GROUP_EXIT 4u

struct ids {
	uint32_t tid, process;
};

static __always_inline uint64_t read_kernel64(const void *at, int32_t offset)
{
	uint64_t v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (const char *)at + offset);
	return v;
}

static __always_inline uint32_t read_kernel32(const void *at, int32_t offset)
{
	uint32_t v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (const char *)at + offset);
	return v;
}

static __always_inline uint8_t read_kernel8(const void *at, int32_t offset)
{
	uint8_t v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (const char *)at + offset);
	return v;
}

/* Both numbers of a task, with one read where they are neighbors, as they are in every kernel so far. */
static __always_inline struct ids ids_of(const void *task, const volatile struct ut_kernel_offsets *at)
{
	struct ids ids = { 0 };

	if (at->task_tgid == at->task_pid + 4) {
		bpf_probe_read_kernel(&ids, sizeof(ids), (const char *)task + at->task_pid);
	} else {
		ids.tid = read_kernel32(task, at->task_pid);
		ids.process = read_kernel32(task, at->task_tgid);
	}
	return ids;
}

static __always_inline struct ids current_ids(void)
{
	uint64_t id = bpf_get_current_pid_tgid();

	return (struct ids){ .tid = (uint32_t)id, .process = id >> 32 };
}

#endif

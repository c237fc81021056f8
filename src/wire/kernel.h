/* SPDX-License-Identifier: MIT */
/* Where the running kernel keeps the members that src/bpf reads: constants of its programs, set before they are
 * loaded. */
#ifndef UT_WIRE_KERNEL_H
#define UT_WIRE_KERNEL_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Offsets in bytes; -1: this kernel has no such member, or has no type information. */
struct ut_kernel_offsets {
	/* task_struct */
	int32_t task_tgid, task_pid, task_comm, task_flags, task_exit_code, task_signal, task_utask;
	/* signal_struct */
	int32_t signal_live, signal_flags;
	/* uprobe_task, return_instance */
	int32_t utask_returns, return_stack, return_address, return_chained, return_next;
};

#endif

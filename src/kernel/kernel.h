/* SPDX-License-Identifier: MIT */
/* The system calls of the recorder, one function each: programs, links, perf events. The only file that calls bpf(2)
 * without libbpf, for what Debian's libbpf 1.1 does not wrap. All descriptors are close-on-exec and the caller's. */
#ifndef UT_KERNEL_KERNEL_H
#define UT_KERNEL_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Kernel 6.6 and later; Debian 12's headers do not have it. Values are stable ABI (include/uapi/linux/bpf.h). */
#define UT_BPF_TRACE_UPROBE_MULTI 48
#define UT_BPF_F_UPROBE_MULTI_RETURN 1u

struct kernel_prog {
	enum bpf_prog_type type; /* BPF_PROG_TYPE_KPROBE for uprobes, BPF_PROG_TYPE_TRACEPOINT */
	const struct bpf_insn *insns;
	size_t n;
	bool sleepable, multi;
};

/*
 * Loads a program; a descriptor, or a negative errno with one sentence. @log: when not NULL and loading fails, it
 * becomes the verifier's whole log (malloc, the caller frees), else the log's telling last line is part of the
 * sentence.
 */
int kernel_prog_load(const struct kernel_prog *prog, char **log, struct ut_err *err);

/* A uprobe program that does nothing, for trials: a descriptor or a negative errno. */
int kernel_load_empty(bool multi);

/* CPUs that this kernel can ever have: as many rings, and values of a per-CPU map. */
unsigned kernel_cpus(void);

/* Can programs be attached to many uprobes with one call here? Asked once, then remembered. */
bool kernel_has_uprobe_multi(void);

struct kernel_uprobes {
	const char *path; /* of the file: /proc/self/fd/N */
	size_t n;
	const uint64_t *offsets, *sem_offsets, *cookies; /* n each; sem_offsets may be NULL */
	bool is_return;
	pid_t pid; /* 0: every process */
};
/* One link for all; a negative errno without a sentence (the caller knows more). */
int kernel_link_uprobes(int prog_fd, const struct kernel_uprobes *u);

/* The older way: one perf event for one site, then a link that puts the program on it. */
int kernel_uprobe_event(const char *path, uint64_t offset, uint64_t sem_offset, bool is_return, pid_t pid);
int kernel_tracepoint_event(unsigned id);
/*
 * Attaches a program to an address of our own executable, for trials: returns the link. *@event becomes what it sits
 * on, the older way.
 */
int kernel_link_own(int prog_fd, bool multi, uint64_t offset, uint64_t sem_offset, uint64_t cookie, int *event);
int kernel_link_event(int prog_fd, int event_fd, uint64_t cookie);

/* GEN_MAP_STARTS: struct ut_call_key → struct ut_call, the oldest forgotten first. A descriptor or a negative errno. */
int kernel_starts_map(void);
/* GEN_MAP_CALLS: one struct ut_call_counts. */
int kernel_calls_map(void);

/* GEN_MAP_THROTTLED: process → @value_size bytes. A descriptor or a negative errno. */
int kernel_throttled_map(unsigned value_size);

/*
 * Events that the kernel did not hand to this program because it was busy with another on that CPU (kernel 5.12
 * and later; else 0).
 */
uint64_t kernel_prog_missed(int prog_fd);

#endif

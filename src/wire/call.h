/* SPDX-License-Identifier: MIT */
/* Calls in progress of functions whose returns are traced: GEN_MAP_STARTS and GEN_MAP_CALLS. */
#ifndef UT_WIRE_CALL_H
#define UT_WIRE_CALL_H

#include <stdint.h>

/* In place of a stack in the key of a call: addresses do not repeat within a process, so none is needed. */
#define UT_CALL_ANY_STACK 1

/*
 * With the kernel's return trampoline: the low half of the function's address, the process, stack 0, the stack pointer.
 * Otherwise of a call: the request's number, the process, UT_CALL_ANY_STACK, the stack pointer at the entry; in Go the
 * goroutine, and the distance from the top of its stack, which survives a move of the stack. And of a thread (stack: its
 * ID) or goroutine: stack pointer 0.
 */
struct ut_call_key {
	uint32_t probe, tgid;
	uint64_t stack;
	uint64_t sp;
};

/* Of a thread or goroutine: only @outer, the innermost call in progress. */
struct ut_call {
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t outer; /* stack pointer of the call of the same thread and request around this one; 0: none */
	uint32_t tid;
	uint32_t left; /* 1: a call at or above its stack pointer shows that it has ended; it is counted in @left */
};

/* The one value of GEN_MAP_CALLS. */
struct ut_call_counts {
	uint64_t left; /* calls that ended without a return: by an exception, longjmp or the end of their thread */
	uint64_t unknown; /* returns of calls that began before the attachment, or in another process before a fork */
};

_Static_assert(sizeof(struct ut_call_key) == 24, "part of a BPF map");
_Static_assert(sizeof(struct ut_call) == 24, "part of a BPF map");
_Static_assert(sizeof(struct ut_call_counts) == 16, "part of a BPF map");

#endif

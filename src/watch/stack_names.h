/* SPDX-License-Identifier: MIT */
/*
 * Names for the stacks that `trace` prints with each event: sym/names.h, kept up to date by the session's lifecycle events,
 * and the code maps of runtimes, requested as for profiles. One thread calls, in the order of the session.
 */
#ifndef UT_WATCH_STACK_NAMES_H
#define UT_WATCH_STACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/runtime.h"

struct names;
struct session_lifecycle;
struct stack_names;

/* Does a probe, as typed, print stacks of programs? Then the session is to report forks, execs and exits. */
bool stack_names_wants_lives(const char *const *probes, size_t n);
struct stack_names *stack_names_new(const struct runtimes *runtimes); /* it outlives the names; NULL: out of memory */
struct stack_names *stack_names_free(struct stack_names *s);
struct names *stack_names_of(struct stack_names *s); /* for the printer */
/* Reads what the stacks of a process will need, while it exists. */
void stack_names_process(struct stack_names *s, pid_t pid);
/* An event of this process is about to be printed. Cheap when the process is known. */
void stack_names_event(struct stack_names *s, pid_t pid);
void stack_names_life(struct stack_names *s, const struct session_lifecycle *life);
/* After each batch of events: reads additions to code maps, and requests maps for code without names. */
void stack_names_flush(struct stack_names *s);
/* The stream has ended. Calls @note with sentences on maps that could not be obtained or used. */
void stack_names_stop(struct stack_names *s, void (*note)(void *ctx, const char *text), void *ctx);

#endif

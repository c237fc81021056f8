/* SPDX-License-Identifier: MIT */
/* Lifecycle events of a session on their way to the pairing engine. */
#ifndef UT_WATCH_PAIR_LIFE_H
#define UT_WATCH_PAIR_LIFE_H

#include "model/pair.h"
#include "record/session.h"
#include "wire/record.h"

/* The result of pairs_fork() and its like. */
static inline int pair_life(struct pairs *p, const struct session_lifecycle *life)
{
	switch (life->what) {
	case UT_LIFE_FORK: return pairs_fork(p, life->time_ns, life->pid, life->child);
	case UT_LIFE_EXEC: return pairs_exec(p, life->time_ns, life->pid);
	case UT_LIFE_EXIT: break;
	}
	if (life->last || life->group)
		return pairs_process_exit(p, life->time_ns, life->pid, life->code_known, life->code);
	return pairs_thread_exit(p, life->time_ns, life->pid, life->tid);
}

#endif

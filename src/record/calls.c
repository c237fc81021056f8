/* SPDX-License-Identifier: MIT */
#include "record/calls.h"

#include <bpf/bpf.h>

#include "plan/plan.h"
#include "proc/process.h"

bool calls_are_paired(const struct plan *plan)
{
	for (size_t i = 0; i < plan->sites.n; i++)
		if (plan->sites.v[i].paired)
			return true;
	return false;
}

/* A thread whose process waits to be reaped has ended as well. */
static bool thread_has_ended(uint32_t pid, uint32_t tid)
{
	char state = thread_state((pid_t)pid, (pid_t)tid);

	return !state || state == 'Z' || state == 'X';
}

/* A goroutine is not bound to the thread that was seen at its call. */
static bool was_left_by_thread(const struct ut_call_key *key, const struct ut_call *call)
{
	return key->stack == UT_CALL_ANY_STACK && key->sp && !call->left && thread_has_ended(key->tgid, call->tid);
}

void calls_count(int starts_fd, int calls_fd, struct ut_call_counts *ret)
{
	struct ut_call_key key, *last = NULL;
	struct ut_call call;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(calls_fd, &zero, ret))
		*ret = (struct ut_call_counts){ 0 };
	while (bpf_map_get_next_key(starts_fd, last, &key) == 0) {
		if (bpf_map_lookup_elem(starts_fd, &key, &call) == 0)
			ret->left += was_left_by_thread(&key, &call);
		last = &key;
	}
}

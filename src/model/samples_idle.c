/* SPDX-License-Identifier: MIT */
/* Which waits are idle. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "model/samples_priv.h"

#define USER_DEPTH 3 /* innermost user frames that may contain the wrapper of a system call */
#define LOCK_DEPTH 8 /* innermost user frames that may contain a function that takes a lock */

/* Calls that wait for something outside the process, without the prefixes and suffixes of libraries and the kernel. */
static const char *const calls[] = {
	"accept",	  "accept4",	     "clock_nanosleep", "epoll_pwait",
	"epoll_pwait2",	  "epoll_wait",	     "io_getevents",	"io_pgetevents",
	"io_uring_enter", "nanosleep",	     "pause",		"poll",
	"ppoll",	  "pselect",	     "pselect6",	"pthread_clockjoin_ex",
	"pthread_join",	  "restart_syscall", "rt_sigsuspend",	"rt_sigtimedwait",
	"select",	  "sigsuspend",	     "sigtimedwait",	"sigwait",
	"sigwaitinfo",	  "sleep",	     "usleep",		"wait4",
	"waitid",	  "waitpid",
};

/* Kernel functions that implement these waits, whichever system call was made. */
static const char *const kernel_waits[] = {
	"do_epoll_wait",
	"do_nanosleep",
	"do_poll",
	"do_select",
	"do_sigtimedwait",
	"do_sys_poll",
	"do_wait",
	"ep_poll",
	"hrtimer_nanosleep",
	"inet_csk_accept",
	"inet_csk_wait_for_connect",
	"io_cqring_wait",
	"read_events",
	"sigsuspend",
	"unix_accept",
};

/* Functions that wait for a lock. */
static const char *const locks[] = {
	"lll_lock_wait",
	"lll_lock_wait_private",
	"pthread_mutex_lock",
	"pthread_mutex_lock_full",
	"pthread_mutex_timedlock",
	"pthread_mutex_clocklock",
	"pthread_mutex_clocklock_common",
	"pthread_mutex_cond_lock",
	"pthread_rwlock_rdlock",
	"pthread_rwlock_timedrdlock",
	"pthread_rwlock_clockrdlock",
	"pthread_rwlock_wrlock",
	"pthread_rwlock_timedwrlock",
	"pthread_rwlock_clockwrlock",
	"g_mutex_lock_slowpath",
	"ObjectMonitor::EnterI",
	"ObjectMonitor::enter",
	"ObjectMonitor::ReenterI",
	"ObjectMonitor::enter_internal",
	"ObjectMonitor::reenter_internal",
	"ObjectMonitor::enter_with_contention_mark",
	"std::sys::sync::mutex::futex::Mutex::lock_contended",
	"std::sys::sync::rwlock::futex::RwLock::read_contended",
	"std::sys::sync::rwlock::futex::RwLock::write_contended",
	"parking_lot::raw_mutex::RawMutex::lock_slow",
};

static bool is_one_of(const char *const *names, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	return false;
}

static const char *skip_prefix(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) ? name : name + n;
}

/* "__x64_sys_poll", "__GI___poll", "poll@@GLIBC_2.2.5" */
static bool is_waiting_call(const char *name)
{
	name = skip_prefix(name, "__GI_");
	name = skip_prefix(name, "__libc_");
	name = skip_prefix(name, "__x64_sys_");
	name = skip_prefix(name, "__se_sys_");
	name = skip_prefix(name, "__do_sys_");
	name += strspn(name, "_");
	return is_one_of(calls, ARRAY_SIZE(calls), name, strcspn(name, "@.("));
}

bool samples_is_event_wait(const struct profile *p, const uint32_t *frames, size_t n, size_t kernel)
{
	for (size_t i = 0; i < n && i < kernel + USER_DEPTH; i++) {
		const char *name = p->frames.v[frames[i]].name;

		if (is_waiting_call(name) ||
		    (i < kernel && is_one_of(kernel_waits, ARRAY_SIZE(kernel_waits), name, strcspn(name, "."))))
			return true;
	}
	return false;
}

bool samples_is_lock_wait(const struct profile *p, const uint32_t *frames, size_t n, size_t kernel)
{
	for (size_t i = kernel; i < n && i < kernel + LOCK_DEPTH; i++) {
		const char *name = skip_prefix(p->frames.v[frames[i]].name, "__GI_");

		name += strspn(name, "_");
		if (is_one_of(locks, ARRAY_SIZE(locks), name, strcspn(name, "@.(")))
			return true;
	}
	return false;
}

/* Of the user part alone: the kernel part of a wait from before the recording is not known. */
static uint64_t hash_user_part(const struct samples *s, uint32_t i)
{
	const struct samples_stack *stack = &s->stacks.v[i];
	uint64_t ips[SAMPLES_FRAMES], hash = hash_pair(stack->pid, (uint64_t)stack->user << 8 | stack->end);

	samples_unpack(s, stack, ips);
	for (size_t k = 0; k < stack->user; k++)
		hash = hash_pair(hash, ips[stack->kernel + k]);
	return hash;
}

static bool is_same_user_part(const struct samples *s, const struct samples_stack *a, const struct samples_stack *b)
{
	uint64_t of_a[SAMPLES_FRAMES], of_b[SAMPLES_FRAMES];

	if (a->pid != b->pid || a->user != b->user || a->end != b->end)
		return false;
	samples_unpack(s, a, of_a);
	samples_unpack(s, b, of_b);
	return !memcmp(of_a + a->kernel, of_b + b->kernel, a->user * sizeof(*of_a));
}

uint32_t *samples_same_program(const struct samples *s)
{
	uint32_t *ret = calloc(s->stacks.n + 1, sizeof(*ret));
	struct index index = { 0 };
	int r = ret ? 0 : -ENOMEM;

	for (uint32_t i = 0; !r && i < s->stacks.n; i++) {
		uint64_t hash;

		ret[i] = i;
		if (!s->stacks.v[i].known || !s->stacks.v[i].user)
			continue;
		hash = hash_user_part(s, i);
		ret[i] = index_find(&index, hash, k, is_same_user_part(s, &s->stacks.v[k], &s->stacks.v[i]));
		if (ret[i] == SAMPLES_NONE) {
			ret[i] = i;
			r = index_add(&index, hash, i);
		}
	}
	index_done(&index);
	if (!r)
		return ret;
	free(ret);
	return NULL;
}

bool *samples_have_run(const struct samples *s)
{
	bool *ran = calloc(s->threads.n + 1, sizeof(*ran));

	for (size_t i = 0; ran && i < s->rows.n; i++)
		ran[s->rows.v[i].thread] |= s->rows.v[i].stack != SAMPLES_NONE || s->rows.v[i].waits == WAIT_NEW;
	return ran;
}

/* How long one thread slept in one stack. */
struct slept {
	uint32_t thread, stack;
	uint64_t ns;
};

static int compare_slept(const void *a, const void *b)
{
	const struct slept *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static size_t sum_sleeps(const struct samples *s, const uint32_t *same, struct slept *ret)
{
	size_t n = 0, joined = 0;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct samples_row *r = &s->rows.v[i];

		if (r->state == PROFILE_BLOCKED && r->waits == WAIT_SLEEPS && r->stack != SAMPLES_NONE)
			ret[n++] = (struct slept){ r->thread, same[r->stack], r->value_ns };
	}
	if (n)
		qsort(ret, n, sizeof(*ret), compare_slept);
	for (size_t i = 0; i < n; i++) {
		if (joined && !compare_slept(&ret[joined - 1], &ret[i]))
			ret[joined - 1].ns += ret[i].ns;
		else
			ret[joined++] = ret[i];
	}
	return joined;
}

uint32_t *samples_idle_stacks(const struct samples *s, const uint32_t *same)
{
	AUTO_FREE struct slept *slept = calloc(s->rows.n + 1, sizeof(*slept));
	uint32_t *ret = calloc(s->threads.n + 1, sizeof(*ret));
	size_t n;

	if (!slept || !ret) {
		free(ret);
		return NULL;
	}
	memset(ret, 0xff, (s->threads.n + 1) * sizeof(*ret));
	n = sum_sleeps(s, same, slept);
	for (size_t i = 0; i < n; i++) {
		const struct samples_thread *t = &s->threads.v[slept[i].thread];
		uint64_t there = t->last_ns - t->first_ns;

		if (t->tid != s->processes.v[t->process].pid && there && slept[i].ns >= there - there / 100)
			ret[slept[i].thread] = slept[i].stack;
	}
	return ret;
}

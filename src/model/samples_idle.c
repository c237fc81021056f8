/* SPDX-License-Identifier: MIT */
/* Which waits are those of somebody who has nothing to do. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "model/samples_priv.h"

#define USER_DEPTH 3	/* the system call's wrapper is among so many innermost frames of the program */

/* Calls that wait for what comes from outside, without the marks that libraries and the kernel put around them. */
static const char *const calls[] = {
	"accept", "accept4", "clock_nanosleep", "epoll_pwait", "epoll_pwait2", "epoll_wait", "io_getevents",
	"io_pgetevents", "io_uring_enter", "nanosleep", "pause", "poll", "ppoll", "pselect", "pselect6",
	"restart_syscall", "rt_sigsuspend", "rt_sigtimedwait", "select", "sigsuspend", "sigtimedwait", "sigwait",
	"sigwaitinfo", "sleep", "usleep", "wait4", "waitid", "waitpid",
};

/* Functions of the kernel that do the waiting of these, in whatever way they were called. */
static const char *const kernel_waits[] = {
	"do_epoll_wait", "do_nanosleep", "do_poll", "do_select", "do_sigtimedwait", "do_sys_poll", "do_wait", "ep_poll",
	"hrtimer_nanosleep", "inet_csk_accept", "inet_csk_wait_for_connect", "io_cqring_wait", "read_events",
	"sigsuspend", "unix_accept",
};

static bool is_one_of(const char *const *names, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	return false;
}

static const char *skip(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) ? name : name + n;
}

/* "__x64_sys_poll", "__GI___poll", "poll@@GLIBC_2.2.5" */
static bool is_call(const char *name)
{
	name = skip(name, "__GI_");
	name = skip(name, "__libc_");
	name = skip(name, "__x64_sys_");
	name = skip(name, "__se_sys_");
	name = skip(name, "__do_sys_");
	while (*name == '_')
		name++;
	return is_one_of(calls, ARRAY_SIZE(calls), name, strcspn(name, "@.("));
}

static bool is_kernel_wait(const char *name)
{
	return is_call(name) || is_one_of(kernel_waits, ARRAY_SIZE(kernel_waits), name, strcspn(name, "."));
}

bool samples_is_event_wait(const struct profile *p, const uint32_t *frames, size_t n, size_t kernel)
{
	for (size_t i = 0; i < n && i < kernel; i++)
		if (is_kernel_wait(p->frames.v[frames[i]].name))
			return true;
	for (size_t i = kernel; i < n && i < kernel + USER_DEPTH; i++)
		if (is_call(p->frames.v[frames[i]].name))
			return true;
	return false;
}

bool *samples_have_run(const struct samples *s)
{
	bool *ran = calloc(s->threads.n + 1, sizeof(*ran));

	for (size_t i = 0; ran && i < s->rows.n; i++)
		ran[s->rows.v[i].thread] |= s->rows.v[i].stack != SAMPLES_NONE || s->rows.v[i].waits == WAIT_NEW;
	return ran;
}

/* Where one thread slept in one stack. */
struct slept { uint32_t thread, stack; uint64_t ns; };

static int compare_slept(const void *a, const void *b)
{
	const struct slept *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static size_t collect_slept(const struct samples *s, struct slept *ret)
{
	size_t n = 0, joined = 0;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct samples_row *r = &s->rows.v[i];

		if (r->state == PROFILE_BLOCKED && r->waits == WAIT_SLEEPS && r->stack != SAMPLES_NONE)
			ret[n++] = (struct slept){ r->thread, r->stack, r->value_ns };
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

uint32_t *samples_idle_stacks(const struct samples *s)
{
	AUTO_FREE struct slept *slept = calloc(s->rows.n + 1, sizeof(*slept));
	uint32_t *ret = calloc(s->threads.n + 1, sizeof(*ret));
	size_t n;

	if (!slept || !ret) {
		free(ret);
		return NULL;
	}
	memset(ret, 0xff, (s->threads.n + 1) * sizeof(*ret));
	n = collect_slept(s, slept);
	for (size_t i = 0; i < n; i++) {
		const struct samples_thread *t = &s->threads.v[slept[i].thread];
		uint64_t there = t->last_ns - t->first_ns;

		if (t->tid != s->processes.v[t->process].pid && there && slept[i].ns >= there - there / 100)
			ret[slept[i].thread] = slept[i].stack;
	}
	return ret;
}

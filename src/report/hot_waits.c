/* SPDX-License-Identifier: MIT */
/* Finds the function a weight belongs to. A wait belongs to the function that called the plumbing. */
#include <string.h>

#include "base/auto.h"
#include "report/hot_priv.h"

static bool begins_with_any(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(s, list[i], strlen(list[i])))
			return true;
	return false;
}

bool hot_is_plumbing(uint8_t kind, const char *module, const char *name)
{
	static const char *const modules[] = {
		"libc.so",   "libc-2.", "libpthread", "ld-linux", "ld-musl",
		"libstdc++", "libc++",	"linux-vdso", "[vdso]",	  "libuv.so",
	};
	/* Wrappers that runtimes and C++ put around the C library's. */
	static const char *const names[] = {
		"uv_cond_",
		"uv_sem_",
		"uv_mutex_",
		"os::PlatformEvent::",
		"PlatformEvent::",
		"os::PlatformMonitor::",
		"PlatformMonitor::",
		"PlatformMutex::",
		"Parker::park",
		"Monitor::wait",
		"Mutex::lock",
		"std::condition_variable",
		"std::__condvar",
		"std::mutex",
		"std::unique_lock",
		"std::lock_guard",
		"__gthread_",
		"pthread_",
		"__pthread_",
		"___pthread_",
		"__GI_",
		"__libc_",
		"__internal_syscall_cancel",
		"__syscall_cancel",
		"__new_sem_wait",
		"sem_wait",
		"do_futex_wait",
		"futex_wait",
		"__futex",
		"__lll_",
		"void std::condition_variable",
		"PyThread_acquire_lock",
		"PosixSemaphore::",
		"v8::base::",
		"node::ConditionVariable",
	};

	if (kind == FRAME_WAITING || kind == FRAME_KERNEL)
		return true;
	return (module && begins_with_any(module, modules, ARRAY_SIZE(modules))) ||
	       begins_with_any(name, names, ARRAY_SIZE(names));
}

/* Code of the program: not the kernel, not a placeholder frame. */
static bool is_code(const struct profile *p, uint32_t node)
{
	const struct profile_frame *f = &p->frames.v[p->nodes.v[node].frame];

	return f->kind != FRAME_WAITING && f->kind != FRAME_KERNEL && (f->kind != FRAME_REASON || f->unnamed);
}

uint32_t hot_self_node(const struct profile *p, const struct profile_weight *w)
{
	uint32_t node = w->node;

	if (!hot_is_wait(w->state))
		return node;
	for (; node; node = p->nodes.v[node].parent) {
		const struct profile_frame *f = &p->frames.v[p->nodes.v[node].frame];

		if (is_code(p, node) && !hot_is_plumbing(f->kind, f->module, f->name))
			return node;
	}
	/* All frames belong to the C library or, as in kernel threads, to the kernel. */
	node = hot_wait_callee(p, w);
	if (node)
		return node;
	node = w->node;
	if (p->frames.v[p->nodes.v[node].frame].kind == FRAME_WAITING && p->nodes.v[node].parent)
		node = p->nodes.v[node].parent;
	return node;
}

uint32_t hot_wait_callee(const struct profile *p, const struct profile_weight *w)
{
	for (uint32_t node = w->node; node; node = p->nodes.v[node].parent)
		if (is_code(p, node))
			return node;
	return 0;
}

bool hot_is_idle(const struct hot *h, const struct profile_weight *w)
{
	const struct profile_node *nodes = h->p->nodes.v;
	uint32_t node = w->node;

	if (w->state != PROFILE_BLOCKED)
		return false;
	/* The frame with the thread's name may follow the idle frame. */
	return node && (h->idle[nodes[node].frame] || (nodes[node].parent && h->idle[nodes[nodes[node].parent].frame]));
}

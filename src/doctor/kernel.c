/* SPDX-License-Identifier: MIT */
/* What the kernel lets us do, in words: what works, what that is for, and what it takes where it does not. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "doctor/doctor_priv.h"

struct words {
	enum machine_trial what;
	enum check_state missing; /* CHECK_OK: nothing needs it */
	const char *thing, *good, *bad, *remedy;
};

#define NO_HARM "no command needs them, so nothing is lost"

static const struct words words[] = {
	{ TRY_KPROBE, CHECK_NO, "BPF for uprobes", "loads: USDT probes (u:) and functions (p:, r:)",
	  "USDT probes and functions cannot be traced",
	  "use a kernel with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and CONFIG_UPROBE_EVENTS" },
	{ TRY_SLEEPABLE, CHECK_NO, "BPF that may sleep",
	  "loads: texts are read whole, also where they are not in memory yet",
	  "probes with texts cannot be attached; those with numbers can", "use Linux 6.0 or later" },
	{ TRY_TRACEPOINT, CHECK_NO, "BPF for tracepoints",
	  "loads: kernel tracepoints (t:), and children can be followed",
	  "kernel tracepoints cannot be traced and children not followed", "use a kernel with CONFIG_BPF_EVENTS" },
	{ TRY_PERF_EVENT, CHECK_OK, "BPF for perf events", "loads (no command needs it yet)", NO_HARM, NULL },
	{ TRY_RAW_TRACEPOINT, CHECK_WARN, "BPF for raw tracepoints", "loads: how long programs stand still is measured",
	  "how long programs stand still cannot be measured; gc --no-measure shows lengths alone",
	  "use a kernel with CONFIG_BPF_EVENTS" },
	{ TRY_TRACING, CHECK_OK, "BPF for kernel functions (fentry)", "loads (no command needs it)", NO_HARM, NULL },
	{ TRY_LSM, CHECK_OK, "BPF for security hooks (LSM)", "loads (no command needs it)", NO_HARM, NULL },
	{ TRY_RING, CHECK_NO, "ring buffer", "there: events come out in the order they went in",
	  "events have no way out of the kernel", "use Linux 5.8 or later" },
	{ TRY_RING_ARRAY, CHECK_NO, "array of ring buffers", "there: one for each CPU",
	  "events have no way out of the kernel", "use Linux 5.8 or later" },
	{ TRY_COUNTERS, CHECK_NO, "counters in shared memory", "there: lost events are counted",
	  "lost events cannot be counted", "use Linux 5.5 or later" },
	{ TRY_STARTS, CHECK_WARN, "table of calls", "there: returns (r:) have durations",
	  "returns (r:) cannot be traced", "use Linux 4.10 or later" },
	{ TRY_FIRES, CHECK_NO, "a probe on ourselves", "attached, and every call seen",
	  "calls of a function of our own were not seen",
	  "another tracer or a seccomp filter may be in the way; try on the host" },
	{ TRY_COOKIE, CHECK_NO, "attach cookies", "there: one program serves many sites",
	  "a program cannot tell its sites apart", "use Linux 5.15 or later" },
	{ TRY_CLOCK, CHECK_NO, "clock", "the kernel's times are our CLOCK_MONOTONIC",
	  "the kernel's times are not our CLOCK_MONOTONIC", "run it outside of the time namespace" },
	{ TRY_SEMAPHORE, CHECK_NO, "raising semaphores",
	  "the kernel raises them while a probe is attached and lowers them after, also when we are killed",
	  "probes that are guarded by one stay silent", "use Linux 4.20 or later" },
	{ TRY_TRACEPOINT_EVENT, CHECK_WARN, "kernel events", "can be opened",
	  "kernel tracepoints (t:) and following children do not work", "use a kernel with CONFIG_FTRACE and tracefs" },
	{ TRY_MAPWATCH, CHECK_WARN, "new mappings",
	  "are seen: programs that start and libraries that load later are found (-a, --wait)",
	  "programs that start and libraries that load later are not found (-a, --wait)",
	  "raise kernel.perf_event_mlock_kb" },
};

static bool is_refused(int r) { return r == -EPERM || r == -EACCES; }

static void tell(struct checks *c, const struct words *w, int r)
{
	if (!r)
		checks_add(c, CHECK_OK, w->thing, NULL, "%s", w->good);
	else if (w->missing == CHECK_OK)
		checks_add(c, CHECK_OK, w->thing, NULL, "refused (%s); %s", strerror(-r), w->bad);
	else if (r == -EIO) /* attached, but it did not do what it should */
		checks_add(c, w->missing, w->thing, w->remedy, "%s", w->bad);
	else if (is_refused(r))
		checks_add(c, w->missing, w->thing,
			   geteuid() ? "run as root"
				     : "look for a security module, a seccomp filter or a container in the way",
			   "refused (%s): %s", strerror(-r), w->bad);
	else
		checks_add(c, w->missing, w->thing, w->remedy, "%s (%s)", w->bad, strerror(-r));
}

/* What cannot be known without rights is one line, not twenty. */
static void tell_all(struct checks *c, const struct machine *m, bool rights)
{
	struct buf untried = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		int r = m->tried[words[i].what];

		if (rights || !is_refused(r))
			tell(c, &words[i], r);
		else
			buf_addf(&untried, "%s%s", untried.len ? ", " : "", words[i].thing);
	}
	if (untried.data)
		checks_add(c, CHECK_WARN, "not tried", "sudo usertrace doctor", "we lack the rights for: %s",
			   untried.data);
	buf_done(&untried);
}

static void tell_attaching(struct checks *c, const struct machine *m)
{
	struct words older = { TRY_UPROBE_EVENT,
			       CHECK_NO,
			       "perf uprobes",
			       "there: the way of attaching that is left",
			       "there is no way of attaching",
			       "use a kernel with CONFIG_UPROBE_EVENTS" };

	if (m->multi) {
		checks_add(c, CHECK_OK, "multi-attach", NULL,
			   "there: hundreds of sites with one call, and let go at once");
		older.missing = CHECK_OK;
		older.good = "there too, for kernels without multi-attach";
		older.bad = "not needed with multi-attach";
	} else {
		checks_add(c, CHECK_WARN, "multi-attach", "use Linux 6.6 or later",
			   "not there: one call and two open files for each site; letting go of hundreds of sites "
			   "takes seconds");
	}
	tell(c, &older, m->tried[TRY_UPROBE_EVENT]);
}

static void tell_nop5(struct checks *c, unsigned harm)
{
	static const char remedy[] = "build programs with a probe header that emits a 1-byte nop, as <usertrace.h> and "
				     "<sys/sdt.h> do";

	if (harm & NOP5_UNTRIED) {
		checks_add(c, CHECK_WARN, "red zone", "run as root",
			   "could not be tried; sites on 5-byte nops are refused");
		return;
	}
	if (harm & NOP5_RED_ZONE)
		checks_add(c, CHECK_WARN, "red zone", remedy,
			   "a probe on a 5-byte nop writes below the stack pointer here; sites on such a nop inside a "
			   "function are refused, so that no program is harmed");
	else
		checks_add(c, CHECK_OK, "red zone", NULL,
			   "left alone: sites on 5-byte nops do not overwrite what a function keeps there");
	if (harm & NOP5_FORKS)
		checks_add(c, CHECK_WARN, "forked children", remedy,
			   "a probe on a 5-byte nop ends children that the program forks here; sites on such nops are "
			   "refused "
			   "unless --no-forks says that there are none");
	else
		checks_add(c, CHECK_OK, "forked children", NULL, "live on after a probe on a 5-byte nop was hit");
}

static void tell_speed(struct checks *c, const struct machine *m)
{
	if (m->jited)
		checks_add(c, CHECK_OK, "JIT", NULL, "on: programs run as machine code");
	else
		checks_add(c, CHECK_WARN, "JIT", "as root: sysctl net.core.bpf_jit_enable=1",
			   "off: programs are interpreted, and an event costs more");
}

static void tell_limits(struct checks *c, const struct machine *m)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	if (m->multi || files.rlim_cur >= 4096)
		checks_add(c, CHECK_OK, "open files", NULL, "up to %llu, which will do",
			   (unsigned long long)files.rlim_cur);
	else
		checks_add(c, CHECK_WARN, "open files", "ulimit -n 8192",
			   "up to %llu: enough for some %llu sites without multi-attach",
			   (unsigned long long)files.rlim_cur, (unsigned long long)files.rlim_cur / 2);
	/* every kernel with sleepable uprobe programs charges maps to the control group (5.11) */
	if (!m->tried[TRY_SLEEPABLE])
		checks_add(c, CHECK_OK, "memory", NULL,
			   "rings are charged to the control group: RLIMIT_MEMLOCK does not matter");
}

void doctor_kernel(struct checks *c)
{
	struct machine m;
	bool rights = doctor_may_attach();

	machine_try(&m);
	tell_all(c, &m, rights);
	if (rights) {
		tell_attaching(c, &m);
		tell_nop5(c, m.nop5_harm);
		tell_speed(c, &m);
	}
	tell_limits(c, &m);
	doctor_user_events(c, &m, rights);
	checks_add(c, CHECK_OK, "BTF", NULL, "%s",
		   m.btf ? "there: how a process ended is told with its spans, and how long programs stand still is "
			   "measured"
			 : "not there: how a process ended is not told with its spans");
}

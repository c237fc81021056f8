/* SPDX-License-Identifier: MIT */
/* The results of the trials as checks: what works, which feature requires it, and what to do where it does not. */
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

#define NO_HARM "not required by any command"

static const struct words words[] = {
	{ TRY_KPROBE, CHECK_NO, "BPF for uprobes", "loads: USDT probes (u:) and functions (p:, r:)",
	  "USDT probes and functions cannot be traced",
	  "use a kernel with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and CONFIG_UPROBE_EVENTS" },
	{ TRY_SLEEPABLE, CHECK_NO, "sleepable BPF",
	  "loads: strings are read completely, even if they are not in memory yet",
	  "probes with strings cannot be attached; those with numbers can", "use Linux 6.0 or later" },
	{ TRY_TRACEPOINT, CHECK_NO, "BPF for tracepoints",
	  "loads: kernel tracepoints (t:) can be traced and children followed",
	  "kernel tracepoints cannot be traced and children not followed", "use a kernel with CONFIG_BPF_EVENTS" },
	{ TRY_PERF_EVENT, CHECK_OK, "BPF for perf events", "loads (no command needs it yet)", NO_HARM, NULL },
	{ TRY_RAW_TRACEPOINT, CHECK_WARN, "BPF for raw tracepoints", "loads: stopped time can be measured",
	  "stopped time cannot be measured; gc --no-measure shows only durations",
	  "use a kernel with CONFIG_BPF_EVENTS" },
	{ TRY_TRACING, CHECK_OK, "BPF for kernel functions (fentry)", "loads (no command needs it)", NO_HARM, NULL },
	{ TRY_LSM, CHECK_OK, "BPF for security hooks (LSM)", "loads (no command needs it)", NO_HARM, NULL },
	{ TRY_RING, CHECK_NO, "ring buffer", "available: events are delivered in order",
	  "events cannot be delivered to user space", "use Linux 5.8 or later" },
	{ TRY_RING_ARRAY, CHECK_NO, "array of ring buffers", "available: one for each CPU",
	  "events cannot be delivered to user space", "use Linux 5.8 or later" },
	{ TRY_COUNTERS, CHECK_NO, "counters in shared memory", "available: lost events are counted",
	  "lost events cannot be counted", "use Linux 5.5 or later" },
	{ TRY_STARTS, CHECK_WARN, "table of calls", "available: returns (r:) have durations",
	  "returns (r:) cannot be traced", "use Linux 4.10 or later" },
	{ TRY_FIRES, CHECK_NO, "a probe on ourselves", "attached, and every call was seen",
	  "calls of a function of our own were not seen",
	  "another tracer or a seccomp filter may be in the way; try on the host" },
	{ TRY_COOKIE, CHECK_NO, "attach cookies", "available: one program serves many sites",
	  "a program cannot tell its sites apart", "use Linux 5.15 or later" },
	{ TRY_CLOCK, CHECK_NO, "clock", "timestamps of the kernel match CLOCK_MONOTONIC",
	  "timestamps of the kernel do not match CLOCK_MONOTONIC", "run usertrace outside the time namespace" },
	{ TRY_SEMAPHORE, CHECK_NO, "raising semaphores",
	  "the kernel raises them while a probe is attached and lowers them afterwards, even if usertrace is killed",
	  "probes guarded by a semaphore do not fire", "use Linux 4.20 or later" },
	{ TRY_TRACEPOINT_EVENT, CHECK_WARN, "tracepoints", "can be opened",
	  "kernel tracepoints (t:) and following children do not work", "use a kernel with CONFIG_FTRACE and tracefs" },
	{ TRY_MAPWATCH, CHECK_WARN, "new mappings",
	  "available: programs that start and libraries that load later are found (-a, --wait)",
	  "programs that start and libraries that load later are not found (-a, --wait)",
	  "raise kernel.perf_event_mlock_kb" },
};

static bool is_denied(int r) { return r == -EPERM || r == -EACCES; }

static void report_trial(struct checks *c, const struct words *w, int r)
{
	if (!r)
		checks_add(c, CHECK_OK, w->thing, NULL, "%s", w->good);
	else if (w->missing == CHECK_OK)
		checks_add(c, CHECK_OK, w->thing, NULL, "refused (%s); %s", strerror(-r), w->bad);
	else if (r == -EIO) /* attached, but did not behave as expected */
		checks_add(c, w->missing, w->thing, w->remedy, "%s", w->bad);
	else if (is_denied(r))
		checks_add(c, w->missing, w->thing,
			   geteuid() ? "run as root"
				     : "check for a security module, a seccomp filter or a container that blocks it",
			   "refused (%s): %s", strerror(-r), w->bad);
	else
		checks_add(c, w->missing, w->thing, w->remedy, "%s (%s)", w->bad, strerror(-r));
}

/* Tests that are not permitted become one line, not twenty. */
static void report_trials(struct checks *c, const struct machine *m, bool privileged)
{
	struct buf untried = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		int r = m->tried[words[i].what];

		if (privileged || !is_denied(r))
			report_trial(c, &words[i], r);
		else
			buf_addf(&untried, "%s%s", untried.len ? ", " : "", words[i].thing);
	}
	if (untried.data)
		checks_add(c, CHECK_WARN, "not tried", "sudo usertrace doctor", "not permitted: %s", untried.data);
	buf_done(&untried);
}

static void report_attaching(struct checks *c, const struct machine *m)
{
	struct words older = { TRY_UPROBE_EVENT,
			       CHECK_NO,
			       "perf uprobes",
			       "available: used to attach probes",
			       "probes cannot be attached",
			       "use a kernel with CONFIG_UPROBE_EVENTS" };

	if (m->multi) {
		checks_add(c, CHECK_OK, "multi-attach", NULL,
			   "available: hundreds of sites are attached with one call and detached quickly");
		older.missing = CHECK_OK;
		older.good = "also available, for kernels without multi-attach";
		older.bad = "not needed with multi-attach";
	} else {
		checks_add(c, CHECK_WARN, "multi-attach", "use Linux 6.6 or later",
			   "not available: each site needs one call and two open files; detaching hundreds of sites "
			   "takes seconds");
	}
	report_trial(c, &older, m->tried[TRY_UPROBE_EVENT]);
}

static void report_nop5(struct checks *c, unsigned harm)
{
	static const char remedy[] = "build programs with a probe header that emits a 1-byte nop, as <usertrace.h> and "
				     "<sys/sdt.h> do";

	if (harm & NOP5_UNTRIED) {
		checks_add(c, CHECK_WARN, "red zone", "run as root",
			   "could not be tested; sites on 5-byte nops are rejected");
		return;
	}
	if (harm & NOP5_RED_ZONE)
		checks_add(c, CHECK_WARN, "red zone", remedy,
			   "a probe on a 5-byte nop writes below the stack pointer on this kernel; sites on such a nop "
			   "inside a function are rejected to protect programs");
	else
		checks_add(c, CHECK_OK, "red zone", NULL, "preserved: probes on 5-byte nops do not overwrite it");
	if (harm & NOP5_FORKS)
		checks_add(c, CHECK_WARN, "forked children", remedy,
			   "a probe on a 5-byte nop crashes forked children on this kernel; sites on such nops are "
			   "rejected unless --no-forks is given");
	else
		checks_add(c, CHECK_OK, "forked children", NULL, "survive a probe on a 5-byte nop");
}

static void report_limits(struct checks *c, const struct machine *m)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	if (m->multi || files.rlim_cur >= 4096)
		checks_add(c, CHECK_OK, "open files", NULL, "limit is %llu, sufficient",
			   (unsigned long long)files.rlim_cur);
	else
		checks_add(c, CHECK_WARN, "open files", "ulimit -n 8192",
			   "limit is %llu, sufficient for about %llu sites without multi-attach",
			   (unsigned long long)files.rlim_cur, (unsigned long long)files.rlim_cur / 2);
	/* every kernel with sleepable uprobe programs charges maps to the control group (5.11) */
	if (!m->tried[TRY_SLEEPABLE])
		checks_add(c, CHECK_OK, "memory", NULL,
			   "ring buffers are charged to the control group: RLIMIT_MEMLOCK does not apply");
}

void doctor_kernel(struct checks *c)
{
	struct machine m;
	bool privileged = doctor_may_attach();

	machine_try(&m);
	report_trials(c, &m, privileged);
	if (privileged) {
		report_attaching(c, &m);
		report_nop5(c, m.nop5_harm);
		if (m.jited)
			checks_add(c, CHECK_OK, "JIT", NULL, "on: BPF programs run as machine code");
		else
			checks_add(c, CHECK_WARN, "JIT", "as root: sysctl net.core.bpf_jit_enable=1",
				   "off: BPF programs are interpreted, so events cost more");
	}
	report_limits(c, &m);
	doctor_user_events(c, &m, privileged);
	checks_add(c, CHECK_OK, "BTF", NULL, "%s",
		   m.btf ? "available: spans report exit status, and stopped time can be measured"
			 : "not available: spans do not report the exit status");
}

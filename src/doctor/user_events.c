/* SPDX-License-Identifier: MIT */
/* Checks of user events: which of the two transports works here, and what an event costs, untraced and traced. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/doctor_priv.h"

struct ns_text {
	char s[32];
};

/* "0.8 ns", "162 ns": the last digits of a measurement are noise. */
static struct ns_text ns_text(double ns)
{
	struct ns_text ret;

	ns = ns > 0 ? ns : 0;
	snprintf(ret.s, sizeof(ret.s), "%.*f ns", ns < 9.95 ? 1 : 0, ns);
	return ret;
}

void doctor_user_events(struct checks *c, const struct machine *m, bool privileged)
{
	/* measuring the cost of an untraced event needs no privileges */
	if (m->tried[TRY_PRCTL_ALLOWED])
		checks_add(c, CHECK_WARN, "prctl", "allow prctl in the seccomp filter of this container or service",
			   "a seccomp filter rejects the call (%s): prctl events from here cannot be traced; other "
			   "filters kill the calling program",
			   strerror(-m->tried[TRY_PRCTL_ALLOWED]));
	else
		checks_add(c, CHECK_OK, "prctl", NULL,
			   "not restricted: an untraced prctl event costs a failing system call, %s",
			   ns_text(m->costs.prctl_off_ns).s);
	if (!privileged) {
		checks_add(c, CHECK_WARN, "user events", "sudo usertrace doctor",
			   "not permitted to test whether they can be traced, and at what cost");
		return;
	}
	if (m->tried[TRY_PRCTL] == -EIO)
		checks_add(c, CHECK_WARN, "prctl events", "events of usertrace.h do not need it",
			   "attached, but a test call was not seen");
	else if (m->tried[TRY_PRCTL])
		checks_add(c, CHECK_WARN, "prctl events", "use a kernel with CONFIG_FTRACE_SYSCALLS and tracefs",
			   "cannot be traced: no tracepoint syscalls:sys_enter_prctl (%s)",
			   strerror(-m->tried[TRY_PRCTL]));
	else if (m->costs.prctl_measured)
		checks_add(
			c, CHECK_OK, "prctl events", NULL,
			"can be traced: a traced one costs at least %s, and every system call of this machine %s more",
			ns_text(m->costs.prctl_on_ns).s, ns_text(m->costs.other_ns).s);
	else
		checks_add(c, CHECK_OK, "prctl events", NULL, "can be traced");
	if (m->tried[TRY_FIRES])
		checks_add(c, CHECK_WARN, "usertrace.h events", "see \"a probe on ourselves\"", "cannot be traced");
	else if (m->costs.site_measured)
		checks_add(c, CHECK_OK, "usertrace.h events", NULL,
			   "can be traced: an untraced event costs a load and a branch, a traced one at least %s",
			   ns_text(m->costs.site_on_ns).s);
	else
		checks_add(c, CHECK_OK, "usertrace.h events", NULL, "can be traced");
}

/* SPDX-License-Identifier: MIT */
/* User events in words: which of the two lanes works here, and what each costs, off and on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/doctor_priv.h"

struct ns_text {
	char s[32];
};

/* "0.8 ns", "162 ns": a measurement's last digits mean nothing. */
static struct ns_text ns_text(double ns)
{
	struct ns_text ret;

	ns = ns > 0 ? ns : 0;
	snprintf(ret.s, sizeof(ret.s), "%.*f ns", ns < 9.95 ? 1 : 0, ns);
	return ret;
}

static void tell_site(struct checks *c, const struct machine *m)
{
	if (m->tried[TRY_FIRES])
		checks_add(c, CHECK_WARN, "events by usertrace.h", "see «a probe on ourselves»", "cannot be traced");
	else if (m->costs.site_measured)
		checks_add(c, CHECK_OK, "events by usertrace.h", NULL,
			   "can be traced: an event is a load and a branch that is not taken, and costs its program at "
			   "least %s while it is traced",
			   ns_text(m->costs.site_on_ns).s);
	else
		checks_add(c, CHECK_OK, "events by usertrace.h", NULL, "can be traced");
}

/* What a program pays that nobody listens to is known without rights. */
static void tell_prctl_off(struct checks *c, const struct machine *m)
{
	if (m->tried[TRY_PRCTL_ALLOWED])
		checks_add(c, CHECK_WARN, "prctl", "let the filter of this container or service allow prctl",
			   "a seccomp filter refuses the call (%s): events by prctl from here are not seen; other "
			   "filters kill the program that calls",
			   strerror(-m->tried[TRY_PRCTL_ALLOWED]));
	else
		checks_add(c, CHECK_OK, "prctl", NULL,
			   "not refused here: an event by prctl that nobody traces costs a failing system call, %s",
			   ns_text(m->costs.prctl_off_ns).s);
}

static void tell_prctl_on(struct checks *c, const struct machine *m)
{
	if (m->tried[TRY_PRCTL] == -EIO)
		checks_add(c, CHECK_WARN, "events by prctl", "events by usertrace.h do not need it",
			   "attached, but a call of our own was not seen");
	else if (m->tried[TRY_PRCTL])
		checks_add(c, CHECK_WARN, "events by prctl", "use a kernel with CONFIG_FTRACE_SYSCALLS and tracefs",
			   "cannot be traced: no tracepoint syscalls:sys_enter_prctl (%s)",
			   strerror(-m->tried[TRY_PRCTL]));
	else if (m->costs.prctl_measured)
		checks_add(
			c, CHECK_OK, "events by prctl", NULL,
			"can be traced: one costs its program at least %s while they are traced, and every system call "
			"of this machine %s more",
			ns_text(m->costs.prctl_on_ns).s, ns_text(m->costs.other_ns).s);
	else
		checks_add(c, CHECK_OK, "events by prctl", NULL, "can be traced");
}

void doctor_user_events(struct checks *c, const struct machine *m, bool rights)
{
	tell_prctl_off(c, m);
	if (!rights) {
		checks_add(c, CHECK_WARN, "user events", "sudo usertrace doctor",
			   "we lack the rights to try whether they can be traced, and what that costs");
		return;
	}
	tell_prctl_on(c, m);
	tell_site(c, m);
}

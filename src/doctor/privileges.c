/* SPDX-License-Identifier: MIT */
/* The kernel release, our capabilities, the settings that restrict them, namespaces and tracefs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "doctor/doctor_priv.h"
#include "proc/process.h"
#include "proc/procfs.h"
#include "proc/tracefs.h"

/* PROC_USER_INIT_INO of include/linux/proc_ns.h; the same on every machine. */
#define FIRST_USER_NS 0xEFFFFFFDu

static const struct capability {
	unsigned cap, or_cap; /* either is sufficient */
	enum check_state missing;
	const char *thing, *without;
} capabilities[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, CHECK_NO, "CAP_BPF", "programs cannot be loaded" },
	{ CAP_PERFMON, CAP_SYS_ADMIN, CHECK_NO, "CAP_PERFMON", "programs cannot be attached" },
	{ CAP_SYS_PTRACE, CAP_SYS_PTRACE, CHECK_WARN, "CAP_SYS_PTRACE", "only your own processes can be inspected" },
	{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CHECK_WARN, "CAP_DAC_READ_SEARCH",
	  "files that are not readable for you cannot be opened" },
	{ CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, CHECK_WARN, "CAP_CHECKPOINT_RESTORE",
	  "deleted or replaced files of running programs cannot be opened" },
};

/* Reads the first line of a small file, without its line feed; false if there is none. */
static bool first_line(const char *path, char *ret, int size)
{
	AUTO_FCLOSE FILE *f = fopen(path, "re");

	if (!f || !fgets(ret, size, f))
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

static bool in_first_user_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) || st.st_ino == FIRST_USER_NS;
}

static uint64_t effective_capabilities(void)
{
	AUTO_BUF struct buf status = { 0 };
	const char *line;

	if (procfs_read(getpid(), "status", &status) || !status.data)
		return 0;
	line = strstr(status.data, "\nCapEff:");
	return line ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : 0;
}

static bool has_capability(uint64_t caps, const struct capability *c)
{
	return (caps >> c->cap | caps >> c->or_cap) & 1;
}

bool doctor_may_attach(void)
{
	uint64_t caps = effective_capabilities();

	return in_first_user_namespace() && has_capability(caps, &capabilities[0]) &&
	       has_capability(caps, &capabilities[1]);
}

static void check_kernel_version(struct checks *c)
{
	struct utsname u;

	if (uname(&u))
		return;
	if (strcmp(u.machine, "x86_64"))
		checks_add(c, CHECK_NO, "kernel", "use it on x86-64",
			   "Linux %s on %s: arguments can be located only on x86-64", u.release, u.machine);
	else
		checks_add(c, CHECK_OK, "kernel", NULL, "Linux %s on %s", u.release, u.machine);
}

static void check_capabilities(struct checks *c)
{
	uint64_t caps = effective_capabilities();
	bool missing = false;

	if (!in_first_user_namespace()) {
		checks_add(c, CHECK_NO, "privileges",
			   "run it outside the namespace: on the host, or in a privileged container",
			   "user %u of a separate user namespace, whose capabilities do not apply to tracing",
			   geteuid());
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		if (has_capability(caps, &capabilities[i]))
			continue;
		missing = true;
		checks_add(c, capabilities[i].missing, capabilities[i].thing,
			   "run usertrace as root (sudo usertrace …)", "user %u does not have it: %s", geteuid(),
			   capabilities[i].without);
	}
	if (!missing)
		checks_add(c, CHECK_OK, "privileges", NULL, "%s all capabilities that tracing requires",
			   geteuid() ? "not root, but" : "root, with");
}

/* Settings that users suspect; they do not restrict a process with these capabilities. */
static void check_sysctls(struct checks *c)
{
	char value[32];

	if (first_line("/proc/sys/kernel/unprivileged_bpf_disabled", value, sizeof(value)))
		checks_add(c, CHECK_OK, "unprivileged_bpf_disabled", NULL,
			   "%s: it restricts processes without CAP_BPF; tracing requires CAP_BPF in any case", value);
	if (first_line("/proc/sys/kernel/perf_event_paranoid", value, sizeof(value)))
		checks_add(c, CHECK_OK, "perf_event_paranoid", NULL,
			   "%s: it restricts processes without CAP_PERFMON; tracing requires CAP_PERFMON in any case",
			   value);
}

/* /proc/kallsyms shows zeroes instead of addresses to unprivileged readers. */
static void check_kernel_symbols(struct checks *c)
{
	char line[256], value[32] = "?";

	first_line("/proc/sys/kernel/kptr_restrict", value, sizeof(value));
	if (!first_line("/proc/kallsyms", line, sizeof(line)))
		checks_add(c, CHECK_WARN, "kernel symbols", "a kernel with CONFIG_KALLSYMS",
			   "kernel stacks (%%K) are numbers");
	else if (!strtoull(line, NULL, 16))
		checks_add(c, CHECK_WARN, "kernel symbols", geteuid() ? "run as root" : "sysctl kernel.kptr_restrict=1",
			   "hidden (kptr_restrict is %s): kernel stacks (%%K) are numbers", value);
	else
		checks_add(c, CHECK_OK, "kernel symbols", NULL,
			   "readable (kptr_restrict is %s): kernel stacks (%%K) have names", value);
}

/* "none [integrity] confidentiality": the mode in brackets is the current one. */
static void check_lockdown(struct checks *c)
{
	char line[128];

	if (!first_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		return;
	if (strstr(line, "[confidentiality]"))
		checks_add(
			c, CHECK_NO, "lockdown", "boot with lockdown=integrity or none (Secure Boot may set it)",
			"confidentiality: BPF programs cannot read memory, so strings and pointers cannot be followed");
	else
		checks_add(c, CHECK_OK, "lockdown", NULL, "%s: it does not restrict tracing", line);
}

static void check_pid_namespace(struct checks *c)
{
	if (process_in_first_pid_namespace())
		checks_add(c, CHECK_OK, "pid namespace", NULL,
			   "the host's: events have the PIDs that are visible here");
	else
		checks_add(c, CHECK_WARN, "pid namespace",
			   "run it on the host, or in a container that shares the host's (docker run --pid=host)",
			   "not the host's: events have the PIDs of the host, which are different here; commands, "
			   "children and kernel tracepoints of a process are not recognized (use --no-follow for "
			   "commands)");
}

static void check_tracefs(struct checks *c)
{
	struct ut_err err = { 0 };
	AUTO_CLOSE int fd = tracefs_open(&err);
	char where[256] = "";

	tracefs_where(where, sizeof(where));
	if (fd < 0)
		checks_add(c, CHECK_WARN, "tracefs", "u:, p: and r: probes of running programs do not need it", "%s",
			   err.msg);
	else if (where[0])
		checks_add(c, CHECK_OK, "tracefs", NULL,
			   "mounted at %s: kernel tracepoints (t:) can be traced and children followed", where);
	else
		checks_add(c, CHECK_OK, "tracefs", NULL,
			   "not mounted, but usertrace mounts it privately: kernel tracepoints (t:) can be traced and "
			   "children followed");
}

void doctor_privileges(struct checks *c)
{
	check_kernel_version(c);
	check_capabilities(c);
	check_sysctls(c);
	check_lockdown(c);
	check_pid_namespace(c);
	check_kernel_symbols(c);
	check_tracefs(c);
}

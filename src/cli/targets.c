/* SPDX-License-Identifier: MIT */
/* Checks of the combinations of target options. */
#include "cli/targets.h"

#include <string.h>
#include <unistd.h>

static bool ring_size_is_right(uint64_t bytes)
{
	return !bytes || (!(bytes & (bytes - 1)) && bytes >= 4096 && bytes <= (1u << 30));
}

int targets_check(const struct ut_cmd *cmd, struct target_opts *t, char *const *command, bool needed)
{
	if (!t->set.duration_ns)
		return usage_error(cmd, "--duration must be greater than 0");
	if (t->pids.n && t->set.all)
		return cli_exclusive(cmd, "-p", "-a");
	if (command && (t->pids.n || t->set.all))
		return cli_exclusive(cmd, t->set.all ? "-a" : "-p", "a command after '--'");
	if (needed && !t->set.all && !t->pids.n && !command)
		return usage_error(cmd, "no target: give -p PID, -a for all processes, or a command after '--'");
	if (t->follow && t->no_follow)
		return cli_exclusive(cmd, "--follow", "--no-follow");
	if (t->follow && !t->pids.n && !command)
		return usage_error(cmd, "--follow requires a process (-p) or a command");
	if (!ring_size_is_right(t->set.ring_bytes))
		return usage_error(cmd, "--buffer must be a power of two from 4K to 1G");
	t->set.pids = t->pids.v;
	t->set.npids = t->pids.n;
	t->set.command = command;
	t->set.follow = command ? !t->no_follow : t->follow;
	if (t->set.duration_ns == UINT64_MAX)
		t->set.duration_ns = 0;
	return EXIT_OK;
}

bool targets_is_pid(const char *operand) { return operand[0] && !operand[strspn(operand, "0123456789,")]; }

int targets_unexpected(const struct ut_cmd *cmd, const char *operand)
{
	if (targets_is_pid(operand))
		return usage_error(cmd, "unexpected argument '%s'; did you mean -p %s?", operand, operand);
	return usage_error(cmd, "unexpected argument '%s'; a command goes after '--'", operand);
}

void targets_done(struct target_opts *t)
{
	if (t->set.stop_fd >= 0)
		close(t->set.stop_fd);
	pid_list_done(&t->pids);
}

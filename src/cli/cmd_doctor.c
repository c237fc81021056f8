/* SPDX-License-Identifier: MIT */
/* `usertrace doctor`: what this kernel, these rights and one process allow, and how to get what is missing. */
#include "base/auto.h"
#include "cli/commands.h"

struct opts {
	struct pid_list pids;
	bool json;
};

static const struct ut_opt options[] = {
	{ 'p', "pid", "PID", "also look at these processes: runtime, probes, namespaces, switches", OPT_PIDS,
	  offsetof(struct opts, pids) },
	{ 0, "json", NULL, "one JSON object a line", OPT_FLAG, offsetof(struct opts, json) },
};

static int run(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct opts opts = {0};
	int operands, status;
	bool done;

	status = cli_parse(cmd, argc, argv, &opts, &operands, NULL, &done);
	pid_list_done(&opts.pids);
	return status;
}

const struct ut_cmd cmd_doctor = {
	.name = "doctor",
	.usage = "[-p PID] [--json]",
	.summary = "what this kernel, these rights and a process allow, and how to get what is missing",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run,
};

/* SPDX-License-Identifier: MIT */
/* `usertrace doctor`: reports what this kernel, our privileges and a process allow, and how to get what is missing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "cli/commands.h"
#include "doctor/doctor.h"

struct opts {
	struct pid_list pids;
	bool json, runtimes, verbose;
	const char *runtime_file;
};

static const struct ut_opt options[] = {
	{ 'p', "pid", "PID", "check these processes first: runtime, probes, namespaces, flags", OPT_PIDS,
	  offsetof(struct opts, pids) },
	{ 'v', "verbose", NULL, "with -p, also show what is ok on the machine", OPT_FLAG,
	  offsetof(struct opts, verbose) },
	{ 0, "runtimes", NULL, "check the runtime definitions against the runtimes on this machine", OPT_FLAG,
	  offsetof(struct opts, runtimes) },
	{ 0, "runtime", "FILE", "the same, including the runtime definition in FILE", OPT_STRING,
	  offsetof(struct opts, runtime_file) },
	{ 0, "json", NULL, "print one JSON object per line", OPT_FLAG, offsetof(struct opts, json) },
};

static const char *const state_names[] = { [CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_NO] = "no" };

/* A message that marks a position in a definition has further lines for that. */
static void add_check_text(struct buf *out, const struct check *check)
{
	size_t start = out->len, first = strcspn(check->meaning, "\n");

	buf_adds(out, state_names[check->state]);
	buf_pad(out, start, 6);
	buf_add_escaped(out, check->thing, strlen(check->thing));
	buf_adds(out, ": ");
	buf_add_escaped(out, check->meaning, first);
	if (check->remedy)
		buf_addf(out, " — %s", check->remedy);
	buf_addc(out, '\n');
	for (const char *line = check->meaning + first; *line; line += strcspn(line, "\n")) {
		line++;
		buf_fill(out, ' ', 6);
		buf_add_escaped(out, line, strcspn(line, "\n"));
		buf_addc(out, '\n');
	}
}

static void add_check_json(struct buf *out, const struct check *check)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", "check");
	if (check->pid)
		json_u64(&j, "pid", (uint64_t)check->pid);
	json_string(&j, "state", state_names[check->state]);
	json_string(&j, "name", check->thing);
	json_string(&j, "message", check->meaning);
	if (check->remedy)
		json_string(&j, "remedy", check->remedy);
	json_line(&j);
}

/* The heading of the machine's checks, which follow those of processes. */
static void add_machine_heading(struct buf *out, const struct checks *checks, size_t from, bool brief)
{
	size_t ok = 0, n = checks->all.n - from;

	for (size_t i = from; i < checks->all.n; i++)
		ok += checks->all.v[i].state == CHECK_OK;
	buf_adds(out, "\nthis machine");
	if (brief)
		buf_addf(out, ", where %zu of %zu checks are ok; -v shows all", ok, n);
	buf_addc(out, '\n');
}

/* Prints the checks that were added since the last call, as the next ones may take long. The exit status. */
static int print_checks(const struct ut_cmd *cmd, const struct checks *checks, size_t *printed, const struct opts *opts)
{
	bool json = opts->json, brief = opts->pids.n && !opts->verbose && !json;
	struct buf out = { 0 };
	int status = EXIT_OK;
	pid_t pid = *printed ? checks->all.v[*printed - 1].pid : 0;

	if (ferror(stdout)) /* which was reported */
		return EXIT_FAILED;
	for (size_t i = *printed; i < checks->all.n; i++) {
		const struct check *check = &checks->all.v[i];

		if (check->state == CHECK_NO)
			status = EXIT_FAILED;
		if (!json && check->pid != pid && check->pid)
			buf_addf(&out, "%sprocess %d\n", i ? "\n" : "", check->pid);
		else if (!json && check->pid != pid)
			add_machine_heading(&out, checks, i, brief);
		pid = check->pid;
		if (brief && !pid && check->state == CHECK_OK && !opts->runtimes && !opts->runtime_file)
			continue;
		if (json)
			add_check_json(&out, check);
		else
			add_check_text(&out, check);
	}
	*printed = checks->all.n;
	if (out.failed || checks->failed)
		status = cli_fail(cmd, EXIT_FAILED, "out of memory");
	else if (out.data && (fputs(out.data, stdout) == EOF || fflush(stdout)))
		status = cli_fail(cmd, EXIT_FAILED, "cannot write the report: %s", strerror(errno));
	buf_done(&out);
	return status;
}

static int check_processes(const struct ut_cmd *cmd, struct checks *checks, size_t *printed, const struct opts *opts)
{
	int status = EXIT_OK;

	for (size_t i = 0; i < opts->pids.n; i++) {
		int more;

		doctor_process(checks, opts->pids.v[i]);
		more = print_checks(cmd, checks, printed, opts);
		status = more ? more : status;
	}
	checks->pid = 0;
	return status;
}

/* After processes all checks are printed at once, below one heading. */
static int check_machine(const struct ut_cmd *cmd, struct checks *checks, size_t *printed, const struct opts *opts)
{
	int status = EXIT_OK, more;

	doctor_privileges(checks);
	if (!opts->pids.n)
		status = print_checks(cmd, checks, printed, opts);
	doctor_kernel(checks);
	more = print_checks(cmd, checks, printed, opts);
	return more ? more : status;
}

static int check_all(const struct ut_cmd *cmd, struct checks *checks, const struct opts *opts, char *const *paths,
		     size_t npaths)
{
	size_t printed = 0;
	int status, more;

	if (opts->runtimes || opts->runtime_file) {
		doctor_runtimes(checks, opts->runtime_file, paths, npaths);
		status = print_checks(cmd, checks, &printed, opts);
		more = check_processes(cmd, checks, &printed, opts);
	} else {
		status = check_processes(cmd, checks, &printed, opts);
		more = check_machine(cmd, checks, &printed, opts);
	}
	return more ? more : status;
}

static int run_doctor(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct opts opts = { 0 };
	struct checks checks = { 0 };
	int operands, status;
	bool done;

	status = cli_parse(cmd, argc, argv, &opts, &operands, NULL, &done);
	if (!done && operands && !opts.runtimes && !opts.runtime_file) {
		status = usage_error(
			cmd, "unexpected argument '%s'; files are accepted only with --runtimes, and a process with -p",
			argv[0]);
	} else if (!done) {
		status = check_all(cmd, &checks, &opts, argv, (size_t)operands);
	}
	checks_done(&checks);
	pid_list_done(&opts.pids);
	return status;
}

const struct ut_cmd cmd_doctor = {
	.name = "doctor",
	.usage = "[-p PID] [-v] [--json] | --runtimes [--runtime FILE] [-p PID] [--json] [PATH…]",
	.summary = "check what the kernel, your privileges and a process allow",
	.details = "A line begins with ok, warn (works in part, or at a cost) or no (missing).\nExit status 0: events "
		   "can be traced; 1: something required is missing, or a runtime definition has\nan error.\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_doctor,
};

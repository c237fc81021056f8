/* SPDX-License-Identifier: MIT */
/* `usertrace gc`: garbage collections and other pauses as they end, and their summary. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/gc_output.h"
#include "cli/running.h"
#include "cli/targets.h"
#include "cli/terminal.h"

struct opts {
	struct target_opts targets;
	bool json, only_summary, summary, measure;
	uint64_t min_ns, count;
	const char *kinds, *runtime;
	struct line_output output;
};

#define AT(member) offsetof(struct opts, member)

static const struct ut_opt options[] = {
	OPT_TARGETS(struct opts, "watch", "watch every runtime of the machine, including those that start later"),
	{ 'k', "kind", "LIST",
	  "show these kinds: gc, gc-phase, safepoint, compile, class-load, park, request, exception, thread, signal "
	  "(comma-separated), or all (default: gc, and signals in the summary)",
	  OPT_STRING, AT(kinds) },
	{ 'm', "min", "TIME", "hide events shorter than TIME (5ms, 0.5); the summary still counts them", OPT_SECONDS,
	  AT(min_ns) },
	{ 0, "runtime", "FILE", "also use the runtime definition in FILE", OPT_STRING, AT(runtime) },
	OPT_TARGET_DURATION(struct opts),
	{ 'n', "count", "COUNT", "stop after COUNT lines", OPT_U64, AT(count) },
	{ 's', "summary", NULL, "print only the summary", OPT_FLAG, AT(only_summary) },
	{ 0, "no-summary", NULL, "print only the lines", OPT_NOFLAG, AT(summary) },
	{ 'o', "output", "FILE", "write to FILE instead of standard output", OPT_STRING, AT(output.path) },
	{ 0, "json", NULL, "print one JSON object per line", OPT_FLAG, AT(json) },
	{ 0, "no-measure", NULL, "do not measure stopped time, only durations (less overhead)", OPT_NOFLAG,
	  AT(measure) },
	OPT_TARGET_BUFFER(struct opts),
	OPT_TARGET_VERBOSE(struct opts),
};

/* Checks the combination of options; EXIT_OK, or the status of a usage error. */
static int check_gc_options(const struct ut_cmd *cmd, struct opts *o, char *const *operands, int noperands,
			    char *const *command)
{
	int status = noperands ? targets_unexpected(cmd, operands[0]) : targets_check(cmd, &o->targets, command, true);

	if (status)
		return status;
	if (!o->count)
		return usage_error(cmd, "--count must be greater than 0");
	if (o->only_summary && !o->summary)
		return cli_exclusive(cmd, "--summary", "--no-summary");
	if (o->only_summary && o->count != UINT64_MAX)
		return usage_error(cmd, "--count and --summary are mutually exclusive: a summary has no lines");
	return EXIT_OK;
}

struct run {
	const struct ut_cmd *cmd;
	struct opts o;
	char **command;
	struct runtimes runtimes;
	struct gc_watch *watch;
	struct gc_output *output;
	struct session_totals totals;
};

static int open_gc_watch(struct run *run, struct ut_err *err)
{
	const struct opts *o = &run->o;
	struct gc_watch_options wo = {
		.targets = o->targets.set,
		.kinds = o->kinds,
		.max_spans = o->count == UINT64_MAX ? 0 : o->count,
		.no_measure = !o->measure,
	};
	int r = runtimes_load(&run->runtimes, err);

	if (!r && o->runtime)
		r = runtimes_load_file(&run->runtimes, o->runtime, err);
	return r ? r : gc_watch_open(&wo, &run->runtimes, &run->watch, err);
}

static int open_gc_output(struct run *run, struct ut_err *err)
{
	struct gc_output_options oo = { .lines = !run->o.only_summary,
					.summary = run->o.summary,
					.min_ns = run->o.min_ns,
					.all = run->o.targets.set.all };
	int r = gc_kinds_parse(run->o.kinds ? run->o.kinds : "gc", &oo.kinds, err);

	if (!r)
		r = line_output_open(&run->o.output, err);
	if (r)
		return r;
	oo.fd = run->o.output.fd;
	oo.live.json = run->o.json;
	oo.live.color = !run->o.json && terminal_wants_color(oo.fd);
	oo.live.process = run->o.targets.set.all || run->o.targets.follow || run->command || run->o.targets.pids.n > 1;
	clock_both(&oo.live.mono_ns, &oo.live.wall_ns);
	run->output = gc_output_new(&oo);
	return run->output ? 0 : ut_err_nomem(err);
}

static int start_gc(struct run *run, struct ut_err *err)
{
	struct gc_watch_sink sink = gc_output_sink(run->output);
	AUTO_FREE char *log = NULL;
	int r = gc_watch_start(run->watch, &sink, &log, err);

	print_verifier_log(log);
	if (r)
		return r;
	r = gc_output_start(run->output, gc_watch_start_ns(run->watch));
	print_attached(session_plan(gc_watch_session(run->watch)), &run->o.targets.pids, false);
	return r;
}

static int fail_gc(struct run *run, const struct ut_err *err, int r)
{
	int status = fail_running(run->cmd, err, r, run->o.output.path);

	finish_command(run->o.targets.set.stop_fd, gc_watch_session(run->watch));
	return status;
}

static int watch_until_end(struct run *run)
{
	struct ut_err err = { 0 };
	enum session_end end = SESSION_STOPPED;
	int r = start_gc(run, &err);

	if (r && err.msg[0])
		return fail_running(run->cmd, &err, r, run->o.output.path);
	if (!r)
		r = gc_watch_run(run->watch, &end, &run->totals, &err);
	if (!r) {
		print_end_reason(&run->o.targets.pids, end);
		r = gc_output_end(run->output, gc_watch_start_ns(run->watch) + run->totals.elapsed_ns);
	}
	if (r && r != -EPIPE)
		return fail_gc(run, &err, r);
	if (!r) { /* else the reader closed the pipe */
		if (!gc_output_processes(run->output) && run->command)
			fprintf(stderr, "usertrace: '%s' started no known runtime that reports these kinds\n",
				run->command[0]);
		else if (!gc_output_processes(run->output) && run->o.targets.set.all)
			fputs("usertrace: no runtime that reports these kinds was running\n", stderr);
		print_totals(&run->totals, false, "use a larger --buffer or fewer kinds");
		print_lost_lifecycle(run->totals.lost_lifecycle, "");
	}
	return finish_command(run->o.targets.set.stop_fd, gc_watch_session(run->watch));
}

static int run_gc(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run run = {
		.cmd = cmd,
		.o = { .output.fd = -1,
		       .targets = { TARGET_OPTS_UNSET },
		       .count = UINT64_MAX,
		       .summary = true,
		       .measure = true },
	};
	struct ut_err err = { 0 };
	bool done = false;
	int noperands = 0, status = cli_parse(cmd, argc, argv, &run.o, &noperands, &run.command, &done);

	if (!done)
		status = check_gc_options(cmd, &run.o, argv, noperands, run.command);
	if (!done && !status) {
		run.o.targets.set.stop_fd = stop_signals_open(&err);
		if (run.o.targets.set.stop_fd < 0 || open_gc_watch(&run, &err) || open_gc_output(&run, &err))
			status = cli_fail_err(cmd, &err);
		else
			status = watch_until_end(&run);
	}
	gc_watch_close(run.watch);
	gc_output_free(run.output);
	runtimes_done(&run.runtimes);
	line_output_close(&run.o.output);
	targets_done(&run.o.targets);
	return status;
}

const struct ut_cmd cmd_gc = {
	.name = "gc",
	.usage = "[-p PID | -a] [OPTION…] [-- COMMAND…]",
	.summary = "show garbage collections, and for how long they stopped the program",
	.details =
		"Prints one line per garbage collection as it ends: when it began, how long it took, for how long it\n"
		"stopped the program, and what it freed. A summary of each process follows at the end.\n"
		"No runtime needs a restart, a flag or an agent, unless the summary says so.\n"
		"\n"
		"Examples:\n"
		"  usertrace gc -p 123                           collections of one process\n"
		"  usertrace gc -p 123 --min 5ms                 only long ones; the summary has all\n"
		"  usertrace gc -p 123 --kind all -d 10 -s       a summary of everything in ten seconds\n"
		"  usertrace gc -a                               all runtimes of the machine, including new ones\n"
		"  usertrace gc -- ruby script.rb                a program from start to end\n"
		"  usertrace gc -a --json | jq 'select(.type == \"span\" and .duration_ns > 5e6)'\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_gc,
};

/* SPDX-License-Identifier: MIT */
/* `usertrace gc`: where programs stood still: collections and the like as they end, and what they add up to. */
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

/* What options mean together; EXIT_OK, or the status of a usage error. */
static int check_options(const struct ut_cmd *cmd, struct opts *o, char *const *operands, int noperands,
			 char *const *command)
{
	int status = noperands ? targets_unexpected(cmd, operands[0]) : targets_check(cmd, &o->targets, command, true);

	if (status)
		return status;
	if (!o->count)
		return cli_fail(cmd, EXIT_USAGE, "--count must be greater than 0");
	if (o->only_summary && !o->summary)
		return cli_exclusive(cmd, "--summary", "--no-summary");
	if (o->only_summary && o->count != UINT64_MAX)
		return cli_fail(cmd, EXIT_USAGE,
				"--count and --summary are mutually exclusive: a summary has no lines");
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

static int open_watch(struct run *r, struct ut_err *err)
{
	const struct opts *o = &r->o;
	struct gc_watch_options wo = {
		.targets = o->targets.set,
		.kinds = o->kinds,
		.max_spans = o->count == UINT64_MAX ? 0 : o->count,
		.no_measure = !o->measure,
	};
	int code = runtimes_load(&r->runtimes, err);

	if (!code && o->runtime)
		code = runtimes_load_file(&r->runtimes, o->runtime, err);
	return code ? code : gc_watch_open(&wo, &r->runtimes, &r->watch, err);
}

static int open_output(struct run *r, struct ut_err *err)
{
	struct gc_output_options oo = {
		.lines = !r->o.only_summary, .summary = r->o.summary, .min_ns = r->o.min_ns, .all = r->o.targets.set.all
	};
	int code = gc_kinds_parse(r->o.kinds ? r->o.kinds : "gc", &oo.kinds, err);

	if (!code)
		code = line_output_open(&r->o.output, err);
	if (code)
		return code;
	oo.fd = r->o.output.fd;
	oo.live.json = r->o.json;
	oo.live.color = !r->o.json && terminal_wants_color(oo.fd);
	oo.live.process = r->o.targets.set.all || r->o.targets.follow || r->command || r->o.targets.pids.n > 1;
	clock_both(&oo.live.mono_ns, &oo.live.wall_ns);
	r->output = gc_output_new(&oo);
	return r->output ? 0 : ut_err_nomem(err);
}

static int start(struct run *r, struct ut_err *err)
{
	struct gc_watch_sink sink = gc_output_sink(r->output);
	AUTO_FREE char *log = NULL;
	int code = gc_watch_start(r->watch, &sink, &log, err);

	say_log(log);
	if (code)
		return code;
	code = gc_output_start(r->output, gc_watch_start_ns(r->watch));
	say_attached(gc_watch_plan(r->watch), &r->o.targets.pids, false);
	return code;
}

static void say_totals(const struct run *r)
{
	const struct session_totals *t = &r->totals;
	char a[32], b[32], c[32];

	fprintf(stderr, "usertrace: %s %s in %s, %s lost", human_count(t->events, a), plural(t->events, "event"),
		human_ns(t->elapsed_ns, b), human_count(t->lost, c));
	if (t->missed)
		fprintf(stderr, ", %s missed (BPF program recursion)", human_count(t->missed, a));
	if (t->lost)
		fputs("; use a larger --buffer or fewer kinds", stderr);
	fputs("\n", stderr);
	if (t->lost_lifecycle)
		fprintf(stderr, "usertrace: %s %s lost\n", human_count(t->lost_lifecycle, a),
			t->lost_lifecycle == 1 ? "fork, exec or end" : "forks, execs or ends");
}

/* Nobody was watched: with a command, it never became a runtime. */
static void say_nobody(const struct run *r)
{
	if (gc_output_processes(r->output))
		return;
	if (r->command)
		fprintf(stderr, "usertrace: '%s' started no known runtime that reports these kinds\n", r->command[0]);
	else if (r->o.targets.set.all)
		fputs("usertrace: no runtime that reports these kinds was running\n", stderr);
}

static int exit_status(struct run *r)
{
	int status;

	stop_signals_restore(r->o.targets.set.stop_fd);
	status = r->command ? gc_watch_command_status(r->watch) : EXIT_OK;
	return status > 0 ? status : EXIT_OK;
}

static int fail(struct run *r, const struct ut_err *err, int code)
{
	int status = fail_running(r->cmd, err, code, r->o.output.path);

	exit_status(r); /* a command goes on to its end, whatever became of us */
	return status;
}

static int watch(struct run *r)
{
	struct ut_err err = { 0 };
	enum session_end end = SESSION_STOPPED;
	int code = start(r, &err);

	if (code && err.msg[0])
		return fail_running(r->cmd, &err, code, r->o.output.path);
	if (!code)
		code = gc_watch_run(r->watch, &end, &r->totals, &err);
	if (!code) {
		say_end(&r->o.targets.pids, end);
		code = gc_output_end(r->output, gc_watch_start_ns(r->watch) + r->totals.elapsed_ns);
	}
	if (code == -EPIPE)
		return exit_status(r); /* the reader has seen enough */
	if (code)
		return fail(r, &err, code);
	say_nobody(r);
	say_totals(r);
	return exit_status(r);
}

static int run(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run r = {
		.cmd = cmd,
		.o = { .output.fd = -1,
		       .targets = { TARGET_OPTS_UNSET },
		       .count = UINT64_MAX,
		       .summary = true,
		       .measure = true },
	};
	struct ut_err err = { 0 };
	bool done = false;
	int noperands = 0, status = cli_parse(cmd, argc, argv, &r.o, &noperands, &r.command, &done);

	if (!done)
		status = check_options(cmd, &r.o, argv, noperands, r.command);
	if (!done && !status) {
		r.o.targets.set.stop_fd = stop_signals_open(&err);
		if (r.o.targets.set.stop_fd < 0 || open_watch(&r, &err) || open_output(&r, &err))
			status = cli_fail_err(cmd, &err);
		else
			status = watch(&r);
	}
	gc_watch_close(r.watch);
	gc_output_free(r.output);
	runtimes_done(&r.runtimes);
	line_output_close(&r.o.output);
	targets_done(&r.o.targets);
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
	.run = run,
};

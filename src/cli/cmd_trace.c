/* SPDX-License-Identifier: MIT */
/* `usertrace trace`: probes of running programs, printed as they happen. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/running.h"
#include "cli/targets.h"
#include "cli/trace_output.h"
#include "watch/stack_names.h"

struct opts {
	struct target_opts targets;
	bool wall_time, since_start, cpu, json, explain, strict, no_multi, no_prctl, no_forks, no_sleep;
	uint64_t max_events, text_limit;
	struct line_output output;
};

#define AT(member) offsetof(struct opts, member)

static const struct ut_opt options[] = {
	OPT_TARGETS(struct opts, "trace", "trace every process, including those that start later"),
	{ 'w', "wait", NULL, "do not fail on a missing probe; attach when its file is mapped", OPT_FLAG,
	  AT(targets.set.wait) },
	{ 'T', "time", NULL, "print the time of day", OPT_FLAG, AT(wall_time) },
	{ 't', "timestamp", NULL, "print seconds since the start", OPT_FLAG, AT(since_start) },
	{ 'C', "cpu", NULL, "print the CPU", OPT_FLAG, AT(cpu) },
	{ 'M', "max-events", "N", "stop after N events", OPT_U64, AT(max_events) },
	OPT_TARGET_DURATION(struct opts),
	{ 'o', "output", "FILE", "write to FILE instead of standard output", OPT_STRING, AT(output.path) },
	{ 0, "json", NULL, "print one JSON object per line", OPT_FLAG, AT(json) },
	{ 'S', "string-size", "BYTES", "maximum bytes to capture per string (default 1024, at most 4096)", OPT_SIZE,
	  AT(text_limit) },
	OPT_TARGET_BUFFER(struct opts),
	{ 0, "strict", NULL, "exit with status 3 if events were lost", OPT_FLAG, AT(strict) },
	{ 0, "explain", NULL, "print the plan and its instructions without attaching anything (needs no root)",
	  OPT_FLAG, AT(explain) },
	{ 0, "one-by-one", NULL, "attach each site separately, as on kernels before 6.6", OPT_FLAG, AT(no_multi) },
	{ 0, "no-prctl", NULL,
	  "trace only user events (e:) of <usertrace.h>: tracing prctl slows down every system call a little", OPT_FLAG,
	  AT(no_prctl) },
	{ 0, "no-sleep", NULL, "do not wait for memory that is not resident (for untrusted programs)", OPT_FLAG,
	  AT(no_sleep) },
	{ 0, "no-forks", NULL,
	  "assume targets never fork: use faster probe sites that crash forked children on this kernel", OPT_FLAG,
	  AT(no_forks) },
	OPT_TARGET_VERBOSE(struct opts),
};

/* Checks the combination of options; EXIT_OK, or the status of a usage error. */
static int check_trace_options(const struct ut_cmd *cmd, struct opts *o, char *const *probes, int nprobes,
			       char *const *command)
{
	for (int i = 0; i < nprobes; i++) {
		if (targets_is_pid(probes[i]))
			return targets_unexpected(cmd, probes[i]);
		if (i && !strchr(probes[i], ':'))
			return usage_error(cmd,
					   "'%s' is not a probe: a probe is KIND:WHERE:NAME as one quoted argument; a "
					   "command goes after '--'",
					   probes[i]);
	}
	if (!o->max_events)
		return usage_error(cmd, "--max-events must be greater than 0");
	if (!nprobes && !o->targets.set.all && !o->targets.pids.n && !command)
		return usage_error(cmd,
				   "no probe given; try 'u:python:gc__start', 'usertrace list -p PID' to list probes, "
				   "or -a for user events");
	if (o->text_limit < 1 || o->text_limit > GEN_TEXT_LIMIT_MAX)
		return usage_error(cmd, "--string-size must be from 1 to 4096 bytes");
	return targets_check(cmd, &o->targets, command, false);
}

struct run {
	const struct ut_cmd *cmd;
	struct opts o;
	struct runtimes runtimes;
	struct session *session;
	struct trace_output *output;
	struct session_sink sink;
	struct session_totals totals;
	char *log; /* of the verifier, when it rejected a program */
};

static int open_session(struct run *run, char *const *probes, int nprobes, struct ut_err *err)
{
	static const char *const everything[] = { "e:*" }; /* without a probe: all user events */
	struct session_options so = {
		.probes = nprobes ? (const char *const *)probes : everything,
		.nprobes = nprobes ? (size_t)nprobes : 1,
		.targets = run->o.targets.set,
		.explain = run->o.explain,
		.text_limit = (uint32_t)run->o.text_limit,
		.max_events = run->o.max_events,
		.no_multi = run->o.no_multi,
		.no_prctl = run->o.no_prctl,
		.no_forks = run->o.no_forks,
		.no_sleep = run->o.no_sleep,
	};
	int r = runtimes_load(&run->runtimes, err);

	so.lifecycle = stack_names_wants_lives(so.probes, so.nprobes);
	return r ? r : session_open(&so, &run->runtimes, &run->session, err);
}

static int print_plan(struct run *run)
{
	struct buf text = { 0 };

	plan_explain(session_plan(run->session), &text);
	for (size_t i = 0; i < session_plan(run->session)->requests.n; i++)
		if (!session_plan(run->session)->requests.v[i].nprobes)
			buf_addf(&text, "%s: cannot be resolved before its file is mapped; try -p PID\n",
				 session_plan(run->session)->requests.v[i].text);
	fwrite(text.data ? text.data : "", 1, text.len, stdout);
	buf_done(&text);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}

static int open_trace_output(struct run *run, struct ut_err *err)
{
	struct trace_output_options oo = {
		.live = { .json = run->o.json,
			  .wall_time = run->o.wall_time,
			  .since_start = run->o.since_start,
			  .cpu = run->o.cpu },
		.header = true,
	};

	if (line_output_open(&run->o.output, err))
		return err->code;
	oo.fd = run->o.output.fd;
	clock_both(&oo.live.mono_ns, &oo.live.wall_ns);
	run->output = trace_output_new(&oo, session_plan(run->session), &run->runtimes);
	if (!run->output)
		return ut_err_nomem(err);
	run->sink = trace_output_sink(run->output);
	for (size_t i = 0; i < run->o.targets.pids.n; i++)
		trace_output_add_process(run->output, run->o.targets.pids.v[i]);
	return 0;
}

#define ROWS_MAX 30

/* Calls of r: probes without an event. */
static void print_calls(const struct session_totals *t)
{
	char number[32];

	if (t->left)
		fprintf(stderr, "usertrace: %s %s left without a return (exception, longjmp or end of the thread)\n",
			human_count(t->left, number), t->left == 1 ? "call was" : "calls were");
	if (t->unknown_returns)
		fprintf(stderr, "usertrace: %s %s of calls that began before tracing ignored\n",
			human_count(t->unknown_returns, number), plural(t->unknown_returns, "return"));
}

static void print_trace_totals(const struct run *run)
{
	const struct plan *plan = session_plan(run->session);
	struct buf text = { 0 };
	char number[32];
	size_t rows = 0;

	print_totals(&run->totals, true, "use a larger --buffer, a narrower predicate or fewer probes");
	print_calls(&run->totals);
	trace_output_totals(run->output, &text);
	if (text.len)
		fprintf(stderr, "usertrace: %s", text.data);
	print_lost_lifecycle(run->totals.lost_lifecycle, ", so spans may appear open");
	if (run->totals.malformed)
		fprintf(stderr, "usertrace: %s user %s of an unknown kind ignored\n",
			human_count(run->totals.malformed, number), plural(run->totals.malformed, "event"));
	for (size_t i = 0; i < plan->probes.n; i++) {
		const struct plan_probe *p = &plan->probes.v[i];
		uint64_t events = p->events + trace_output_count(run->output, i);

		if (!events || ++rows > ROWS_MAX)
			continue;
		fprintf(stderr, "%12s  ", human_count(events, number));
		buf_reset(&text);
		buf_addf(&text, "%s:%s", p->provider, p->func);
		cli_print_sentence(text.data ? text.data
					     : ""); /* the names are from a file that anyone may have written */
	}
	if (rows > ROWS_MAX)
		fprintf(stderr, "%12s  and %zu more\n", "", rows - ROWS_MAX);
	buf_done(&text);
}

/* Where nothing fired, the hints of the runtimes may explain it. */
static void explain_silence(const struct run *run)
{
	const struct plan *plan = session_plan(run->session);
	const struct runtime *hinted = NULL;
	struct buf silent = { 0 };

	trace_output_silent(run->output, &silent);
	for (char *line = silent.data, *end; line && (end = strchr(line, '\n')); line = end + 1)
		fprintf(stderr, "usertrace: %.*s\n", (int)(end - line), line);
	buf_done(&silent);
	if (!run->totals.events && plan_wants_user_events(plan) && run->o.targets.pids.n && !run->o.targets.follow)
		fputs("usertrace: use -f to trace the user events of its children, such as those of 'usertrace emit' "
		      "in a script\n",
		      stderr);
	for (size_t i = 0; !run->totals.events && i < plan->probes.n; i++) {
		const struct runtime *rt = runtime_of_provider(&run->runtimes, plan->probes.v[i].provider);

		if (!rt || rt == hinted)
			continue;
		hinted = rt;
		for (size_t k = 0; k < rt->hint.n; k++)
			fprintf(stderr, "%s%s\n", k ? "  " : "usertrace: nothing fired; possible reasons:\n  ",
				rt->hint.v[k]);
	}
}

static int fail_trace(struct run *run, const struct ut_err *err, int r)
{
	int status = fail_running(run->cmd, err, r, run->o.output.path);

	finish_command(run->o.targets.set.stop_fd, run->session);
	return status;
}

static int trace_until_end(struct run *run)
{
	struct ut_err err = { 0 };
	enum session_end end = SESSION_STOPPED;
	const struct plan *plan = session_plan(run->session);
	const struct process_id *descendants;
	size_t n;
	int r = open_trace_output(run, &err), stopped, status;
	bool unmatched = false;

	if (!r)
		r = session_start(run->session, &run->sink, &run->log, &err);
	descendants = r ? NULL : session_descendants(run->session, &n);
	for (size_t i = 0; descendants && i < n; i++)
		trace_output_add_process(run->output, descendants[i].pid);
	if (!r && trace_output_start(run->output, session_start_ns(run->session)))
		r = ut_err_nomem(&err);
	if (r) {
		print_verifier_log(run->log);
		return fail_running(run->cmd, &err, r, run->o.output.path);
	}
	print_attached(plan, &run->o.targets.pids, !plan_is_complete(plan));
	r = run->sink.flush(run->output); /* the header */
	if (!r)
		r = session_run(run->session, &run->sink, &end, &err);
	stopped = session_stop(run->session, &run->sink, &run->totals, &err);
	r = r ? r : stopped;
	if (!r)
		r = trace_output_stop(run->output, session_start_ns(run->session) + run->totals.elapsed_ns);
	if (r && r != -EPIPE)
		return fail_trace(run, &err, r);
	if (!r) { /* else the reader closed the pipe */
		print_end_reason(&run->o.targets.pids, end);
		unmatched = print_unmatched(run->cmd, run->session);
		print_trace_totals(run);
		explain_silence(run);
	}
	status = finish_command(run->o.targets.set.stop_fd, run->session);
	if (run->o.strict && (run->totals.lost || run->totals.missed))
		return EXIT_LOST;
	return unmatched ? EXIT_FAILED : status;
}

static int run_trace(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run run = {
		.cmd = cmd,
		.o = { .output.fd = -1,
		       .text_limit = 1024,
		       .max_events = UINT64_MAX,
		       .targets = { TARGET_OPTS_UNSET } },
	};
	struct ut_err err = { 0 };
	char **command = NULL;
	bool done = false;
	int nprobes = 0, status = cli_parse(cmd, argc, argv, &run.o, &nprobes, &command, &done);

	if (!done)
		status = check_trace_options(cmd, &run.o, argv, nprobes, command);
	if (!done && !status) {
		run.o.targets.set.stop_fd = stop_signals_open(&err);
		if (run.o.targets.set.stop_fd < 0 || open_session(&run, argv, nprobes, &err))
			status = cli_fail_err(cmd, &err);
		else
			status = run.o.explain ? print_plan(&run) : trace_until_end(&run);
	}
	session_close(run.session);
	trace_output_free(run.output);
	runtimes_done(&run.runtimes);
	line_output_close(&run.o.output);
	free(run.log);
	targets_done(&run.o.targets);
	return status;
}

const struct ut_cmd cmd_trace = {
	.name = "trace",
	.usage = "[-p PID | -a] [OPTION…] [PROBE…] [-- COMMAND…]",
	.summary = "print events as they happen",
	.details =
		"A PROBE is one argument: KIND:WHERE:NAME [(PREDICATE)] [\"FORMAT\"[, EXPRESSION]...], where KIND is\n"
		"  u  USDT probe              u:PROVIDER|LIBRARY|PATH:NAME\n"
		"  p  function entry          p:LIBRARY|PATH:FUNCTION[+OFFSET]\n"
		"  r  function return         r:LIBRARY|PATH:FUNCTION      (retval, duration)\n"
		"  t  kernel tracepoint       t:CATEGORY:EVENT             (its fields by name)\n"
		"  e  user event              e:NAME                       (kind, value, id, text, duration)\n"
		"  s  signal handler          s:SIGNAL, s:*                (kind, value: the code, duration)\n"
		"Without a probe, but with -p, -a or a command, all user events are traced (e:*).\n"
		"\n"
		"Examples:\n"
		"  usertrace trace -p 123 'u:python:gc__*'\n"
		"  usertrace trace -p 123 'u:hotspot:gc__begin' 'u:hotspot:gc__end' -t\n"
		"  usertrace trace 'r:libc.so.6:malloc (retval == 0)'\n"
		"  usertrace trace 'p:libc.so.6:malloc (arg1 > 65536) \"%u bytes%U\", arg1' -- ruby script.rb\n"
		"  usertrace trace -a                            all user events\n"
		"  usertrace trace -a 'e:gc (duration > 5ms)'\n"
		"  usertrace trace -a --json 't:sched:sched_process_exec \"%s\", filename'\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_trace,
};

/* SPDX-License-Identifier: MIT */
/* `usertrace profile`: where programs spend their time, with a name for every frame. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/commands.h"
#include "base/out_file.h"
#include "watch/profile_record.h"
#include "cli/profile_file.h"
#include "cli/profile_summary.h"
#include "cli/running.h"
#include "cli/targets.h"
#include "out/out.h"

#define FREQUENCY 999u
#define FREQUENCY_UNSET UINT64_MAX

struct opts {
	struct target_opts targets;
	struct string_list on;
	bool off_cpu, lines, kernel, gc, per_thread, icicle, idle, json, strict;
	uint64_t frequency;
	const char *output, *to, *title;
};

#define AT(member) offsetof(struct opts, member)

static const struct ut_opt options[] = {
	OPT_TARGETS(struct opts, "profile", "profile every process, including those that start later"),
	{ 'F', "frequency", "HZ",
	  "samples per second on each CPU, on average (default 999); 0 records only the waits of --off-cpu", OPT_U64,
	  AT(frequency) },
	{ 0, "off-cpu", NULL, "also record where threads wait, and for how long", OPT_FLAG, AT(off_cpu) },
	{ 0, "on", "PROBE", "take a sample each time this probe fires, not by the clock; can be repeated", OPT_STRINGS,
	  AT(on) },
	OPT_TARGET_DURATION(struct opts),
	{ 'o', "output", "FILE", "write the profile to FILE in the format of its suffix instead of printing a table",
	  OPT_STRING, AT(output) },
	{ 0, "to", "FORMAT",
	  "write svg, folded, pprof or speedscope, whatever the suffix of FILE, or to standard output", OPT_STRING,
	  AT(to) },
	{ 0, "lines", NULL, "show inlined calls and source lines, if there is debugging information", OPT_FLAG,
	  AT(lines) },
	{ 0, "no-kernel", NULL, "omit the frames of the kernel", OPT_NOFLAG, AT(kernel) },
	{ 0, "no-gc", NULL, "do not trace garbage collections", OPT_NOFLAG, AT(gc) },
	{ 0, "per-thread", NULL, "show each thread separately", OPT_FLAG, AT(per_thread) },
	{ 0, "icicle", NULL, "put the outermost frames at the top of a flame graph", OPT_FLAG, AT(icicle) },
	{ 0, "title", "TEXT", "set the title of the profile", OPT_STRING, AT(title) },
	{ 0, "idle", NULL, "with --off-cpu, show idle waits with their stacks", OPT_FLAG, AT(idle) },
	{ 0, "json", NULL, "print the table as JSON", OPT_FLAG, AT(json) },
	OPT_TARGET_BUFFER(struct opts),
	{ 0, "strict", NULL, "exit with status 3 if samples were lost", OPT_FLAG, AT(strict) },
	OPT_TARGET_VERBOSE(struct opts),
};

struct run {
	const struct ut_cmd *cmd;
	struct opts o;
	char **command;
	const struct out_format *format; /* NULL: the table */
	struct runtimes runtimes;
	struct profile_record record;
	struct profile_progress progress;
	struct profile *profile;
};

static int choose_frequency(struct run *run)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	struct opts *o = &run->o;
	unsigned long long max = 0; /* not known */

	if (file && fscanf(file, "%llu", &max) != 1)
		max = 0;
	if (o->frequency == FREQUENCY_UNSET) {
		o->frequency = o->on.n ? 0 : max && max < FREQUENCY ? max : FREQUENCY;
		return EXIT_OK;
	}
	if (!o->frequency && !o->off_cpu && !o->on.n)
		return usage_error(run->cmd, "-F 0 takes no samples; it requires --off-cpu or --on");
	if (o->frequency > 1000000 || (max && o->frequency > max))
		return usage_error(
			run->cmd,
			"-F %llu exceeds the kernel's limit of %llu (sysctl kernel.perf_event_max_sample_rate)",
			(unsigned long long)o->frequency, max ? max : 1000000);
	return EXIT_OK;
}

/* Nothing is recorded that could not be written afterwards. */
static int check_profile_output(struct run *run)
{
	const struct opts *o = &run->o;
	AUTO(buf_done) struct buf all = { 0 };
	struct ut_err err = { 0 };

	if (o->json && (o->output || o->to))
		return usage_error(run->cmd, "--json and -o or --to are mutually exclusive: --json prints the table");
	if (!o->output && !o->to)
		return EXIT_OK;
	run->format = o->to ? out_format_named(o->to) : out_format_of(o->output);
	for (size_t i = 0; !run->format && out_formats[i]; i++)
		buf_addf(&all, "%s%s", i ? ", " : "", o->to ? out_formats[i]->name : out_formats[i]->suffixes);
	if (!run->format && o->to)
		return usage_error(run->cmd, "unknown format '%s'; valid formats: %s", o->to, all.data ? all.data : "");
	if (!run->format)
		return usage_error(run->cmd,
				   "unknown suffix of '%s'; valid formats: %s; --to FORMAT works with any suffix",
				   o->output, all.data ? all.data : "");
	if (!o->output && run->format == &out_pprof && isatty(STDOUT_FILENO))
		return usage_error(run->cmd, "refusing to write binary pprof data to the terminal; use -o FILE");
	return o->output && out_file_check(o->output, &err) ? cli_fail_err(run->cmd, &err) : EXIT_OK;
}

static int check_profile_options(struct run *run, char *const *operands, int n)
{
	int status;

	if (n && strchr(operands[0], ':'))
		return usage_error(run->cmd, "unexpected argument '%s'; did you mean --on '%s'?", operands[0],
				   operands[0]);
	if (n)
		return targets_unexpected(run->cmd, operands[0]);
	status = targets_check(run->cmd, &run->o.targets, run->command, true);
	if (status)
		return status;
	if (run->o.idle && !run->o.off_cpu)
		return usage_error(run->cmd, "--idle requires --off-cpu");
	for (size_t i = 0; i < run->o.on.n; i++) {
		const char *text = run->o.on.v[i] + strspn(run->o.on.v[i], " \t");

		/* no BPF program runs at user events and signal handlers, so nothing could unwind there */
		if ((text[0] == 'e' || text[0] == 's') && text[1] == ':')
			return usage_error(run->cmd,
					   "--on '%s': these events have no stacks; use a u:, p:, r: or t: probe "
					   "(usertrace trace '%s' prints the events)",
					   text, text);
	}
	status = choose_frequency(run);
	return status ? status : check_profile_output(run);
}

static int open_record(struct run *run, struct ut_err *err)
{
	const struct opts *o = &run->o;
	struct profile_record_options ro = {
		.targets = o->targets.set,
		.probes = o->on.v,
		.nprobes = o->on.n,
		.frequency_hz = (uint32_t)o->frequency,
		.waits = o->off_cpu,
		.no_kernel = !o->kernel,
		.gc = o->gc,
		.lines = o->lines,
	};
	struct profile_record_sink sink = profile_summary_sink(&run->progress);
	int r = runtimes_load(&run->runtimes, err);

	run->progress.wanted = isatty(STDERR_FILENO);
	return r ? r : profile_record_open(&ro, &run->runtimes, &sink, &run->record, err);
}

static int write_format(void *ctx, int fd, struct ut_err *err)
{
	const struct run *run = ctx;
	struct out_options oo = { .title = run->o.title, .per_thread = run->o.per_thread, .icicle = run->o.icicle };

	return run->format->write(run->profile, &oo, fd, err);
}

static int write_recorded(struct run *run, struct ut_err *err)
{
	/* a reader that stopped reading must not keep usertrace alive */
	if (!run->o.output || out_file_is_special(run->o.output))
		stop_signals_restore(run->o.targets.set.stop_fd);
	if (run->o.output)
		return out_file_write(run->o.output, write_format, run, err);
	return run->format ? write_format(run, STDOUT_FILENO, err)
			   : profile_write_hot(run->profile, &(struct hot_options){ .threads = run->o.per_thread },
					       run->o.json, STDOUT_FILENO);
}

static int fail_profile(struct run *run, const struct ut_err *err, int r)
{
	int status = fail_running(run->cmd, err, r, run->o.output);

	finish_command(run->o.targets.set.stop_fd, run->record.session);
	return status;
}

static int record_profile(struct run *run)
{
	struct ut_err err = { 0 };
	enum session_end end = SESSION_STOPPED;
	AUTO_FREE char *log = NULL;
	int r = profile_record_run(&run->record, &end, &log, &err), status;
	bool unmatched;

	profile_clear_progress(&run->progress);
	print_verifier_log(log);
	if (r && !run->record.stop_ns)
		return fail_running(run->cmd, &err, r, run->o.output); /* the recording did not start */
	if (r)
		return fail_profile(run, &err, r);
	print_end_reason(&run->o.targets.pids, end);
	if (profile_record_build(&run->record, run->o.idle, &run->profile))
		return fail_profile(run, (ut_err_nomem(&err), &err), -ENOMEM);
	unmatched = run->o.on.n && print_unmatched(run->cmd, run->record.session);
	profile_print_totals(&run->record, run->profile);
	profile_explain_empty(&run->record, run->profile);
	r = write_recorded(run, &err);
	if (r && r != -EPIPE) /* a reader that closed the pipe is no failure */
		return fail_profile(run, &err, r);
	status = finish_command(run->o.targets.set.stop_fd, run->record.session);
	if (run->o.strict && (run->record.totals.lost || run->record.totals.missed))
		return EXIT_LOST;
	return status == EXIT_OK && unmatched ? EXIT_FAILED : status;
}

static int run_profile(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run run = {
		.cmd = cmd,
		.o = { .targets = { TARGET_OPTS_UNSET }, .frequency = FREQUENCY_UNSET, .kernel = true, .gc = true },
	};
	struct ut_err err = { 0 };
	bool done = false;
	int n = 0, status = cli_parse(cmd, argc, argv, &run.o, &n, &run.command, &done);

	if (!done)
		status = check_profile_options(&run, argv, n);
	if (!done && !status) {
		run.o.targets.set.stop_fd = stop_signals_open(&err);
		if (run.o.targets.set.stop_fd < 0 || open_record(&run, &err))
			status = cli_fail_err(cmd, &err);
		else
			status = record_profile(&run);
	}
	profile_free(run.profile);
	profile_record_done(&run.record);
	runtimes_done(&run.runtimes);
	vec_done(&run.o.on);
	targets_done(&run.o.targets);
	return status;
}

const struct ut_cmd cmd_profile = {
	.name = "profile",
	.usage = "[-p PID | -a] [OPTION…] [-- COMMAND…]",
	.summary = "show where the time goes, with a name for every frame",
	.details =
		"Without -o, prints a table of functions by their own time and including callees. With -o, writes a\n"
		"file: FILE.svg is a flame graph, FILE.folded has folded stacks, FILE.pb.gz is for pprof.\n"
		"Programs need no frame pointers and no debugging information. Every frame without a name says why.\n"
		"\n"
		"Examples:\n"
		"  usertrace profile -p 123 -d 10                    functions that ran\n"
		"  usertrace profile -p 123 -d 10 -o out.svg         the same as a flame graph\n"
		"  usertrace profile -p 123 --off-cpu -o out.svg     including waits\n"
		"  usertrace profile -a -d 5 -o all.folded           the whole machine\n"
		"  usertrace profile -p 123 --on 'u:hotspot:object__alloc' -o alloc.svg\n"
		"  usertrace profile -o out.pb.gz -- ./program       from start to end\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_profile,
};

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
#include "cli/profile_say.h"
#include "cli/running.h"
#include "cli/targets.h"
#include "cli/terminal.h"
#include "out/out.h"
#include "report/hot.h"

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

static int usage(const struct ut_cmd *cmd, const char *sentence) { return cli_fail(cmd, EXIT_USAGE, "%s", sentence); }

static int check_targets(struct run *r, char *const *operands, int n)
{
	if (n && strchr(operands[0], ':'))
		return cli_fail(r->cmd, EXIT_USAGE, "unexpected argument '%s'; did you mean --on '%s'?", operands[0],
				operands[0]);
	return n ? targets_unexpected(r->cmd, operands[0]) : targets_check(r->cmd, &r->o.targets, r->command, true);
}

/* kernel.perf_event_max_sample_rate; 0: not known. */
static uint64_t max_frequency(void)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned long long v = 0;

	return file && fscanf(file, "%llu", &v) == 1 ? v : 0;
}

static int settle_frequency(struct run *r)
{
	struct opts *o = &r->o;
	uint64_t max = max_frequency();

	if (o->frequency == FREQUENCY_UNSET) {
		o->frequency = o->on.n ? 0 : max && max < FREQUENCY ? max : FREQUENCY;
		return EXIT_OK;
	}
	if (!o->frequency && !o->off_cpu && !o->on.n)
		return usage(r->cmd, "-F 0 takes no samples; it requires --off-cpu or --on");
	if (o->frequency > 1000000 || (max && o->frequency > max))
		return cli_fail(r->cmd, EXIT_USAGE,
				"-F %llu exceeds the kernel's limit of %llu (sysctl kernel.perf_event_max_sample_rate)",
				(unsigned long long)o->frequency, (unsigned long long)(max ? max : 1000000));
	return EXIT_OK;
}

static void add_formats(struct buf *out, bool suffixes)
{
	for (size_t i = 0; out_formats[i]; i++)
		buf_addf(out, "%s%s", i ? ", " : "", suffixes ? out_formats[i]->suffixes : out_formats[i]->name);
}

static int unknown_format(const struct run *r)
{
	struct buf all = { 0 };

	add_formats(&all, !r->o.to);
	if (r->o.to)
		cli_fail(r->cmd, EXIT_USAGE, "unknown format '%s'; valid formats: %s", r->o.to,
			 all.data ? all.data : "");
	else
		cli_fail(r->cmd, EXIT_USAGE,
			 "unknown suffix of '%s'; valid formats: %s; --to FORMAT works with any suffix", r->o.output,
			 all.data ? all.data : "");
	buf_done(&all);
	return EXIT_USAGE;
}

/* Nothing is recorded that could not be written then. */
static int check_output(struct run *r)
{
	const struct opts *o = &r->o;
	struct ut_err err = { 0 };

	if (o->json && (o->output || o->to))
		return usage(r->cmd, "--json and -o or --to are mutually exclusive: --json prints the table");
	if (!o->output && !o->to)
		return EXIT_OK;
	r->format = o->to ? out_format_named(o->to) : out_format_of(o->output);
	if (!r->format)
		return unknown_format(r);
	if (!o->output && r->format == &out_pprof && isatty(STDOUT_FILENO))
		return usage(r->cmd, "refusing to write binary pprof data to the terminal; use -o FILE");
	return o->output && out_file_check(o->output, &err) ? cli_fail_err(r->cmd, &err) : EXIT_OK;
}

/* User events and handlers of signals are recorded without a program of ours that could walk a stack. */
static int check_probes(const struct run *r)
{
	for (size_t i = 0; i < r->o.on.n; i++) {
		const char *text = r->o.on.v[i] + strspn(r->o.on.v[i], " \t");

		if ((text[0] == 'e' || text[0] == 's') && text[1] == ':')
			return cli_fail(r->cmd, EXIT_USAGE,
					"--on '%s': these events have no stacks; use a u:, p:, r: or t: probe "
					"(usertrace trace '%s' prints the events)",
					text, text);
	}
	return EXIT_OK;
}

static int check_options(struct run *r, char *const *operands, int n)
{
	int status = check_targets(r, operands, n);

	if (status)
		return status;
	if (r->o.idle && !r->o.off_cpu)
		return usage(r->cmd, "--idle requires --off-cpu");
	status = check_probes(r);
	if (!status)
		status = settle_frequency(r);
	return status ? status : check_output(r);
}

static int open_record(struct run *r, struct ut_err *err)
{
	const struct opts *o = &r->o;
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
	struct profile_record_sink sink = profile_say_sink(&r->progress);
	int code = runtimes_load(&r->runtimes, err);

	r->progress.wanted = isatty(STDERR_FILENO);
	return code ? code : profile_record_open(&ro, &r->runtimes, &sink, &r->record, err);
}

static int write_format(void *ctx, int fd, struct ut_err *err)
{
	const struct run *r = ctx;
	struct out_options oo = { .title = r->o.title, .per_thread = r->o.per_thread, .icicle = r->o.icicle };

	return r->format->write(r->profile, &oo, fd, err);
}

static int print_table(const struct run *r)
{
	struct hot_options ho = { .threads = r->o.per_thread,
				  .color = !r->o.json && terminal_wants_color(STDOUT_FILENO) };
	struct buf text = { 0 };
	unsigned height;
	int code;

	if (isatty(STDOUT_FILENO))
		terminal_size(&ho.width, &height);
	code = r->o.json ? hot_json(r->profile, &ho, &text) : hot_text(r->profile, &ho, &text);
	if (!code)
		code = write_out(STDOUT_FILENO, &text);
	buf_done(&text);
	return code;
}

static int write_profile(struct run *r, struct ut_err *err)
{
	if (!r->o.output || out_file_is_special(r->o.output))
		stop_signals_restore(r->o.targets.set.stop_fd); /* who does not read must not keep us alive */
	if (r->o.output)
		return out_file_write(r->o.output, write_format, r, err);
	return r->format ? write_format(r, STDOUT_FILENO, err) : print_table(r);
}

static int exit_status(struct run *r)
{
	int status;

	stop_signals_restore(r->o.targets.set.stop_fd);
	status = r->command ? session_command_status(r->record.session) : EXIT_OK;
	if (r->o.strict && (r->record.totals.lost || r->record.totals.missed))
		return EXIT_LOST;
	return status > 0 ? status : EXIT_OK;
}

/* A command goes on to its end, whatever became of us. */
static int fail(struct run *r, const struct ut_err *err, int code)
{
	int status = fail_running(r->cmd, err, code, r->o.output);

	stop_signals_restore(r->o.targets.set.stop_fd);
	session_command_status(r->record.session);
	return status;
}

/* Requests of --on that nothing was found for until the end. */
static bool say_unmatched(const struct run *r)
{
	struct ut_err err = { 0 };

	if (!r->o.on.n || !plan_complete(session_plan(r->record.session), "what was running",
					 session_runtime(r->record.session), &err))
		return false;
	cli_fail(r->cmd, EXIT_FAILED, "%s", err.msg);
	return true;
}

static int profile(struct run *r)
{
	struct ut_err err = { 0 };
	enum session_end end = SESSION_STOPPED;
	AUTO_FREE char *log = NULL;
	int code = profile_record_run(&r->record, &end, &log, &err), status;
	bool unmatched;

	profile_clear_progress(&r->progress);
	say_log(log);
	if (code && !r->record.stop_ns)
		return fail_running(r->cmd, &err, code, r->o.output); /* it never began */
	if (code)
		return fail(r, &err, code);
	say_end(&r->o.targets.pids, end);
	if (profile_record_build(&r->record, r->o.idle, &r->profile))
		return fail(r, (ut_err_nomem(&err), &err), -ENOMEM);
	unmatched = say_unmatched(r);
	profile_say_totals(&r->record, r->profile);
	profile_say_nothing(&r->record, r->profile);
	code = write_profile(r, &err);
	if (code && code != -EPIPE) /* a reader that has seen enough is no failure */
		return fail(r, &err, code);
	status = exit_status(r);
	return status == EXIT_OK && unmatched ? EXIT_FAILED : status;
}

static int run(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run r = {
		.cmd = cmd,
		.o = { .targets = { TARGET_OPTS_UNSET }, .frequency = FREQUENCY_UNSET, .kernel = true, .gc = true },
	};
	struct ut_err err = { 0 };
	bool done = false;
	int n = 0, status = cli_parse(cmd, argc, argv, &r.o, &n, &r.command, &done);

	if (!done)
		status = check_options(&r, argv, n);
	if (!done && !status) {
		r.o.targets.set.stop_fd = stop_signals_open(&err);
		if (r.o.targets.set.stop_fd < 0 || open_record(&r, &err))
			status = cli_fail_err(cmd, &err);
		else
			status = profile(&r);
	}
	profile_free(r.profile);
	profile_record_done(&r.record);
	runtimes_done(&r.runtimes);
	vec_done(&r.o.on);
	targets_done(&r.o.targets);
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
	.run = run,
};

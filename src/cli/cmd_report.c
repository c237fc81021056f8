/* SPDX-License-Identifier: MIT */
/* `usertrace report hot`: where the time of a recorded profile went, or the profile in another format. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/commands.h"
#include "base/out_file.h"
#include "cli/profile_file.h"
#include "cli/running.h"
#include "out/out.h"

struct opts {
	const char *function, *output, *to;
	bool json, threads;
	uint64_t rows;
};

static const struct ut_opt options[] = {
	{ 'f', "function", "PATTERN", "show callers and callees of matching functions (* and ?) instead of the tables",
	  OPT_STRING, offsetof(struct opts, function) },
	{ 'n', "rows", "COUNT", "functions per table (default 20; JSON has all)", OPT_U64,
	  offsetof(struct opts, rows) },
	{ 't', "threads", NULL, "add tables for each thread", OPT_FLAG, offsetof(struct opts, threads) },
	{ 0, "json", NULL, "one JSON object", OPT_FLAG, offsetof(struct opts, json) },
	{ 'o', "output", "FILE",
	  "write to FILE; the suffix selects the format: .txt, .json, .svg, .folded, .pb.gz, .speedscope.json",
	  OPT_STRING, offsetof(struct opts, output) },
	{ 0, "to", "FORMAT", "write the profile itself as svg, folded, pprof or speedscope", OPT_STRING,
	  offsetof(struct opts, to) },
};

struct run {
	const struct ut_cmd *cmd;
	struct opts o;
	const struct out_format *format; /* NULL: the report */
	struct profile *profile;
};

static bool ends_in(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len > n && !strcmp(s + len - n, end);
}

static int unknown_report_format(const struct run *run)
{
	const char *names[16] = { 0 };
	size_t n = 0, near[1];

	if (!run->o.to)
		return usage_error(
			run->cmd,
			"-o '%s': unknown suffix; use .txt or .json for the report, and .svg, .folded, .pb.gz "
			"or .speedscope.json for the profile",
			run->o.output);
	for (; out_formats[n] && n < ARRAY_SIZE(names); n++)
		names[n] = out_formats[n]->name;
	if (suggest(run->o.to, names, n, near, 1))
		return usage_error(run->cmd, "unknown format '%s'; did you mean '%s'?", run->o.to, names[near[0]]);
	return usage_error(run->cmd, "unknown format '%s'; valid formats: svg, folded, pprof and speedscope",
			   run->o.to);
}

/* Chooses the format. */
static int check_report_output(struct run *run)
{
	struct opts *o = &run->o;
	const char *file = o->output && strcmp(o->output, "-") ? o->output : NULL;
	struct ut_err err = { 0 };

	if (o->to)
		run->format = out_format_named(o->to);
	else if (file)
		run->format = out_format_of(file);
	if (!run->format && file && !o->to && ends_in(file, ".json"))
		o->json = true;
	else if (!run->format && (o->to || (file && !o->json && !ends_in(file, ".txt"))))
		return unknown_report_format(run);
	if (run->format && (o->json || o->function || o->rows))
		return usage_error(
			run->cmd,
			"--json, --function and --rows apply to the report, but %s contains the whole profile",
			run->format->name);
	o->output = file;
	if (run->format == &out_pprof && !file && isatty(STDOUT_FILENO))
		return usage_error(run->cmd, "refusing to write binary pprof data to the terminal; use -o FILE.pb.gz");
	return file && out_file_check(file, &err) ? cli_fail_err(run->cmd, &err) : EXIT_OK;
}

static int check_report_options(struct run *run, int operands, char **argv)
{
	if (!operands)
		return usage_error(run->cmd, "the name of a report is required: hot");
	if (strcmp(argv[0], "hot"))
		return usage_error(run->cmd, "unknown report '%s'; did you mean: usertrace report hot %s", argv[0],
				   argv[0]);
	if (operands > 2)
		return usage_error(run->cmd, "unexpected argument '%s'; only one file is allowed", argv[2]);
	if (operands < 2 && isatty(STDIN_FILENO))
		return usage_error(run->cmd,
				   "no input: give a file of folded stacks or pprof, or a profile on standard input");
	if (run->o.rows > UINT32_MAX)
		return usage_error(run->cmd, "--rows must not exceed %u", UINT32_MAX);
	return check_report_output(run);
}

static int write_profile_or_report(void *ctx, int fd, struct ut_err *err)
{
	const struct run *run = ctx;
	const struct out_options oo = { .per_thread = run->o.threads };
	struct hot_options ho = { .rows = (unsigned)run->o.rows,
				  .threads = run->o.threads,
				  .function = run->o.function };

	return run->format ? run->format->write(run->profile, &oo, fd, err)
			   : profile_write_hot(run->profile, &ho, run->o.json, fd);
}

static int write_report_output(struct run *run)
{
	struct ut_err err = { 0 };
	int r;

	if (run->o.output)
		return out_file_write(run->o.output, write_profile_or_report, run, &err) ? cli_fail_err(run->cmd, &err)
											 : EXIT_OK;
	signal(SIGPIPE, SIG_IGN);
	r = write_profile_or_report(run, STDOUT_FILENO, &err);
	return !r || r == -EPIPE ? EXIT_OK : fail_running(run->cmd, &err, r, NULL);
}

static int run_report(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run run = { .cmd = cmd };
	int operands, status;
	bool done;

	status = cli_parse(cmd, argc, argv, &run.o, &operands, NULL, &done);
	if (done)
		return status;
	status = check_report_options(&run, operands, argv);
	if (!status)
		status = profile_file_read(cmd, operands > 1 ? argv[1] : NULL, &run.profile);
	if (!status)
		status = write_report_output(&run);
	profile_free(run.profile);
	return status;
}

const struct ut_cmd cmd_report = {
	.name = "report",
	.usage = "hot [OPTION…] [FILE | -]",
	.summary = "show where the time of a profile went: hot functions, their callers, threads",
	.details =
		"Reads folded stacks or pprof files, as written by 'usertrace profile -o FILE' and other tools, from\n"
		"a file or standard input. The first line summarizes where the time went.\n"
		"\n"
		"Examples:\n"
		"  usertrace report hot app.pb.gz\n"
		"  usertrace report hot app.pb.gz --function '*alloc*'       their callers and callees\n"
		"  usertrace report hot app.pb.gz -o app.speedscope.json     convert to another format\n"
		"  perf script | stackcollapse-perf.pl | usertrace report hot\n"
		"  usertrace report hot app.folded --json | jq '.states[0].functions[:5]'\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_report,
};

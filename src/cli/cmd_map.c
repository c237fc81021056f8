/* SPDX-License-Identifier: MIT */
/* `usertrace map`: requests the code map of a runtime that can write one, checks it, and removes old ones. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "proc/hotspot.h"
#include "proc/runtime.h"
#include "sym/code_check.h"
#include "sym/map_clean.h"
#include "sym/map_hint.h"

#define ASK_MS 10000 /* a large virtual machine must reach a safepoint first */

struct opts {
	struct pid_list pids;
	bool check, json, clean, dry_run;
};

static const struct ut_opt options[] = {
	{ 'p', "pid", "PID", "the process (comma-separated or repeated)", OPT_PIDS, offsetof(struct opts, pids) },
	{ 0, "check", NULL, "check existing files without requesting a new map", OPT_FLAG,
	  offsetof(struct opts, check) },
	{ 0, "json", NULL, "print one JSON object per process", OPT_FLAG, offsetof(struct opts, json) },
	{ 0, "clean", NULL, "remove the maps and dumps of exited processes from /tmp or DIRECTORY", OPT_FLAG,
	  offsetof(struct opts, clean) },
	{ 0, "dry-run", NULL, "with --clean, list the files without removing them", OPT_FLAG,
	  offsetof(struct opts, dry_run) },
};

/* One process, its runtime, and the report on its maps. */
struct subject {
	pid_t pid;
	char comm[16];
	const struct runtime *runtime;
	const char *hint; /* the command line with which it writes a map; NULL: none */
	bool asked;
	struct ut_err refused; /* code 0: the map was written */
	struct code_report report;
};

static void add_map_file(struct buf *out, const struct code_file_report *f)
{
	char bytes[32];

	buf_add_escaped(out, f->path, strlen(f->path));
	buf_addf(out, ": %" PRIu64 " %s, %s\n", f->entries, f->entries == 1 ? "entry" : "entries",
		 human_bytes(f->bytes, bytes));
	buf_addf(out,
		 "  %" PRIu64 " in JIT code, %" PRIu64 " in code of files, %" PRIu64 " in data, %" PRIu64
		 " no longer mapped\n",
		 f->in_runtime, f->in_files, f->in_data, f->nowhere);
	if (f->again)
		buf_addf(out, "  %" PRIu64 " %s another one: the latest at the time of a sample is used\n", f->again,
			 f->again == 1 ? "entry overlaps" : "entries overlap");
	if (!f->counted)
		buf_adds(out, "  too large to check for overlapping entries\n");
	if (f->bad && f->is_dump)
		buf_addf(out, "  %" PRIu64 " malformed %s\n", f->bad, plural(f->bad, "record"));
	else if (f->bad)
		buf_addf(out, "  %" PRIu64 " malformed %s, the first at line %" PRIu64 "\n", f->bad,
			 plural(f->bad, "line"), f->first_bad);
}

/* That there is no map, and how to get one. */
static void add_no_map(struct buf *out, const struct subject *s)
{
	AUTO(buf_done) struct buf lacks = { 0 }, remedy = { 0 };

	buf_adds(out, "no usable code map\n");
	if (s->hint)
		buf_addf(out, "to get one, start the program as: %s\n", s->hint);
	else if (s->runtime && !s->asked && map_hint_explain(s->runtime, NULL, &lacks, &remedy) && lacks.data &&
		 remedy.data)
		buf_addf(out, "%s: %s\n", lacks.data, remedy.data);
}

static void add_map_text(struct buf *out, const struct subject *s)
{
	const struct code_report *report = &s->report;
	char bytes[32];

	buf_addf(out, "process %d (", (int)s->pid);
	buf_add_escaped(out, s->comm, strlen(s->comm));
	buf_addf(out, ")%s%s%s\n", s->runtime ? ": " : "", s->runtime ? s->runtime->name : "",
		 s->asked && !s->refused.code ? ", which was asked to write its map" : "");
	for (size_t i = 0; i < report->files.n; i++)
		add_map_file(out, &report->files.v[i]);
	if (!report->files.n)
		add_no_map(out, s);
	if (report->runtime_bytes)
		buf_addf(out, "JIT code: %s resident, %.1f %% of it has names\n",
			 human_bytes(report->runtime_bytes, bytes),
			 100.0 * (double)report->named_bytes / (double)report->runtime_bytes);
	else
		buf_adds(out, "JIT code: none\n");
}

static void add_map_file_json(const struct code_file_report *f, struct json *j)
{
	json_object(j, NULL);
	json_string(j, "path", f->path);
	json_string(j, "format", f->is_dump ? "jitdump" : "perf-map");
	json_u64(j, "size_bytes", f->bytes);
	json_u64(j, "entries", f->entries);
	json_u64(j, "bad_entries", f->bad);
	if (f->bad && !f->is_dump)
		json_u64(j, "first_bad_line", f->first_bad);
	if (f->counted)
		json_u64(j, "duplicate_entries", f->again);
	json_u64(j, "in_jit_code", f->in_runtime);
	json_u64(j, "in_files", f->in_files);
	json_u64(j, "in_data", f->in_data);
	json_u64(j, "unmapped", f->nowhere);
	json_close(j);
}

static void add_map_json(struct buf *out, const struct subject *s)
{
	const struct code_report *report = &s->report;
	struct json j = { .out = out };

	json_object(&j, NULL);
	json_string(&j, "type", "code-map");
	json_u64(&j, "pid", (uint64_t)s->pid);
	json_string(&j, "comm", s->comm);
	if (s->runtime)
		json_string(&j, "runtime", s->runtime->name);
	json_bool(&j, "written", s->asked && !s->refused.code);
	json_array(&j, "files");
	for (size_t i = 0; i < report->files.n; i++)
		add_map_file_json(&report->files.v[i], &j);
	json_close(&j);
	json_u64(&j, "jit_code_bytes", report->runtime_bytes);
	json_u64(&j, "named_bytes", report->named_bytes);
	if (!report->files.n && s->hint)
		json_string(&j, "hint", s->hint);
	json_array(&j, "notes");
	for (size_t i = 0; i < report->notes.n; i++)
		json_string(&j, NULL, report->notes.v[i]);
	json_line(&j);
}

static int map_process(const struct ut_cmd *cmd, const struct opts *opts, const struct runtimes *known, pid_t pid)
{
	AUTO(buf_done) struct buf out = { 0 };
	struct subject s = { .pid = pid };
	struct process_id id;
	struct ut_err err = { 0 };
	int status = EXIT_OK;

	if (process_identify(pid, &id, &err))
		return cli_fail_err(cmd, &err);
	process_comm(pid, s.comm);
	s.runtime = runtime_of_process(known, pid);
	if (s.runtime && s.runtime->library)
		s.runtime = NULL;
	if (s.runtime)
		s.hint = map_hint(known, pid, s.runtime);
	if (!opts->check && s.runtime && !strcmp(s.runtime->name, "HotSpot")) {
		s.asked = true;
		if (hotspot_write_map(pid, ASK_MS, &s.refused))
			status = cli_fail(cmd, EXIT_FAILED, "%s", s.refused.msg);
	}
	if (code_check(pid, &s.report, &err))
		return cli_fail_err(cmd, &err);
	if (opts->json)
		add_map_json(&out, &s);
	else
		add_map_text(&out, &s);
	for (size_t i = 0; !opts->json && i < s.report.notes.n; i++)
		cli_print_sentence(s.report.notes.v[i]);
	if (out.data)
		fwrite(out.data, 1, out.len, stdout);
	if (!s.report.files.n)
		status = EXIT_FAILED;
	code_report_done(&s.report);
	return status;
}

static int map_processes(const struct ut_cmd *cmd, const struct opts *opts)
{
	struct runtimes known = { 0 };
	struct ut_err err = { 0 };
	int status = EXIT_OK;

	if (runtimes_load(&known, &err))
		return cli_fail_err(cmd, &err);
	for (size_t i = 0; i < opts->pids.n; i++) {
		int r = map_process(cmd, opts, &known, opts->pids.v[i]);

		status = r ? r : status;
	}
	runtimes_done(&known);
	return status;
}

struct cleaning {
	const struct ut_cmd *cmd;
	bool dry_run;
	int status;
};

static void on_removed(void *ctx, const char *path, uint64_t bytes)
{
	const struct cleaning *c = ctx;
	char size[32];

	printf("%s %s, %s\n", c->dry_run ? "would remove" : "removed", path, human_bytes(bytes, size));
}

static void on_failed(void *ctx, const struct ut_err *err)
{
	struct cleaning *c = ctx;

	c->status = cli_fail(c->cmd, EXIT_FAILED, "%s", err->msg);
}

static int clean_maps(const struct ut_cmd *cmd, const char *const *directories, size_t n, bool dry_run)
{
	struct cleaning c = { .cmd = cmd, .dry_run = dry_run };
	const struct map_clean_sink sink = { .ctx = &c, .removed = on_removed, .failed = on_failed };
	struct map_clean_totals totals;
	struct ut_err err = { 0 };
	char bytes[32], count[32];

	if (map_clean(directories, n, dry_run, &sink, &totals, &err))
		return cli_fail_err(cmd, &err);
	printf("%s %s of processes that have ended, %s\n", human_count(totals.files, count),
	       plural(totals.files, "file"), human_bytes(totals.bytes, bytes));
	return c.status;
}

static int run_map(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct opts opts = { 0 };
	int n, status;
	bool done;

	status = cli_parse(cmd, argc, argv, &opts, &n, NULL, &done);
	if (done)
		return status;
	if (opts.clean == (opts.pids.n > 0))
		status = usage_error(cmd, opts.clean ? "--clean and -p are mutually exclusive"
						     : "-p PID or --clean is required");
	else if (opts.dry_run && !opts.clean)
		status = usage_error(cmd, "--dry-run requires --clean; use --check to check a map without writing one");
	else if (n && !opts.clean)
		status = usage_error(cmd, "unexpected argument '%s'; use -p to select a process", argv[0]);
	else if (opts.clean)
		status = clean_maps(cmd, (const char *const *)argv, (size_t)n, opts.dry_run);
	else
		status = map_processes(cmd, &opts);
	pid_list_done(&opts.pids);
	return status;
}

const struct ut_cmd cmd_map = {
	.name = "map",
	.usage = "-p PID [--check] [--json] | --clean [--dry-run] [DIRECTORY…]",
	.summary = "request, check and clean up maps of JIT-compiled code",
	.details =
		"HotSpot is asked to write its map, in containers too. For other runtimes the command prints the\nflag "
		"with which they write one.\n\n  usertrace map -p 4711\n  usertrace map --clean --dry-run\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_map,
};

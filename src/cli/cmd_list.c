/* SPDX-License-Identifier: MIT */
/* `usertrace list`: the probes of files, of processes and of all processes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/list.h"

struct opts {
	struct pid_list pids;
	bool all, json, verbose;
};

static const struct ut_opt options[] = {
	{ 'p', "pid", "PID", "list the probes of every file that these processes have mapped", OPT_PIDS,
	  offsetof(struct opts, pids) },
	{ 'a', "all", NULL, "list all processes: one row per program and provider", OPT_FLAG,
	  offsetof(struct opts, all) },
	{ 'v', "verbose", NULL, "show each site: address, file offset, function, operands, errors", OPT_FLAG,
	  offsetof(struct opts, verbose) },
	{ 0, "json", NULL, "print one JSON object per line", OPT_FLAG, offsetof(struct opts, json) },
};

void list_report(struct list *list, int status, const char *fmt, ...)
{
	struct buf raw = { 0 }, safe = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&raw, fmt, ap);
	va_end(ap);
	if (raw.data)
		buf_add_escaped(&safe, raw.data, raw.len);
	fprintf(stderr, "usertrace list: %s\n", safe.data ? safe.data : "out of memory");
	buf_done(&raw);
	buf_done(&safe);
	if (status > list->status)
		list->status = status;
}

void list_flush(struct list *list)
{
	if (list->out.len)
		fwrite(list->out.data, 1, list->out.len, stdout);
	fflush(stdout);
	list->out.len = 0;
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static int set_pattern(struct list *list, const char *word)
{
	if (list->catalog.pattern) {
		list_report(
			list, EXIT_USAGE,
			"two patterns, '%s' and '%s'; a file name without '/' is looked up only if it is the only file",
			list->catalog.pattern, word);
		return EXIT_USAGE;
	}
	list->catalog.pattern = word;
	return 0;
}

/* The first word that is neither a path nor a glob names a program or library where no other word names a file. */
static int resolve_word(struct list *list, char *word, struct words *files)
{
	char *found = files->v.n || glob_is_pattern(word) || strchr(word, ':') ? NULL : locate_file(word);

	if (!found)
		return set_pattern(list, word);
	if (vec_push(&files->v, found)) {
		free(found);
		return cli_fail(&cmd_list, EXIT_FAILED, "out of memory");
	}
	return 0;
}

/* Sorts words into files and the pattern. 0, or the exit status after an error message. */
static int sort_operands(struct list *list, char **words, int n, struct words *ret_files)
{
	int status = 0;

	for (int i = 0; i < n; i++) {
		char *copy;

		if (!strchr(words[i], '/') && !is_file(words[i]))
			continue;
		copy = strdup(words[i]);
		if (!copy || vec_push(&ret_files->v, copy)) {
			free(copy);
			return cli_fail(&cmd_list, EXIT_FAILED, "out of memory");
		}
	}
	for (int i = 0; i < n && !status; i++)
		if (!strchr(words[i], '/') && !is_file(words[i]))
			status = resolve_word(list, words[i], ret_files);
	if (status || ret_files->v.n)
		return status;
	if (!list->catalog.pattern)
		list_report(list, EXIT_USAGE, "no target: give a FILE, -p PID, or -a for all processes");
	else if (glob_is_pattern(list->catalog.pattern) || strchr(list->catalog.pattern, ':'))
		list_report(list, EXIT_USAGE,
			    "pattern '%s' without a target: give a FILE, -p PID, or -a for all processes",
			    list->catalog.pattern);
	else
		list_report(
			list, EXIT_USAGE,
			"no file '%s' in the current directory, PATH or the library directories; a pattern also needs "
			"a FILE, -p PID or -a",
			list->catalog.pattern);
	return EXIT_USAGE;
}

static int list_files(struct list *list, char **words, int n)
{
	AUTO(words_done) struct words files = { 0 };
	int status = sort_operands(list, words, n, &files);

	for (size_t i = 0; !status && i < files.v.n; i++)
		list_path(list, files.v.v[i]);
	return status;
}

/* With -p and -a every word is a pattern; a path gets an error message of its own. */
static int list_processes(struct list *list, const struct opts *opts, char **words, int n)
{
	if (opts->all && opts->pids.n)
		return cli_exclusive(&cmd_list, "-p", "-a");
	for (int i = 0; i < n; i++) {
		if (strchr(words[i], '/')) {
			list_report(list, EXIT_USAGE, "'%s' is a file; files and %s are mutually exclusive", words[i],
				    opts->all ? "-a" : "-p");
			return EXIT_USAGE;
		}
		if (set_pattern(list, words[i]))
			return EXIT_USAGE;
	}
	if (opts->all)
		list_all(list);
	for (size_t i = 0; i < opts->pids.n; i++)
		list_process(list, opts->pids.v[i]);
	return 0;
}

/* Prints the rest of the output; the exit status. */
static int finish_list(struct list *list)
{
	if (!list->catalog.shown)
		list_explain_no_match(list);
	if (list->out.failed)
		return cli_fail(&cmd_list, EXIT_FAILED, "out of memory");
	list_flush(list);
	if (ferror(stdout))
		return cli_fail(&cmd_list, EXIT_FAILED, "cannot write the list: %s", strerror(errno));
	if (!list->catalog.shown && !list->status)
		return EXIT_FAILED;
	return list->status;
}

static int print_list(struct list *list, const struct opts *opts, char **words, int n)
{
	struct ut_err err = { 0 };
	int status;

	if (runtimes_load(&list->catalog.runtimes, &err))
		return cli_fail_err(&cmd_list, &err);
	if (opts->all || opts->pids.n)
		status = list_processes(list, opts, words, n);
	else
		status = list_files(list, words, n);
	return status ? status : finish_list(list);
}

static int run_list(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct opts opts = { 0 };
	AUTO_FREE struct list *list = calloc(1, sizeof(*list));
	int operands, status;
	bool done;

	if (!list)
		return cli_fail(cmd, EXIT_FAILED, "out of memory");
	status = cli_parse(cmd, argc, argv, &opts, &operands, NULL, &done);
	list->json = opts.json;
	list->verbose = opts.verbose;
	if (!done)
		status = print_list(list, &opts, argv, operands);
	buf_done(&list->out);
	catalog_done(&list->catalog);
	pid_list_done(&opts.pids);
	return status;
}

const struct ut_cmd cmd_list = {
	.name = "list",
	.usage = "[-v] [--json] [-p PID | -a | FILE…] [PATTERN]",
	.summary = "list the probes of files and processes",
	.details = "FILE is a path, or the name of a program or library. PATTERN may contain * and ?, and "
		   "matches\nPROVIDER:NAME or NAME.\n\nExamples:\n  usertrace list -p $(pgrep -n java) 'gc*'\n  "
		   "usertrace list -v python3.11 gc__start\n  usertrace list -a\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_list,
};

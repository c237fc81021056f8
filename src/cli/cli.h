/* SPDX-License-Identifier: MIT */
/* Descriptors of commands, their options as tables, and the parser. Help, usage errors and the test that every command
 * has a manual page read the same tables. */
#ifndef UT_CLI_CLI_H
#define UT_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_LOST = 3 };

enum opt_type {
	OPT_FLAG, /* bool */
	OPT_NOFLAG, /* bool, set to false */
	OPT_STRING, /* const char *, not empty */
	OPT_TEXT, /* const char *, may be empty */
	OPT_U64, /* uint64_t */
	OPT_SIZE, /* uint64_t bytes: 64K, 8M */
	OPT_SECONDS, /* uint64_t nanoseconds: 3, 0.5, 250ms */
	OPT_PIDS, /* struct pid_list: comma-separated, may be repeated */
	OPT_STRINGS, /* struct string_list: not empty, may be repeated */
};

struct pid_list {
	int *v;
	size_t n, cap;
};
void pid_list_done(struct pid_list *pids);
struct string_list {
	const char **v;
	size_t n, cap;
}; /* borrowed from argv */

struct ut_opt {
	char short_name; /* 0: none */
	const char *long_name; /* without dashes; NULL: none */
	const char *value; /* "PID": placeholder in the help; NULL for flags */
	const char *help;
	enum opt_type type;
	size_t offset; /* of the member in the command's own option struct */
};

struct ut_cmd {
	const char *name;
	const char *usage; /* "[-p PID | -a] PROBE… [-- COMMAND]" */
	const char *summary; /* one line */
	const char *details; /* paragraphs after the options: examples */
	const struct ut_opt *options;
	size_t noptions;
	bool numbers; /* operands may be negative numbers: -1 is not an option */
	int (*run)(const struct ut_cmd *cmd, int argc,
		   char **argv); /* argv[0] is the command's name; returns the exit status */
};

/*
 * Parses options into @opts (the command's struct, with its defaults set). Operands are moved to argv[0] and on and
 * counted in *@ret_operands; the words after "--" are stored in *@ret_command (NULL when there was no "--"), NULL-terminated
 * as argv is. On a usage error prints one sentence (with similar names) and returns EXIT_USAGE; -h and --help print
 * the help and return EXIT_OK; both with *@ret_done set. Flags may be bundled, values may be attached (-p12, --pid=12),
 * and options may follow operands.
 */
int cli_parse(const struct ut_cmd *cmd, int argc, char **argv, void *opts, int *ret_operands, char ***ret_command,
	      bool *ret_done);
void cli_help(const struct ut_cmd *cmd, bool to_stderr);
/* Appends the same help to @out. */
void cli_help_text(const struct ut_cmd *cmd, struct buf *out);
/* "usertrace CMD: sentence" on standard error; returns @status. @cmd is NULL outside of any command. */
int cli_fail(const struct ut_cmd *cmd, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for a mistake on the command line. */
#define usage_error(cmd, ...) cli_fail(cmd, EXIT_USAGE, __VA_ARGS__)
/* The same for an error object: EXIT_USAGE for -EINVAL (bad input), else EXIT_FAILED. */
int cli_fail_err(const struct ut_cmd *cmd, const struct ut_err *err);
/* "A and B are mutually exclusive"; EXIT_USAGE. */
int cli_exclusive(const struct ut_cmd *cmd, const char *a, const char *b);
/*
 * A sentence and the end of its line on standard error, with names from foreign files in it made safe for a
 * terminal.
 */
void cli_print_sentence(const char *sentence);

extern const struct ut_cmd *const ut_commands[]; /* NULL-terminated */

#endif

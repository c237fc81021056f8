/* SPDX-License-Identifier: MIT */
/* The command line of `usertrace dtrace`, which is dtrace(1)'s and the compiler's, not that of other commands. */
#ifndef UT_CLI_DTRACE_OPTIONS_H
#define UT_CLI_DTRACE_OPTIONS_H

#include "base/vec.h"
#include "cli/cli.h"

struct dtrace_options {
	bool header, object; /* -h, -G */
	bool preprocess; /* -C */
	bool no_copy, verbose;
	bool help, version;
	bool bits32; /* -32 */
	const char *output; /* NULL: from the source's name */
	const char *machine; /* NULL: the compiler's */
	VEC(const char *) sources, preprocessor, operands;
};

#define DTRACE_OPTIONS 12
extern const struct ut_opt dtrace_option_table[DTRACE_OPTIONS];

/*
 * Reads argv[1] and on into @opts, which is zero. 0, or the exit status after an error message. @opts borrows argv;
 * call dtrace_options_done in any case.
 */
int dtrace_options_parse(const struct ut_cmd *cmd, int argc, char **argv, struct dtrace_options *opts);
void dtrace_options_done(struct dtrace_options *opts);

#endif

/* SPDX-License-Identifier: MIT */
/* The options for targets, duration and buffers: their rows, and the checks of their combinations. */
#ifndef UT_CLI_TARGETS_H
#define UT_CLI_TARGETS_H

#include "cli/cli.h"
#include "record/target_set.h"

/* Member `targets` of a command's struct opts. */
struct target_opts {
	struct pid_list pids;
	bool follow, no_follow;
	struct target_set set; /* complete after targets_check */
};

/* Members of its initialiser: `.targets = { TARGET_OPTS_UNSET }`. */
#define TARGET_OPTS_UNSET .set.duration_ns = UINT64_MAX, .set.stop_fd = -1

/* Rows for a table of options. @verb: what the command does to a process; @all_text: the help of -a. */
#define TARGET_ROW(opts, member, ...) \
	{ \
		__VA_ARGS__, offsetof(opts, targets.member) \
	}
#define OPT_TARGET_PIDS(opts, verb) \
	TARGET_ROW(opts, pids, 'p', "pid", "PID", verb " this process (comma-separated or repeated)", OPT_PIDS)
#define OPT_TARGET_ALL(opts, all_text) TARGET_ROW(opts, set.all, 'a', "all", NULL, all_text, OPT_FLAG)
#define OPT_TARGET_FOLLOW(opts) \
	TARGET_ROW(opts, follow, 'f', "follow", NULL, \
		   "with -p, include its children, present and future (the default with a command)", OPT_FLAG)
#define OPT_TARGET_NO_FOLLOW(opts) \
	TARGET_ROW(opts, no_follow, 0, "no-follow", NULL, "with a command, exclude its children", OPT_FLAG)
#define OPT_TARGETS(opts, verb, all_text) \
	OPT_TARGET_PIDS(opts, verb), OPT_TARGET_ALL(opts, all_text), OPT_TARGET_FOLLOW(opts), OPT_TARGET_NO_FOLLOW(opts)
#define OPT_TARGET_DURATION(opts) \
	TARGET_ROW(opts, set.duration_ns, 'd', "duration", "SECONDS", "stop after SECONDS (3, 0.5, 250ms, 2m)", \
		   OPT_SECONDS)
#define OPT_TARGET_BUFFER(opts) \
	TARGET_ROW(opts, set.ring_bytes, 0, "buffer", "SIZE", \
		   "ring buffer of each CPU, a power of two (default 4M, less on many CPUs)", OPT_SIZE)
#define OPT_TARGET_VERBOSE(opts) \
	TARGET_ROW(opts, set.verbose, 'v', "verbose", NULL, \
		   "print the whole verifier log if the kernel rejects a program", OPT_FLAG)

/*
 * Checks them and completes @t->set with the pids and @command (NULL: none), which live as long as @t. @needed: there
 * must be a target. EXIT_OK, or the status of a usage error that was printed.
 */
int targets_check(const struct ut_cmd *cmd, struct target_opts *t, char *const *command, bool needed);
/* An operand of a command that takes none: prints what was probably meant, and returns EXIT_USAGE. */
int targets_unexpected(const struct ut_cmd *cmd, const char *operand);
bool targets_is_pid(const char *operand); /* digits and commas */
/* Closes stop_fd. */
void targets_done(struct target_opts *t);

#endif

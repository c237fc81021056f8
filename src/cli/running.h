/* SPDX-License-Identifier: MIT */
/* Shared by the commands that trace until they are stopped: signals, output to a file or a pipe, messages. */
#ifndef UT_CLI_RUNNING_H
#define UT_CLI_RUNNING_H

#include "cli/cli.h"
#include "record/session.h"

/*
 * From here on SIGINT, SIGTERM and SIGHUP make a descriptor readable, and a closed pipe is an error of write. Returns
 * the descriptor.
 */
int stop_signals_open(struct ut_err *err);
/* Restores their default action, which ends usertrace at once; pending ones are discarded. */
void stop_signals_restore(int fd);

/* The destination of lines: a file, or standard output. */
struct line_output {
	const char *path; /* NULL: standard output. Borrowed */
	int fd; /* -1: not open */
};
int line_output_open(struct line_output *o, struct ut_err *err);
void line_output_close(struct line_output *o);

/*
 * Writes @out, and waits where another process made the shared terminal or pipe non-blocking. Removes the written bytes
 * from @out, also after a failure. 0 or a negative errno.
 */
int write_out(int fd, struct buf *out);

/* Sentences on standard error. */
void print_attached(const struct plan *plan, const struct pid_list *pids, bool incomplete);
/* Methods of sinks, which ignore @ctx. */
void print_attached_more(void *ctx, size_t nprobes, size_t nsites);
void print_note(void *ctx, const char *text);
/* Events, the time, and what was lost; @detailed: also events per second and those of throttled processes. @remedy follows where events were lost. */
void print_totals(const struct session_totals *t, bool detailed, const char *remedy);
/* Prints nothing where @lost is 0. @effect: what that may have changed, appended; may be empty. */
void print_lost_lifecycle(uint64_t lost, const char *effect);
/* Requests that matched nothing until the end; false: there are none. */
bool print_unmatched(const struct ut_cmd *cmd, const struct session *session);
/* The reason for the end, unless the user ended it. */
void print_end_reason(const struct pid_list *pids, enum session_end end);
/* The verifier log of a rejected program; @log may be NULL. */
void print_verifier_log(const char *log);
/*
 * Reports @err, or where its message is empty the failure @r of the output @path (NULL: standard output). The exit
 * status.
 */
int fail_running(const struct ut_cmd *cmd, const struct ut_err *err, int r, const char *path);
/*
 * Restores the signals and waits for the command, which runs to its end whatever became of the session. Its exit
 * status; EXIT_OK without a command.
 */
int finish_command(int stop_fd, struct session *session);

#endif

/* SPDX-License-Identifier: MIT */
/* What commands share that trace until they are stopped: signals, clocks, lines into a file or a pipe, last words. */
#ifndef UT_CLI_RUNNING_H
#define UT_CLI_RUNNING_H

#include "cli/cli.h"
#include "record/session.h"

/*
 * From here on SIGINT, SIGTERM and SIGHUP make a descriptor readable, and a closed pipe is an error of write. Returns
 * the descriptor.
 */
int stop_signals_open(struct ut_err *err);
/* They end us at once again; those that have come are taken off. */
void stop_signals_restore(int fd);

/* Where lines go: a file that was named, or standard output. */
struct line_output {
	const char *path; /* NULL: standard output. Borrowed */
	int fd; /* -1: not open */
};
int line_output_open(struct line_output *o, struct ut_err *err);
void line_output_close(struct line_output *o);

/* Whoever shares the terminal or pipe with us may have made it one that does not block: waits. What was written is gone
 * from @out, also after a failure. */
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
/* Why it ended, where that is not the user's doing. */
void print_end_reason(const struct pid_list *pids, enum session_end end);
/* The verifier's log of a program that was refused, where there is one. */
void print_verifier_log(const char *log);
/* A failure without a sentence is that of the output; @path NULL: standard output. The exit status. */
int fail_running(const struct ut_cmd *cmd, const struct ut_err *err, int r, const char *path);
/*
 * Restores the signals and waits for the command, which runs to its end whatever became of the session. Its exit
 * status; EXIT_OK without a command.
 */
int finish_command(int stop_fd, struct session *session);

#endif

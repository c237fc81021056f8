/* SPDX-License-Identifier: MIT */
/* Signals, output and messages of the commands that trace until they are stopped. */
#include "cli/running.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/text.h"

int stop_signals_open(struct ut_err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? ut_err_set(err, -errno, "cannot wait for signals: %s", strerror(errno)) : fd;
}

void stop_signals_restore(int fd)
{
	struct signalfd_siginfo info;
	sigset_t none;

	while (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && read(fd, &info, sizeof(info)) > 0)
		;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int line_output_open(struct line_output *o, struct ut_err *err)
{
	o->fd = o->path ? open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : STDOUT_FILENO;
	if (o->fd < 0)
		return ut_err_set(err, -errno, "cannot write to '%s': %s", o->path, strerror(errno));
	return 0;
}

void line_output_close(struct line_output *o)
{
	if (o->path && o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

int write_out(int fd, struct buf *out)
{
	size_t done;
	int r;

	if (out->failed)
		return -ENOMEM;
	r = write_all(fd, out->data, out->len, &done);
	out->len -= done;
	if (done)
		memmove(out->data, out->data + done, out->len); /* a retry after a failure writes nothing twice */
	return r;
}

void print_attached(const struct plan *plan, const struct pid_list *pids, bool incomplete)
{
	size_t probes = plan->probes.n, sites = 0;

	for (size_t i = 0; i < plan->sites.n; i++)
		sites += site_has_events(&plan->sites.v[i]);
	fprintf(stderr, "usertrace: attached %zu %s at %zu %s", probes, plural(probes, "probe"), sites,
		plural(sites, "site"));
	if (incomplete)
		fputs(" so far; the others follow when their files are loaded", stderr);
	for (size_t i = 0; i < pids->n; i++) {
		pid_t inner = process_ns_pid(pids->v[i]);

		if (inner != pids->v[i])
			fprintf(stderr, "; process %d is %d in its own namespace", pids->v[i], inner);
	}
	fputs("\n", stderr);
}

void print_attached_more(void *ctx, size_t nprobes, size_t nsites)
{
	(void)ctx;
	if (nprobes)
		fprintf(stderr, "usertrace: attached %zu more %s at %zu %s\n", nprobes, plural(nprobes, "probe"),
			nsites, plural(nsites, "site"));
	else /* sites of a probe that is attached elsewhere already */
		fprintf(stderr, "usertrace: attached %zu more %s\n", nsites, plural(nsites, "site"));
}

void print_note(void *ctx, const char *text)
{
	(void)ctx;
	fputs("usertrace: note: ", stderr);
	cli_print_sentence(text);
}

void print_totals(const struct session_totals *t, bool detailed, const char *remedy)
{
	double seconds = (double)t->elapsed_ns / 1e9;
	char a[32], b[32];

	fprintf(stderr, "usertrace: %s %s in %s", human_count(t->events, a), plural(t->events, "event"),
		human_ns(t->elapsed_ns, b));
	if (detailed)
		fprintf(stderr, " (%.0f/s)", seconds > 0 ? (double)t->events / seconds : 0.0);
	fprintf(stderr, ", %s lost", human_count(t->lost, a));
	if (t->missed)
		fprintf(stderr, ", %s missed (BPF program recursion)", human_count(t->missed, a));
	if (detailed && t->throttled)
		fprintf(stderr, " (%s of programs that filled the buffer alone)", human_count(t->throttled, a));
	fprintf(stderr, "%s%s\n", t->lost ? "; " : "", t->lost ? remedy : "");
}

void print_lost_lifecycle(uint64_t lost, const char *effect)
{
	char number[32];

	if (lost)
		fprintf(stderr, "usertrace: %s %s lost%s\n", human_count(lost, number),
			lost == 1 ? "fork, exec or end" : "forks, execs or ends", effect);
}

bool print_unmatched(const struct ut_cmd *cmd, const struct session *session)
{
	struct ut_err err = { 0 };

	if (!plan_complete(session_plan(session), "what was running", session_runtime(session), &err))
		return false;
	cli_fail(cmd, EXIT_FAILED, "%s", err.msg);
	return true;
}

void print_end_reason(const struct pid_list *pids, enum session_end end)
{
	if (end != SESSION_TARGETS_ENDED)
		return;
	if (pids->n == 1)
		fprintf(stderr, "usertrace: process %d exited\n", pids->v[0]);
	else
		fputs("usertrace: all processes exited\n", stderr);
}

void print_verifier_log(const char *log)
{
	if (log)
		fputs(log, stderr);
}

int fail_running(const struct ut_cmd *cmd, const struct ut_err *err, int r, const char *path)
{
	if (err->msg[0])
		return cli_fail_err(cmd, err);
	if (path)
		return cli_fail(cmd, EXIT_FAILED, "cannot write to '%s': %s", path, strerror(-r));
	return cli_fail(cmd, EXIT_FAILED, "cannot write to standard output: %s", strerror(-r));
}

int finish_command(int stop_fd, struct session *session)
{
	int status;

	stop_signals_restore(stop_fd);
	status = session_command_status(session);
	return status > 0 ? status : EXIT_OK;
}

/* SPDX-License-Identifier: MIT */
/* `usertrace top`: the runtimes of the machine in a table that refreshes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "watch/gc_defs.h"
#include "watch/gc_watch.h"
#include "cli/running.h"
#include "cli/targets.h"
#include "cli/terminal.h"
#include "live/top.h"

#define ESC_NS 50000000u /* an escape that nothing follows within this time is the key Esc */
#define BATCH_WIDTH 100

struct opts {
	struct target_opts targets;
	bool batch;
	const char *kinds, *runtime;
	uint64_t interval_ns;
};

#define AT(member) offsetof(struct opts, member)

static const struct ut_opt options[] = {
	OPT_TARGET_PIDS(struct opts, "watch"),
	OPT_TARGET_ALL(struct opts,
		       "show all runtimes of the machine, including those that start later (the default without -p)"),
	TARGET_ROW(struct opts, follow, 'f', "follow", NULL, "with -p, include its children, present and future",
		   OPT_FLAG),
	{ 'k', "kind", "LIST", "kinds to watch: gc (default), safepoint, compile and others (comma-separated), or all",
	  OPT_STRING, AT(kinds) },
	{ 0, "runtime", "FILE", "also use the runtime definition in FILE", OPT_STRING, AT(runtime) },
	{ 'i', "interval", "SECONDS", "refresh the table every SECONDS (default 1)", OPT_SECONDS, AT(interval_ns) },
	OPT_TARGET_DURATION(struct opts),
	{ 'b', "batch", NULL, "print the table as plain text once per interval; needs no terminal", OPT_FLAG,
	  AT(batch) },
};

struct run {
	const struct ut_cmd *cmd;
	struct opts o;
	struct runtimes runtimes;
	struct gc_watch *watch;
	struct top *top;
	struct top_screen screen, shown;
	bool printed; /* at least one table as plain text */
	bool whole; /* redraw everything: the contents of the terminal are unknown */
	char keys[64]; /* typed, not yet a complete key */
	size_t nkeys;
	uint64_t keys_ns, drawn_ns;
	int signal_fd;
};

static int check_top_options(const struct ut_cmd *cmd, struct opts *o, char *const *operands, int n,
			     char *const *command)
{
	int status;

	if (n && targets_is_pid(operands[0]))
		return targets_unexpected(cmd, operands[0]);
	if (n || command)
		return usage_error(cmd, "unexpected argument '%s': top takes only options", n ? operands[0] : "--");
	status = targets_check(cmd, &o->targets, NULL, false);
	if (status)
		return status;
	o->targets.set.all = !o->targets.pids.n;
	if (o->interval_ns < 100000000u || o->interval_ns > 3600000000000u)
		return usage_error(cmd, "--interval must be from 0.1 s to an hour");
	return EXIT_OK;
}

/* Signals that change the terminal become readable on a descriptor, as those that end usertrace do. */
static int open_terminal_signals(struct run *run, struct ut_err *err)
{
	static const int numbers[] = { SIGTSTP, SIGCONT, SIGWINCH, SIGQUIT };
	sigset_t set;

	run->o.targets.set.stop_fd = stop_signals_open(err);
	if (run->o.targets.set.stop_fd < 0)
		return run->o.targets.set.stop_fd;
	if (run->o.batch)
		return 0;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? ut_err_set(err, -errno, "cannot wait for signals: %s", strerror(errno)) : 0;
}

static int open_top(struct run *run, struct ut_err *err)
{
	const char *no_color = getenv("NO_COLOR");
	struct top_options to = {
		.ascii = !terminal_is_utf8(),
		.styled = !run->o.batch,
		.color = !no_color || !*no_color,
	};
	gc_kinds kinds;
	int r = gc_kinds_parse(run->o.kinds ? run->o.kinds : "gc", &kinds, err);

	if (r)
		return r;
	to.kind = gc_kinds_has(kinds, "gc") ? "gc" : NULL;
	clock_both(&to.start_ns, &to.wall_ns);
	run->top = top_new(&to);
	return run->top ? 0 : ut_err_nomem(err);
}

static int open_top_watch(struct run *run, struct ut_err *err)
{
	struct gc_watch_options wo = {
		.targets = run->o.targets.set,
		.kinds = run->o.kinds ? run->o.kinds : "gc",
	};
	int r = runtimes_load(&run->runtimes, err);

	if (!r && run->o.runtime)
		r = runtimes_load_file(&run->runtimes, run->o.runtime, err);
	return r ? r : gc_watch_open(&wo, &run->runtimes, &run->watch, err);
}

/* Draws the cells that changed since the last time. */
static int draw_screen(struct run *run)
{
	struct top_screen old = run->shown;
	unsigned width, height;
	struct buf text = { 0 };
	int r;

	run->drawn_ns = monotonic_ns();
	terminal_size(&width, &height);
	r = top_screen_size(&run->screen, width, height);
	if (!r)
		r = top_render(run->top, run->drawn_ns, &run->screen);
	if (r)
		return r;
	top_screen_diff(run->whole ? NULL : &run->shown, &run->screen, &text);
	run->whole = !terminal_write(&text);
	run->shown = run->screen;
	run->screen = old;
	buf_done(&text);
	return 0;
}

/* Whether the last printed table is too young for another one at the end. */
static bool is_fresh(const struct run *run)
{
	return run->printed &&
	       monotonic_ns() - run->drawn_ns < (run->o.interval_ns < 1000000000u ? run->o.interval_ns : 1000000000u);
}

static int print_batch(struct run *run)
{
	struct buf text = { 0 };
	int r;

	run->drawn_ns = monotonic_ns();
	run->printed = true;
	r = top_batch(run->top, run->drawn_ns, BATCH_WIDTH, &text);
	if (!r && (fwrite(text.data, 1, text.len, stdout) < text.len || fflush(stdout)))
		r = errno ? -errno : -EIO;
	buf_done(&text);
	return r;
}

/* Passes complete keys to the table; @last: no more bytes follow. Returns the greatest of their actions. */
static enum top_act handle_keys(struct run *run, bool last)
{
	enum top_act most = TOP_NOTHING;
	size_t at = 0, n;
	uint32_t key;

	while (most != TOP_QUIT && (n = top_key_parse(run->keys + at, run->nkeys - at, last, &key))) {
		enum top_act act = top_key(run->top, key);

		at += n;
		most = act > most ? act : most;
	}
	run->nkeys -= at;
	memmove(run->keys, run->keys + at, run->nkeys);
	return most;
}

static enum top_act read_keys(struct run *run)
{
	ssize_t n = terminal_read(run->keys + run->nkeys, sizeof(run->keys) - run->nkeys);
	uint64_t at_ns = monotonic_ns();

	if (n < 0)
		return TOP_QUIT;
	if (n > 0)
		run->keys_ns = at_ns;
	run->nkeys += (size_t)n;
	return run->nkeys ? handle_keys(run, at_ns - run->keys_ns > ESC_NS || run->nkeys == sizeof(run->keys))
			  : TOP_NOTHING;
}

/* Ctrl-Z, the return from it, and changes of the size. */
static enum top_act handle_signals(struct run *run)
{
	struct signalfd_siginfo info;
	enum top_act act = TOP_NOTHING;

	while (read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGQUIT)
			return TOP_QUIT;
		if (info.ssi_signo == SIGTSTP)
			terminal_suspend();
		else if (info.ssi_signo == SIGCONT && terminal_enter(NULL))
			return TOP_QUIT;
		act = TOP_REDRAW;
	}
	return act;
}

static int update_screen(void *ctx)
{
	struct run *run = ctx;
	enum top_act act, keys;
	bool due = monotonic_ns() - run->drawn_ns >= run->o.interval_ns;

	if (run->o.batch)
		return due ? print_batch(run) : 0;
	act = handle_signals(run);
	keys = read_keys(run);
	act = keys > act ? keys : act;
	if (act == TOP_QUIT)
		return -ECANCELED;
	if (act == TOP_REDRAW)
		run->whole = true;
	return act || due ? draw_screen(run) : 0;
}

static int on_top_process(void *ctx, struct gc_process *p)
{
	struct run *run = ctx;
	struct top_who who = { .pid = p->pid,
			       .runtime = p->runtime ? p->runtime->name : NULL,
			       .version = p->version,
			       .seen_ns = p->seen_ns,
			       .hints = p->hints,
			       .nhints = p->nhints };

	memcpy(who.comm, p->comm, sizeof(who.comm));
	return top_process(run->top, &who);
}

static int on_top_gone(void *ctx, const struct gc_process *p, uint64_t time_ns)
{
	top_gone(((struct run *)ctx)->top, p->pid, time_ns);
	return 0;
}

static int on_top_span(void *ctx, const struct gc_process *p, const struct collect_span *span)
{
	(void)p;
	return top_span(((struct run *)ctx)->top, span);
}

static int on_top_lost(void *ctx, uint64_t count, uint64_t since_ns, uint64_t until_ns)
{
	(void)since_ns;
	(void)until_ns;
	top_lost(((struct run *)ctx)->top, count);
	return 0;
}

static void on_top_note(void *ctx, const char *text)
{
	struct run *run = ctx;

	if (run->o.batch)
		print_note(NULL, text);
	else
		top_note(run->top, text, monotonic_ns());
}

static int watch_until_quit(struct run *run)
{
	struct gc_watch_sink sink = { .ctx = run,
				      .process = on_top_process,
				      .gone = on_top_gone,
				      .span = on_top_span,
				      .lost = on_top_lost,
				      .flush = update_screen,
				      .note = on_top_note };
	enum session_end end = SESSION_STOPPED;
	struct session_totals totals = { 0 };
	struct ut_err err = { 0 };
	AUTO_FREE char *log = NULL;
	int r = gc_watch_start(run->watch, &sink, &log, &err);

	print_verifier_log(log);
	if (!r && !run->o.batch)
		r = terminal_enter(&err);
	if (r)
		return cli_fail_err(run->cmd, &err);
	run->whole = true;
	run->drawn_ns = run->o.batch ? monotonic_ns() : 0;
	r = run->o.batch ? 0 : draw_screen(run);
	if (!r)
		r = gc_watch_run(run->watch, &end, &totals, &err);
	terminal_leave();
	if (!r && run->o.batch && !is_fresh(run))
		r = print_batch(run); /* the state at the end */
	if (r && r != -ECANCELED && r != -EPIPE)
		return fail_running(run->cmd, &err, r, NULL);
	print_end_reason(&run->o.targets.pids, end);
	return EXIT_OK;
}

static int run_top(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run run = { .cmd = cmd,
			   .signal_fd = -1,
			   .o = { .targets = { TARGET_OPTS_UNSET }, .interval_ns = 1000000000u } };
	struct ut_err err = { 0 };
	char **command = NULL;
	bool done = false;
	int n = 0, status = cli_parse(cmd, argc, argv, &run.o, &n, &command, &done);

	if (!done)
		status = check_top_options(cmd, &run.o, argv, n, command);
	if (!done && !status) {
		if ((!run.o.batch && terminal_check(&err)) || open_terminal_signals(&run, &err) ||
		    open_top(&run, &err) || open_top_watch(&run, &err))
			status = cli_fail_err(cmd, &err);
		else
			status = watch_until_quit(&run);
	}
	gc_watch_close(run.watch);
	top_free(run.top);
	top_screen_done(&run.screen);
	top_screen_done(&run.shown);
	runtimes_done(&run.runtimes);
	if (run.signal_fd >= 0)
		close(run.signal_fd);
	targets_done(&run.o.targets);
	return status;
}

const struct ut_cmd cmd_top = {
	.name = "top",
	.usage = "[-a | -p PID] [OPTION…]",
	.summary = "show language runtimes in a live table: collections, pauses, allocation",
	.details = "Keys: arrows select, Enter opens a process, s and r sort, / filters, p pauses, h: help, q: quit.\n"
		   "\n"
		   "Examples:\n"
		   "  usertrace top                          all runtimes of the machine\n"
		   "  usertrace top -p 123 -k gc,safepoint\n"
		   "  usertrace top -b -d 10 > table.txt\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_top,
};

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

#define ESC_NS 50000000u /* an escape that nothing follows within so long is the key */
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
	bool printed; /* a table as plain text */
	bool whole; /* what the terminal shows is not known */
	char keys[64]; /* typed, and not yet a whole key */
	size_t nkeys;
	uint64_t keys_ns, drawn_ns;
	int signal_fd;
};

static int check_options(const struct ut_cmd *cmd, struct opts *o, char *const *operands, int n, char *const *command)
{
	int status;

	if (n && targets_is_pid(operands[0]))
		return targets_unexpected(cmd, operands[0]);
	if (n || command)
		return cli_fail(cmd, EXIT_USAGE, "unexpected argument '%s': top takes only options",
				n ? operands[0] : "--");
	status = targets_check(cmd, &o->targets, NULL, false);
	if (status)
		return status;
	o->targets.set.all = !o->targets.pids.n;
	if (o->interval_ns < 100000000u || o->interval_ns > 3600000000000u)
		return cli_fail(cmd, EXIT_USAGE, "--interval must be from 0.1 s to an hour");
	return EXIT_OK;
}

/* What changes the terminal becomes a descriptor, as what ends us is one. */
static int open_signals(struct run *r, struct ut_err *err)
{
	static const int numbers[] = { SIGTSTP, SIGCONT, SIGWINCH, SIGQUIT };
	sigset_t set;

	r->o.targets.set.stop_fd = stop_signals_open(err);
	if (r->o.targets.set.stop_fd < 0)
		return r->o.targets.set.stop_fd;
	if (r->o.batch)
		return 0;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd < 0 ? ut_err_set(err, -errno, "cannot wait for signals: %s", strerror(errno)) : 0;
}

static int open_top(struct run *r, struct ut_err *err)
{
	const char *no_color = getenv("NO_COLOR");
	struct top_options to = {
		.ascii = !terminal_is_utf8(),
		.styled = !r->o.batch,
		.color = !no_color || !*no_color,
	};
	gc_kinds kinds;
	int code = gc_kinds_parse(r->o.kinds ? r->o.kinds : "gc", &kinds, err);

	if (code)
		return code;
	to.kind = gc_kinds_has(kinds, "gc") ? "gc" : NULL;
	clock_both(&to.start_ns, &to.wall_ns);
	r->top = top_new(&to);
	return r->top ? 0 : ut_err_nomem(err);
}

static int open_watch(struct run *r, struct ut_err *err)
{
	struct gc_watch_options wo = {
		.targets = r->o.targets.set,
		.kinds = r->o.kinds ? r->o.kinds : "gc",
	};
	int code = runtimes_load(&r->runtimes, err);

	if (!code && r->o.runtime)
		code = runtimes_load_file(&r->runtimes, r->o.runtime, err);
	return code ? code : gc_watch_open(&wo, &r->runtimes, &r->watch, err);
}

/* Draws now, only what has changed since. */
static int draw(struct run *r)
{
	struct top_screen old = r->shown;
	unsigned width, height;
	struct buf text = { 0 };
	int code;

	r->drawn_ns = monotonic_ns();
	terminal_size(&width, &height);
	code = top_screen_size(&r->screen, width, height);
	if (!code)
		code = top_render(r->top, r->drawn_ns, &r->screen);
	if (code)
		return code;
	top_screen_diff(r->whole ? NULL : &r->shown, &r->screen, &text);
	r->whole = !terminal_write(&text);
	r->shown = r->screen;
	r->screen = old;
	buf_done(&text);
	return 0;
}

/* A table for the end would only say again what the last one says, which is not a second old. */
static bool is_fresh(const struct run *r)
{
	return r->printed &&
	       monotonic_ns() - r->drawn_ns < (r->o.interval_ns < 1000000000u ? r->o.interval_ns : 1000000000u);
}

static int print_batch(struct run *r)
{
	struct buf text = { 0 };
	int code;

	r->drawn_ns = monotonic_ns();
	r->printed = true;
	code = top_batch(r->top, r->drawn_ns, BATCH_WIDTH, &text);
	if (!code && (fwrite(text.data, 1, text.len, stdout) < text.len || fflush(stdout)))
		code = errno ? -errno : -EIO;
	buf_done(&text);
	return code;
}

/* Keys that are complete, to the table; @last: nothing more comes. The greatest of what they ask for. */
static enum top_act take_keys(struct run *r, bool last)
{
	enum top_act most = TOP_NOTHING;
	size_t at = 0, n;
	uint32_t key;

	while (most != TOP_QUIT && (n = top_key_parse(r->keys + at, r->nkeys - at, last, &key))) {
		enum top_act act = top_key(r->top, key);

		at += n;
		most = act > most ? act : most;
	}
	r->nkeys -= at;
	memmove(r->keys, r->keys + at, r->nkeys);
	return most;
}

static enum top_act read_keys(struct run *r)
{
	ssize_t n = terminal_read(r->keys + r->nkeys, sizeof(r->keys) - r->nkeys);
	uint64_t at_ns = monotonic_ns();

	if (n < 0)
		return TOP_QUIT;
	if (n > 0)
		r->keys_ns = at_ns;
	r->nkeys += (size_t)n;
	return r->nkeys ? take_keys(r, at_ns - r->keys_ns > ESC_NS || r->nkeys == sizeof(r->keys)) : TOP_NOTHING;
}

/* Ctrl-Z and what comes after it, and another size. */
static enum top_act take_signals(struct run *r)
{
	struct signalfd_siginfo info;
	enum top_act act = TOP_NOTHING;

	while (read(r->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
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

static int flush(void *ctx)
{
	struct run *r = ctx;
	enum top_act act, keys;
	bool due = monotonic_ns() - r->drawn_ns >= r->o.interval_ns;

	if (r->o.batch)
		return due ? print_batch(r) : 0;
	act = take_signals(r);
	keys = read_keys(r);
	act = keys > act ? keys : act;
	if (act == TOP_QUIT)
		return -ECANCELED;
	if (act == TOP_REDRAW)
		r->whole = true;
	return act || due ? draw(r) : 0;
}

static int on_process(void *ctx, struct gc_process *p)
{
	struct run *r = ctx;
	struct top_who who = { .pid = p->pid,
			       .runtime = p->runtime ? p->runtime->name : NULL,
			       .version = p->version,
			       .seen_ns = p->seen_ns,
			       .hints = p->hints,
			       .nhints = p->nhints };

	memcpy(who.comm, p->comm, sizeof(who.comm));
	return top_process(r->top, &who);
}

static int on_gone(void *ctx, const struct gc_process *p, uint64_t time_ns)
{
	top_gone(((struct run *)ctx)->top, p->pid, time_ns);
	return 0;
}

static int on_span(void *ctx, const struct gc_process *p, const struct collect_span *span)
{
	(void)p;
	return top_span(((struct run *)ctx)->top, span);
}

static int on_lost(void *ctx, uint64_t count, uint64_t since_ns, uint64_t until_ns)
{
	(void)since_ns;
	(void)until_ns;
	top_lost(((struct run *)ctx)->top, count);
	return 0;
}

static void on_note(void *ctx, const char *text)
{
	struct run *r = ctx;

	if (r->o.batch)
		say_note(text);
	else
		top_note(r->top, text, monotonic_ns());
}

static int top(struct run *r)
{
	struct gc_watch_sink sink = { .ctx = r,
				      .process = on_process,
				      .gone = on_gone,
				      .span = on_span,
				      .lost = on_lost,
				      .flush = flush,
				      .note = on_note };
	enum session_end end = SESSION_STOPPED;
	struct session_totals totals = { 0 };
	struct ut_err err = { 0 };
	AUTO_FREE char *log = NULL;
	int code = gc_watch_start(r->watch, &sink, &log, &err);

	say_log(log);
	if (!code && !r->o.batch)
		code = terminal_enter(&err);
	if (code)
		return cli_fail_err(r->cmd, &err);
	r->whole = true;
	r->drawn_ns = r->o.batch ? monotonic_ns() : 0;
	code = r->o.batch ? 0 : draw(r);
	if (!code)
		code = gc_watch_run(r->watch, &end, &totals, &err);
	terminal_leave();
	if (!code && r->o.batch && !is_fresh(r))
		code = print_batch(r); /* as it was at the end */
	if (code && code != -ECANCELED && code != -EPIPE)
		return fail_running(r->cmd, &err, code, NULL);
	say_end(&r->o.targets.pids, end);
	return EXIT_OK;
}

static int run(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct run r = { .cmd = cmd,
			 .signal_fd = -1,
			 .o = { .targets = { TARGET_OPTS_UNSET }, .interval_ns = 1000000000u } };
	struct ut_err err = { 0 };
	char **command = NULL;
	bool done = false;
	int n = 0, status = cli_parse(cmd, argc, argv, &r.o, &n, &command, &done);

	if (!done)
		status = check_options(cmd, &r.o, argv, n, command);
	if (!done && !status) {
		if ((!r.o.batch && terminal_check(&err)) || open_signals(&r, &err) || open_top(&r, &err) ||
		    open_watch(&r, &err))
			status = cli_fail_err(cmd, &err);
		else
			status = top(&r);
	}
	gc_watch_close(r.watch);
	top_free(r.top);
	top_screen_done(&r.screen);
	top_screen_done(&r.shown);
	runtimes_done(&r.runtimes);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	targets_done(&r.o.targets);
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
	.run = run,
};

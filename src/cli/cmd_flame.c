/* SPDX-License-Identifier: MIT */
/* `usertrace flame`: converts folded stacks to a flame graph or to another profile format. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/intern.h"
#include "cli/commands.h"
#include "base/out_file.h"
#include "cli/profile_file.h"
#include "out/out.h"

struct opts {
	const char *output, *base, *title, *min_pixels;
	bool diff, icicle, reverse, per_thread;
	uint64_t width;
};

static const struct ut_opt options[] = {
	{ 'o', "output", "FILE",
	  "write to FILE; the suffix selects the format: .svg, .folded, .pb.gz, .speedscope.json", OPT_STRING,
	  offsetof(struct opts, output) },
	{ 0, "diff", NULL, "compare two files: draw the second, colored by the change since the first", OPT_FLAG,
	  offsetof(struct opts, diff) },
	{ 0, "base", "FILE", "like --diff, with the first file as the option's value", OPT_STRING,
	  offsetof(struct opts, base) },
	{ 'i', "icicle", NULL, "put the root at the top", OPT_FLAG, offsetof(struct opts, icicle) },
	{ 'r', "reverse", NULL, "put the innermost frames at the root", OPT_FLAG, offsetof(struct opts, reverse) },
	{ 't', "title", "TEXT", "set the title", OPT_TEXT, offsetof(struct opts, title) },
	{ 'w', "width", "PIXELS", "set the width of the graph without scripts (default 1200)", OPT_U64,
	  offsetof(struct opts, width) },
	{ 0, "min-pixels", "N", "omit boxes narrower than N pixels at that width (default 0.1)", OPT_STRING,
	  offsetof(struct opts, min_pixels) },
	{ 0, "per-thread", NULL, "make the thread the outermost frame, if threads are known", OPT_FLAG,
	  offsetof(struct opts, per_thread) },
};

struct writing {
	const struct profile *p;
	const struct out_options *o;
	const struct out_format *format;
};

static int write_flame_format(void *ctx, int fd, struct ut_err *err)
{
	const struct writing *w = ctx;

	return w->format->write(w->p, w->o, fd, err);
}

static int write_flame(const struct ut_cmd *cmd, const struct opts *opts, const struct profile *p,
		       const struct out_options *o)
{
	struct writing w = { .p = p, .o = o, .format = &out_svg };
	struct ut_err err = { 0 };
	int r;

	if (opts->output && strcmp(opts->output, "-")) {
		w.format = out_format_of(opts->output);
		return out_file_write(opts->output, write_flame_format, &w, &err)
			       ? cli_fail(cmd, EXIT_FAILED, "%s", err.msg)
			       : EXIT_OK;
	}
	signal(SIGPIPE, SIG_IGN);
	r = write_flame_format(&w, STDOUT_FILENO, &err);
	if (!r || r == -EPIPE)
		return r ? EXIT_FAILED : EXIT_OK;
	return cli_fail(cmd, EXIT_FAILED, "cannot write: %s", err.msg[0] ? err.msg : strerror(-r));
}

/* Checks options before any file is read. */
static int check_flame_options(const struct ut_cmd *cmd, struct opts *opts, struct out_options *o, int operands)
{
	char *end = "";

	if (opts->diff && opts->base)
		return usage_error(cmd, "--diff and --base are mutually exclusive");
	if (opts->diff && operands != 2)
		return usage_error(cmd, "--diff requires two files, the older one first: --diff A B");
	if (!opts->diff && operands > 1)
		return usage_error(cmd, "only one file is allowed; use --diff to compare two");
	if (opts->width && (opts->width < 100 || opts->width > 100000))
		return usage_error(cmd, "--width %llu: 100 to 100000 pixels", (unsigned long long)opts->width);
	o->width = (unsigned)opts->width;
	if (opts->min_pixels)
		o->min_pixels = strtod(opts->min_pixels, &end);
	if (*end || o->min_pixels < 0 || o->min_pixels > 100 || (opts->min_pixels && !(o->min_pixels >= 0)))
		return usage_error(cmd, "--min-pixels must be a number from 0 to 100, not '%s'", opts->min_pixels);
	if (opts->output && strcmp(opts->output, "-") && !out_format_of(opts->output))
		return usage_error(cmd, "-o '%s': unknown suffix; use .svg, .folded, .pb.gz or .speedscope.json",
				   opts->output);
	if (!opts->output && isatty(STDOUT_FILENO))
		return usage_error(cmd, "refusing to write an SVG file to the terminal; use -o FILE.svg");
	return 0;
}

/* An SVG needs no frames that are too narrow to draw: drops those below a quarter of the minimum. */
static void allow_pruning(struct profile *p, const struct opts *opts, const struct out_options *o)
{
	bool svg = !opts->output || !strcmp(opts->output, "-") || out_format_of(opts->output) == &out_svg;

	if (p && svg && !o->reverse && !o->base && !o->per_thread)
		p->prune_share = (o->min_pixels > 0 ? o->min_pixels : 0.1) / (o->width ? o->width : 1200) / 4;
}

static bool has_waits(const struct profile *p)
{
	for (size_t i = 0; i < p->frames.n; i++)
		if (p->frames.v[i].kind == FRAME_WAITING)
			return true;
	return false;
}

static bool is_function(const struct profile_frame *f) { return f->kind != FRAME_REASON && f->kind != FRAME_WAITING; }

/* Whether the profiles share a function; true also when out of memory. */
static bool have_common(const struct profile *a, const struct profile *b)
{
	AUTO(strings_done) struct strings names = { 0 };
	size_t n;

	for (size_t i = 0; i < a->frames.n; i++)
		if (is_function(&a->frames.v[i]) && strings_number(&names, a->frames.v[i].name) == UINT32_MAX)
			return true;
	n = names.v.n;
	for (size_t i = 0; i < b->frames.n; i++)
		if (is_function(&b->frames.v[i]) && strings_number(&names, b->frames.v[i].name) < n)
			return true;
	return false;
}

/* Shares of different quantities can be compared, but mean nothing. */
static void warn_of_unlike(const struct ut_cmd *cmd, const struct profile *base, const struct profile *p)
{
	if (has_waits(base) != has_waits(p))
		cli_fail(cmd, EXIT_OK,
			 "the %s file has waits, which are weighted by time, and the %s has none: their shares are not "
			 "comparable",
			 has_waits(base) ? "first" : "second", has_waits(base) ? "second" : "first");
	else if (!have_common(base, p))
		cli_fail(cmd, EXIT_OK, "the two files have no function in common: are they from the same program?");
}

static int draw_flame(const struct ut_cmd *cmd, const struct opts *opts, struct out_options *o, int operands,
		      char **argv)
{
	const char *file = opts->diff ? argv[1] : operands ? argv[0] : NULL;
	const char *base_file = opts->diff ? argv[0] : opts->base;
	struct profile *p = NULL, *base = NULL;
	int status = 0;

	if (!file && isatty(STDIN_FILENO))
		return usage_error(cmd,
				   "no input: give a file, or stacks on standard input; see 'usertrace help flame'");
	if (base_file)
		status = profile_file_read(cmd, base_file, &base);
	o->base = base;
	p = profile_new();
	allow_pruning(p, opts, o);
	if (!status)
		status = profile_file_read(cmd, file, &p);
	if (!status && base)
		warn_of_unlike(cmd, base, p);
	if (!status)
		status = write_flame(cmd, opts, p, o);
	profile_free(p);
	profile_free(base);
	return status;
}

static int run_flame(const struct ut_cmd *cmd, int argc, char **argv)
{
	struct opts opts = { 0 };
	struct out_options o = { 0 };
	int operands, status;
	bool done;

	status = cli_parse(cmd, argc, argv, &opts, &operands, NULL, &done);
	if (done)
		return status;
	status = check_flame_options(cmd, &opts, &o, operands);
	if (status)
		return status;
	o.title = opts.title && *opts.title ? opts.title : NULL;
	o.icicle = opts.icicle;
	o.reverse = opts.reverse;
	o.per_thread = opts.per_thread;
	return draw_flame(cmd, &opts, &o, operands, argv);
}

const struct ut_cmd cmd_flame = {
	.name = "flame",
	.usage = "[-i] [-r] [-o FILE.svg] [FILE | - | --diff A B]",
	.summary = "draw folded stacks as a flame graph",
	.details = "Reads folded stacks of stackcollapse scripts or 'usertrace profile -o x.folded', one per line:\n"
		   "'main;parse;read 42'. Suffixes: _[k] kernel, _[j] JIT-compiled, _[i] inlined.\n\n"
		   "Examples:\n"
		   "  usertrace flame stacks.folded -o stacks.svg\n"
		   "  perf script | stackcollapse-perf.pl | usertrace flame > perf.svg\n"
		   "  usertrace flame --diff before.folded after.folded -o changed.svg\n"
		   "  usertrace flame -r -i stacks.folded -o leaves.svg     who calls the functions that run\n"
		   "  usertrace flame stacks.folded -o stacks.pb.gz         for 'go tool pprof'\n",
	.options = options,
	.noptions = ARRAY_SIZE(options),
	.run = run_flame,
};

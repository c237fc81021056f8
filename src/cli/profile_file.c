/* SPDX-License-Identifier: MIT */
/* Opens a file or standard input, detects its format by the first bytes, and reports what is wrong with it. */
#include "cli/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/running.h"
#include "cli/terminal.h"
#include "out/out.h"

/* For messages: the name of a file, or of standard input where @path is NULL or "-". */
static const char *input_name(const char *path) { return path && strcmp(path, "-") ? path : "standard input"; }

/* Reports what was left out or changed, one sentence for each kind. */
static void report_changes(const struct ut_cmd *cmd, const char *path, const struct profile *p,
			   const struct profile_bad *bad)
{
	char count[32];

	if (bad->lines)
		cli_fail(cmd, EXIT_OK, "%s: %s %s no stack with a count and %s left out; the first is line %llu: '%s'",
			 input_name(path), human_count(bad->lines, count), bad->lines == 1 ? "line is" : "lines are",
			 bad->lines == 1 ? "is" : "are", (unsigned long long)bad->first_line, bad->first);
	if (bad->rounded)
		cli_fail(cmd, EXIT_OK, "%s: %s with a fraction, rounded to integers", input_name(path),
			 bad->rounded == 1 ? "a count" : "counts");
	if (p->totals.saturated)
		cli_fail(cmd, EXIT_OK, "%s: the sum of the counts exceeds 64 bits; shares are relative to %llu",
			 input_name(path), (unsigned long long)UINT64_MAX);
}

static int open_input(const struct ut_cmd *cmd, const char *path, int *ret)
{
	struct stat st;

	if (!path || !strcmp(path, "-")) {
		*ret = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		path = "standard input";
	} else {
		*ret = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (*ret < 0)
		return cli_fail(cmd, EXIT_FAILED, "cannot open %s: %s", path, strerror(errno));
	if (!fstat(*ret, &st) && S_ISDIR(st.st_mode))
		return usage_error(cmd, "%s is a directory, not a file of folded stacks", path);
	return 0;
}

/* Reads the first bytes without consuming them: from a file by pread, from a pipe by tee into another pipe. */
static bool is_pprof(int fd)
{
	unsigned char begin[OUT_PPROF_BEGIN];
	ssize_t n = pread(fd, begin, sizeof(begin), lseek(fd, 0, SEEK_CUR));
	int pipes[2];

	if (n < 0 && !pipe2(pipes, O_CLOEXEC)) {
		if (tee(fd, pipes[1], sizeof(begin), 0) > 0)
			n = read(pipes[0], begin, sizeof(begin));
		close(pipes[0]);
		close(pipes[1]);
	}
	return n > 0 && out_is_pprof(begin, (size_t)n);
}

static int read_pprof(const struct ut_cmd *cmd, const char *path, int fd, struct profile *p)
{
	struct ut_err err = { 0 };

	if (out_read_pprof(p, fd, &err)) {
		cli_fail(cmd, EXIT_FAILED, "%s %s", input_name(path), err.msg);
		return err.code == -EINVAL || err.code == -EFBIG ? EXIT_USAGE : EXIT_FAILED;
	}
	return p->weights.n ? 0 : usage_error(cmd, "%s has no samples", input_name(path));
}

int profile_file_read(const struct ut_cmd *cmd, const char *path, struct profile **ret)
{
	AUTO_CLOSE int fd = -1;
	struct profile_bad bad;
	struct ut_err err = { 0 };
	int status = open_input(cmd, path, &fd);

	if (status)
		return status;
	if (!*ret)
		*ret = profile_new();
	if (!*ret)
		return cli_fail(cmd, EXIT_FAILED, "out of memory");
	if (is_pprof(fd))
		return read_pprof(cmd, path, fd, *ret);
	if (profile_read_folded(*ret, fd, &bad, &err)) {
		ut_err_wrap(&err, "%s", input_name(path));
		return cli_fail(cmd, EXIT_FAILED, "%s", err.msg);
	}
	/* a flame graph has lines that end in numbers, but are no stacks */
	if (bad.first_line == 1 && (!strncmp(bad.first, "<?xml", 5) || !strncmp(bad.first, "<svg", 4)))
		return usage_error(cmd, "%s is already a flame graph; expected folded stacks or a pprof file",
				   input_name(path));
	report_changes(cmd, path, *ret, &bad);
	if ((*ret)->weights.n)
		return 0;
	if (!strncmp(bad.first, "PERFILE2", 8))
		return usage_error(cmd, "%s is a perf.data file: convert it with 'perf script | stackcollapse-perf.pl'",
				   input_name(path));
	return usage_error(cmd, "%s: no stacks; expected lines such as 'main;parse;read 42'", input_name(path));
}

int profile_write_hot(const struct profile *p, struct hot_options *o, bool json, int fd)
{
	struct buf text = { 0 };
	unsigned height;
	int r;

	if (fd == STDOUT_FILENO && isatty(fd))
		terminal_size(&o->width, &height);
	o->color = fd == STDOUT_FILENO && !json && terminal_wants_color(fd);
	r = json ? hot_json(p, o, &text) : hot_text(p, o, &text);
	if (!r)
		r = write_out(fd, &text);
	buf_done(&text);
	return r;
}

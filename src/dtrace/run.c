/* SPDX-License-Identifier: MIT */
/* Children that print something. */
#include "dtrace/run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "base/auto.h"

#define OUTPUT_MAX (64u << 20)

int run_add(struct run_words *words, const char *word, struct ut_err *err)
{
	char *copy = strdup(word);

	if (!copy || vec_push(&words->list, copy)) {
		free(copy);
		return ut_err_nomem(err);
	}
	return 0;
}

void run_words_done(struct run_words *words)
{
	for (size_t i = 0; i < words->list.n; i++)
		free(words->list.v[i]);
	vec_done(&words->list);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Appends one word of @line to @word and returns what is behind it; NULL when a quote is not closed. */
static const char *split_word(const char *line, struct buf *word)
{
	char quote = 0;

	for (; *line && (quote || !is_blank(*line)); line++) {
		if (*line == quote)
			quote = 0;
		else if (!quote && (*line == '\'' || *line == '"'))
			quote = *line;
		else if (*line == '\\' && quote != '\'' && line[1])
			buf_addc(word, *++line);
		else
			buf_addc(word, *line);
	}
	return quote ? NULL : line;
}

int run_split(struct run_words *words, const char *line, struct ut_err *err)
{
	const char *whole = line;
	int ret = 0;

	while (!ret) {
		struct buf word = { 0 };
		AUTO_FREE char *text = NULL;

		while (is_blank(*line))
			line++;
		if (!*line)
			break;
		line = split_word(line, &word);
		text = buf_take(&word);
		if (!line)
			return ut_err_set(err, -EINVAL, "a quote is not closed in '%s' (from $CPP or $CC)", whole);
		ret = text ? run_add(words, text, err) : ut_err_nomem(err);
	}
	return ret;
}

int run_read_all(int fd, const char *name, size_t max, struct buf *out, struct ut_err *err)
{
	char piece[16384];
	ssize_t n;

	do {
		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			buf_add(out, piece, (size_t)n);
		if (out->len > max)
			return ut_err_set(err, -EFBIG, "'%s' is larger than %zu MiB, too large for a provider file",
					  name, max >> 20);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return ut_err_set(err, -errno, "cannot read '%s': %s", name, strerror(errno));
	return out->failed ? ut_err_nomem(err) : 0;
}

/* Starts the command with its standard output into a pipe, whose other end is *@ret_fd. */
static int start(char *const *argv, pid_t *ret_pid, int *ret_fd, struct ut_err *err)
{
	posix_spawn_file_actions_t actions;
	int pipes[2], status;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return ut_err_set(err, -errno, "cannot create a pipe: %s", strerror(errno));
	status = posix_spawn_file_actions_init(&actions);
	if (!status) {
		status = posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
		if (!status)
			status = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(pipes[1]);
	if (status) {
		close(pipes[0]);
		return ut_err_set(err, -status, "cannot run '%s': %s", argv[0], strerror(status));
	}
	*ret_fd = pipes[0];
	return 0;
}

static int wait_for(pid_t pid, const char *name, struct ut_err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return ut_err_set(err, -errno, "cannot wait for '%s': %s", name, strerror(errno));
	if (WIFSIGNALED(status))
		return ut_err_set(err, -EIO, "'%s' was killed by signal %d", name, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return ut_err_set(err, -EIO, "'%s' failed with status %d", name, WEXITSTATUS(status));
	return 0;
}

int run_command(const struct run_words *words, struct buf *out, struct ut_err *err)
{
	AUTO_FREE char **argv = calloc(words->list.n + 1, sizeof(*argv));
	int fd = -1, ret, ended;
	pid_t pid;

	if (!argv)
		return ut_err_nomem(err);
	if (!words->list.n)
		return ut_err_set(err, -EINVAL, "there is no command to run");
	memcpy(argv, words->list.v, words->list.n * sizeof(*argv));
	ret = start(argv, &pid, &fd, err);
	if (ret)
		return ret;
	ret = run_read_all(fd, argv[0], OUTPUT_MAX, out, err);
	close(fd);
	ended = wait_for(pid, argv[0], ret ? NULL : err);
	return ret ? ret : ended;
}

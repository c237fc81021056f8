/* SPDX-License-Identifier: MIT */
/* A fork, a pipe that the child waits on, and a pipe that its exec closes. */
#include "record/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"

static void run_child(int release, int failed, char *const *argv)
{
	sigset_t none;
	char go;
	int r;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(release, &go, 1) != 1)
		_exit(127); /* the tracer exited or gave up */
	execvp(argv[0], argv);
	r = errno;
	if (write(failed, &r, sizeof(r)) < 0)
		_exit(126);
	_exit(127);
}

int child_start(char *const *argv, struct child *ret, struct ut_err *err)
{
	int release[2] = { -1, -1 }, failed[2] = { -1, -1 }, r = 0;

	if (pipe2(release, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		r = ut_err_set(err, -errno, "cannot create a pipe: %s", strerror(errno));
	} else {
		ret->pid = fork();
		if (ret->pid < 0)
			r = ut_err_set(err, -errno, "cannot start a process: %s", strerror(errno));
	}
	if (!r && ret->pid == 0) {
		close(release[1]);
		close(failed[0]);
		run_child(release[0], failed[1], argv);
	}
	close_fd(release[0]);
	close_fd(failed[1]);
	if (r) {
		close_fd(release[1]);
		close_fd(failed[0]);
		ret->pid = 0;
		return r;
	}
	ret->release_fd = release[1];
	ret->failed_fd = failed[0];
	return 0;
}

int child_release(struct child *c, const char *name, struct ut_err *err)
{
	int r = 0;
	ssize_t n;

	if (write(c->release_fd, "g", 1) != 1)
		r = errno;
	close(c->release_fd);
	do {
		n = r ? 0 : read(c->failed_fd, &r, sizeof(r));
	} while (n < 0 && errno == EINTR);
	close(c->failed_fd);
	c->release_fd = c->failed_fd = -1;
	if (!r)
		return 0;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	return ut_err_set(err, -r, "cannot run '%s': %s", name, strerror(r));
}

void child_abandon(struct child *c)
{
	if (!c->pid)
		return;
	if (c->release_fd >= 0) /* not released: the child exits at the end of file */
		close(c->release_fd);
	close_fd(c->failed_fd);
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
}

int child_wait(struct child *c)
{
	int status;

	if (!c->pid)
		return -1;
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	c->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

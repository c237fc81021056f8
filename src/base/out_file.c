/* SPDX-License-Identifier: MIT */
/* Files that appear as a whole, under another name until then. */
#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"

static int cannot(const char *path, int r, struct ut_err *err)
{
	return ut_err_set(err, r, "cannot write to '%s': %s", path, strerror(-r));
}

/* Does not wait for the reader of a named pipe, which may never come. */
static int open_special(const char *path, struct ut_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), flags;

	if (fd < 0 && errno == ENXIO)
		return ut_err_set(err, -ENXIO, "cannot write to '%s': the FIFO has no reader; start the reader first",
				  path);
	if (fd < 0)
		return cannot(path, -errno, err);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK))
		return close(fd), cannot(path, -EIO, err);
	return fd;
}

bool out_file_is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

/* Opens a new file beside the one that @path, if it is a link, leads to; both names are the caller's. */
static int open_beside(const char *path, char **real, char **temp)
{
	int fd;

	*real = realpath(path, NULL);
	if (!*real)
		*real = strdup(path);
	if (!*real || asprintf(temp, "%s.XXXXXX", *real) < 0) {
		*temp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(*temp, O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int out_file_check(const char *path, struct ut_err *err)
{
	AUTO_FREE char *real = NULL, *temp = NULL;
	AUTO_CLOSE int fd = -1;
	struct stat st = { 0 };

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return cannot(path, -EISDIR, err);
	if (!access(path, F_OK) && access(path, W_OK))
		return cannot(path, -errno, err);
	if (S_ISFIFO(st.st_mode)) {
		fd = open_special(path, err);
		return fd < 0 ? fd : 0;
	}
	if (out_file_is_special(path))
		return 0;
	fd = open_beside(path, &real, &temp);
	if (fd < 0)
		return cannot(path, fd, err);
	unlink(temp);
	return 0;
}

static int write_special(const char *path, int (*write)(void *ctx, int fd, struct ut_err *err), void *ctx,
			 struct ut_err *err)
{
	AUTO_CLOSE int fd = open_special(path, err);
	int r = fd < 0 ? fd : write(ctx, fd, err);

	return r && !(err && err->msg[0]) ? cannot(path, r, err) : r;
}

/* The mode that a new file would have had, or the one that is replaced has. */
static mode_t mode_for(const char *path)
{
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	return stat(path, &st) ? 0666 & ~mask : st.st_mode & 0777;
}

int out_file_write(const char *path, int (*write)(void *ctx, int fd, struct ut_err *err), void *ctx, struct ut_err *err)
{
	AUTO_FREE char *real = NULL, *temp = NULL;
	AUTO_CLOSE int fd = -1;
	int r;

	if (out_file_is_special(path))
		return write_special(path, write, ctx, err);
	fd = open_beside(path, &real, &temp);
	if (fd < 0)
		return cannot(path, fd, err);
	r = write(ctx, fd, err);
	if (!r && fchmod(fd, mode_for(real)))
		r = -errno;
	if (close(take_fd(&fd)) && !r)
		r = -errno;
	if (!r && rename(temp, real))
		r = -errno;
	if (r)
		unlink(temp);
	return r && !(err && err->msg[0]) ? cannot(path, r, err) : r;
}

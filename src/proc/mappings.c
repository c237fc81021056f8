/* SPDX-License-Identifier: MIT */
/* What a process has mapped, which of it are program files, and how to open those from here. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/openat2.h>

#include "base/auto.h"
#include "base/io.h"
#include "proc/maps.h"
#include "proc/procfs.h"

/* The text of /proc/PID/maps. A process that has ended but was not waited for shows an empty one: it is gone, too. */
int maps_text(pid_t pid, struct buf *out, struct ut_err *err)
{
	int r = procfs_read(pid, "maps", out);

	if (!r && out->len == 0 && process_has_ended(pid))
		r = -ESRCH;
	if (!r)
		return 0;
	if (r == -ESRCH)
		return ut_err_set(err, r, "no process %d (it has exited)", (int)pid);
	if (r == -EACCES || r == -EPERM)
		return ut_err_set(err, -EPERM, "cannot read the mappings of process %d: %s", (int)pid,
				  geteuid() ? "permission denied; run as root, or as its user"
					    : "the kernel denies access, even to root");
	return ut_err_set(err, r, "cannot read /proc/%d/maps: %s", (int)pid, strerror(-r));
}

int maps_error(pid_t pid, int r, struct ut_err *err)
{
	if (r == -ENOMEM)
		return ut_err_nomem(err);
	return ut_err_set(err, r, "cannot parse /proc/%d/maps", (int)pid);
}

int mappings_read(pid_t pid, struct mappings *ret, struct ut_err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int r = maps_text(pid, &text, err);

	if (r)
		return r;
	r = mappings_parse(text.data, text.len, ret);
	return r ? maps_error(pid, r, err) : 0;
}

/* Overlay and some other filesystems show one device number in maps and another to stat; the size is asked instead. */
bool mapping_is_of(const struct mapping *m, const struct stat *st)
{
	if (st->st_ino != m->file.ino)
		return false;
	return st->st_dev == m->file.dev || (uint64_t)st->st_size > m->offset;
}

/* The link of this very address range still shows the same path. */
static bool link_shows(const char *link, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target));
	size_t len = strlen(path);

	if (n < 0 || (size_t)n < len || memcmp(target, path, len) != 0)
		return false;
	return (size_t)n == len || ((size_t)n == len + 10 && memcmp(target + len, " (deleted)", 10) == 0);
}

/* @link: that of the mapping's address range, whose path also proves that it is the file; NULL: none. */
static int open_same_file(int peek, const struct mapping *m, const char *link)
{
	struct stat st;
	AUTO_CLOSE int fd = open_regular(peek, &st);

	if (fd < 0)
		return fd;
	return mapping_is_of(m, &st) || (link && link_shows(link, m->path)) ? take_fd(&fd) : -ESTALE;
}

static int open_through_map_files(pid_t pid, const struct mapping *m)
{
	AUTO_CLOSE int peek = -1;
	char link[96];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start, m->end);
	peek = open(link, O_PATH | O_CLOEXEC);
	return peek < 0 ? -errno : open_same_file(peek, m, link);
}

/* /proc/PID/exe needs fewer privileges than map_files and works for deleted files, but knows one file only. */
static int open_as_program(pid_t pid, const struct mapping *m)
{
	AUTO_CLOSE int peek = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	peek = open(path, O_PATH | O_CLOEXEC);
	return peek < 0 ? -errno : open_same_file(peek, m, NULL);
}

/* The path as the process sees it. Paths in maps hold no links, so none is followed: it would lead out of its root. */
static int open_through_root(pid_t pid, const struct mapping *m)
{
	AUTO_CLOSE int peek = -1;

	if (m->path[0] != '/')
		return -ENOENT;
	peek = procfs_open_below(pid, "root", m->path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	return peek < 0 ? peek : open_same_file(peek, m, NULL);
}

static int open_failed(pid_t pid, const struct mapping *m, int r, struct ut_err *err)
{
	const char *path = m->path;

	if (process_has_ended(pid))
		return ut_err_set(err, -ESRCH, "no process %d (it has exited)", (int)pid);
	if (r == -EACCES || r == -EPERM)
		return ut_err_set(err, -EPERM, "cannot open '%s' of process %d: permission denied; run as root", path,
				  (int)pid);
	if (r == -ESTALE || r == -ENOENT)
		return ut_err_set(err, r, "'%s' of process %d was replaced; run as root to open the mapped file", path,
				  (int)pid);
	if (r == -ENODEV)
		return ut_err_set(err, r, "'%s' of process %d is not a regular file", path, (int)pid);
	return ut_err_set(err, r, "cannot open '%s' of process %d: %s", path, (int)pid, strerror(-r));
}

int mapping_open(pid_t pid, const struct mapping *m, struct ut_err *err)
{
	int fd;

	if (m->file.ino == 0)
		return ut_err_set(err, -ENOENT, "the mapping at 0x%" PRIx64 " of process %d has no file", m->start,
				  (int)pid);
	fd = open_through_map_files(pid, m);
	if (fd < 0)
		fd = open_as_program(pid, m);
	if (fd < 0)
		fd = open_through_root(pid, m);
	return fd < 0 ? open_failed(pid, m, fd, err) : fd;
}

int process_own_offset(const volatile void *addr, uint64_t *ret)
{
	struct mappings maps = { 0 };
	int r = mappings_read(getpid(), &maps, NULL);

	r = r ? r : -ENOENT;
	for (size_t i = 0; i < maps.maps.n; i++) {
		const struct mapping *m = &maps.maps.v[i];

		if ((uintptr_t)addr < m->start || (uintptr_t)addr >= m->end || !m->file.ino)
			continue;
		*ret = (uintptr_t)addr - m->start + m->offset;
		r = 0;
	}
	mappings_done(&maps);
	return r;
}

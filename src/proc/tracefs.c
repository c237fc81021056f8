/* SPDX-License-Identifier: MIT */
/* The kernel's trace filesystem: where it is, the format texts in it, and its lists of events. */
#include "proc/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/auto.h"
#include "base/text.h"
#include "proc/procfs.h"

#define FORMAT_MAX (1u << 20)
#define MOUNTS_MAX (16u << 20)

/* Undoes the octal escapes of a mounts file ("\040" for a blank), in place. */
static void unescape_octal(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

/* The next mount point of type tracefs in a mounts text; NULL at the end. Cuts the text up. */
static char *next_mount(char **text)
{
	char *line;

	while ((line = strsep(text, "\n"))) {
		char *device = strsep(&line, " "), *point = strsep(&line, " "), *type = strsep(&line, " ");

		if (device && point && type && strcmp(type, "tracefs") == 0) {
			unescape_octal(point);
			return point;
		}
	}
	return NULL;
}

static int read_mounts(struct buf *out)
{
	AUTO_CLOSE int fd = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_read_all(fd, MOUNTS_MAX, out);
}

/* The first usable mount, -ENOENT when there is none. Another mount on top may hide one, so it must have events. */
static int open_mounted(void)
{
	AUTO_BUF struct buf mounts = { 0 };
	char *text, *point;
	int r = read_mounts(&mounts);

	if (r)
		return r;
	r = -ENOENT;
	text = mounts.data;
	while ((point = next_mount(&text))) {
		AUTO_CLOSE int fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && !faccessat(fd, "events", R_OK | X_OK, 0))
			return take_fd(&fd);
		r = -errno;
	}
	return r;
}

static int mount_detached(void)
{
	AUTO_CLOSE int fs = fsopen("tracefs", FSOPEN_CLOEXEC);
	int mnt;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	return mnt < 0 ? -errno : mnt;
}

int tracefs_open(struct ut_err *err)
{
	int mounted = open_mounted(), fd;

	if (mounted >= 0)
		return mounted;
	fd = mount_detached();
	if (fd >= 0)
		return fd;
	if (fd == -EPERM || fd == -EACCES || mounted == -EACCES)
		return ut_err_set(
			err, -EPERM,
			"cannot use the kernel's trace file system (tracefs): permission denied; run as root");
	if (fd == -ENODEV)
		return ut_err_set(
			err, fd,
			"this kernel has no tracefs (CONFIG_TRACING is off), so kernel tracepoints cannot be traced");
	return ut_err_set(err, fd,
			  "tracefs is not mounted and cannot be mounted privately (%s); try: mount -t tracefs nodev "
			  "/sys/kernel/tracing",
			  strerror(-fd));
}

int tracefs_where(char *ret, size_t size)
{
	AUTO_BUF struct buf mounts = { 0 };
	char *text, *point;
	int r = read_mounts(&mounts);

	if (size)
		ret[0] = '\0';
	if (r)
		return r;
	text = mounts.data;
	point = next_mount(&text);
	if (point && (size_t)snprintf(ret, size, "%s", point) >= size)
		return -ENAMETOOLONG;
	return 0;
}

static bool is_plain_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 128;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Folders below @path whose name fits @pattern, sorted. */
static int list_folders(int dirfd, const char *path, const char *pattern, struct tracefs_names *ret)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		int r = -errno;

		if (fd >= 0)
			close(fd);
		return r;
	}
	while ((entry = readdir(dir))) {
		char *name;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || !glob_match(pattern, entry->d_name))
			continue;
		name = strdup(entry->d_name);
		if (!name || vec_push(&ret->names, name)) {
			free(name);
			return -ENOMEM;
		}
	}
	if (ret->names.n)
		qsort(ret->names.v, ret->names.n, sizeof(*ret->names.v), compare_names);
	return 0;
}

static int list_events(int dirfd, const char *category, const char *pattern, struct tracefs_names *ret)
{
	char path[160];

	snprintf(path, sizeof(path), "events/%s", category);
	return list_folders(dirfd, path, pattern, ret);
}

/* The closest name in @names as "; there is X", or "". */
static void near_miss(const char *wanted, const struct tracefs_names *names, const char *prefix, char *ret, size_t size)
{
	size_t best;

	ret[0] = '\0';
	if (names->names.n && suggest(wanted, (const char *const *)names->names.v, names->names.n, &best, 1))
		snprintf(ret, size, "; there is %s%s", prefix, names->names.v[best]);
}

static int no_such_event(int dirfd, const char *category, const char *event, struct ut_err *err)
{
	AUTO(tracefs_names_done) struct tracefs_names names = { 0 };
	char hint[320], prefix[140];

	if (list_events(dirfd, category, "*", &names) == 0) {
		snprintf(prefix, sizeof(prefix), "%s:", category);
		near_miss(event, &names, prefix, hint, sizeof(hint));
		return ut_err_set(err, -ENOENT, "no kernel tracepoint %s:%s%s", category, event, hint);
	}
	tracefs_names_done(&names);
	list_folders(dirfd, "events", "*", &names);
	near_miss(category, &names, "", hint, sizeof(hint));
	return ut_err_set(err, -ENOENT, "no kernel tracepoints of category '%s'%s", category, hint);
}

int tracefs_format(int dirfd, const char *category, const char *event, char **ret, size_t *ret_len, struct ut_err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_CLOSE int fd = -1;
	char path[320];
	int r;

	if (!is_plain_name(category) || !is_plain_name(event))
		return ut_err_set(err, -ENOENT, "no kernel tracepoint %.60s:%.60s", category, event);
	snprintf(path, sizeof(path), "events/%s/%s/format", category, event);
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return no_such_event(dirfd, category, event, err);
	r = fd < 0 ? -errno : fd_read_all(fd, FORMAT_MAX, &text);
	if (r == -EACCES || r == -EPERM)
		return ut_err_set(err, -EPERM, "cannot read the format of %s:%s: permission denied; run as root",
				  category, event);
	if (r)
		return ut_err_set(err, r, "cannot read the format of %s:%s: %s", category, event, strerror(-r));
	*ret_len = text.len;
	*ret = buf_take(&text);
	return *ret ? 0 : ut_err_nomem(err);
}

static int add_category(int dirfd, const char *category, const char *pattern, struct tracefs_names *ret)
{
	AUTO(tracefs_names_done) struct tracefs_names events = { 0 };
	int r = list_events(dirfd, category, pattern, &events);

	for (size_t i = 0; !r && i < events.names.n; i++) {
		char *name = NULL;

		if (asprintf(&name, "%s:%s", category, events.names.v[i]) < 0)
			return -ENOMEM;
		r = vec_push(&ret->names, name);
		if (r)
			free(name);
	}
	return r;
}

int tracefs_events(int dirfd, const char *category, const char *event, struct tracefs_names *ret, struct ut_err *err)
{
	AUTO(tracefs_names_done) struct tracefs_names categories = { 0 };
	struct tracefs_names found = { 0 };
	int r = list_folders(dirfd, "events", category, &categories);

	for (size_t i = 0; !r && i < categories.names.n; i++)
		r = add_category(dirfd, categories.names.v[i], event, &found);
	if (r) {
		tracefs_names_done(&found);
		return ut_err_set(err, r, "cannot list the kernel's tracepoints: %s", strerror(-r));
	}
	*ret = found;
	return 0;
}

void tracefs_names_done(struct tracefs_names *n)
{
	for (size_t i = 0; i < n->names.n; i++)
		free(n->names.v[i]);
	vec_done(&n->names);
}

/* SPDX-License-Identifier: MIT */
/*
 * Maps and dumps that processes have left behind are removed. A number may also be that of a process in a container
 * which writes to this folder: files with the number that any process has, as it sees itself, stay.
 */
#include "sym/map_clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/auto.h"
#include "base/vec.h"
#include "proc/process.h"

struct cleaning {
	const struct map_clean_sink *sink;
	bool dry_run;
	VEC(int) alive; /* numbers in use, in any namespace */
	struct map_clean_totals totals;
};

bool map_clean_name(const char *name, int *ret_pid)
{
	bool is_map = !strncmp(name, "perf-", 5), is_dump = !strncmp(name, "jit-", 4);
	const char *p = name + (is_map ? 5 : 4);
	int pid = 0;

	if ((!is_map && !is_dump) || *p < '1' || *p > '9')
		return false;
	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(pid, 10, &pid) || __builtin_add_overflow(pid, *p - '0', &pid))
			return false;
	*ret_pid = pid;
	return !strcmp(p, is_map ? ".map" : ".dump");
}

static bool is_used(const struct cleaning *c, int pid)
{
	for (size_t i = 0; i < c->alive.n; i++)
		if (c->alive.v[i] == pid)
			return true;
	return process_state(pid) != 0;
}

static int find_alive(struct cleaning *c, struct ut_err *err)
{
	AUTO_FREE struct process_id *all = NULL;
	size_t n = 0;
	int r = process_list(&all, &n, err);

	for (size_t i = 0; !r && i < n; i++) {
		int own = process_ns_pid(all[i].pid);

		if (own != all[i].pid && vec_push(&c->alive, own))
			r = ut_err_nomem(err);
	}
	return r;
}

static void clean_file(struct cleaning *c, int dir, const char *folder, const char *name)
{
	AUTO_FREE char *path = NULL;
	struct ut_err err = { 0 };
	struct stat st;
	int pid;

	if (!map_clean_name(name, &pid) || is_used(c, pid) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || (geteuid() && st.st_uid != geteuid()))
		return;
	if (!c->dry_run && unlinkat(dir, name, 0)) {
		ut_err_set(&err, -errno, "cannot remove '%s/%s': %s", folder, name, strerror(errno));
		c->sink->failed(c->sink->ctx, &err);
		return;
	}
	c->totals.files++;
	c->totals.bytes += (uint64_t)st.st_size;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		path = NULL;
	c->sink->removed(c->sink->ctx, path ? path : name, (uint64_t)st.st_size);
}

static void clean_folder(struct cleaning *c, const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct ut_err err = { 0 };
	struct dirent *entry;

	if (!dir) {
		ut_err_set(&err, -errno, "cannot read the directory '%s': %s", folder, strerror(errno));
		c->sink->failed(c->sink->ctx, &err);
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		clean_file(c, fd, folder, entry->d_name);
	closedir(dir);
}

int map_clean(const char *const *folders, size_t n, bool dry_run, const struct map_clean_sink *sink,
	      struct map_clean_totals *ret, struct ut_err *err)
{
	struct cleaning c = { .sink = sink, .dry_run = dry_run };
	int r;

	if (!process_in_first_pid_namespace())
		return ut_err_set(
			err, -EPERM,
			"cannot determine which processes exited from inside a PID namespace: run it on the host");
	r = find_alive(&c, err);
	for (size_t i = 0; !r && i < n; i++)
		clean_folder(&c, folders[i]);
	if (!r && !n)
		clean_folder(&c, "/tmp");
	*ret = c.totals;
	vec_done(&c.alive);
	return r;
}

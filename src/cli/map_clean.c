/* SPDX-License-Identifier: MIT */
/*
 * Maps and dumps that processes have left behind are removed. A number may also be that of a process in a container
 * which writes to this folder: files with the number that any process has, as it sees itself, stay.
 */
#include "cli/map_clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"
#include "proc/process.h"

struct cleaning {
	const struct ut_cmd *cmd;
	bool dry_run;
	VEC(int) alive; /* numbers in use, in any namespace */
	uint64_t n, bytes;
	int status;
};

bool map_clean_name(const char *name, int *ret_pid)
{
	bool is_map = !strncmp(name, "perf-", 5), is_dump = !strncmp(name, "jit-", 4);
	const char *p = name + (is_map ? 5 : 4);
	int pid = 0;

	if ((!is_map && !is_dump) || *p < '1' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
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
	char bytes[32];
	struct stat st;
	int pid;

	if (!map_clean_name(name, &pid) || is_used(c, pid) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || (geteuid() && st.st_uid != geteuid()))
		return;
	if (!c->dry_run && unlinkat(dir, name, 0)) {
		c->status = cli_fail(c->cmd, EXIT_FAILED, "cannot remove '%s/%s': %s", folder, name, strerror(errno));
		return;
	}
	c->n++;
	c->bytes += (uint64_t)st.st_size;
	printf("%s %s/%s, %s\n", c->dry_run ? "would remove" : "removed", folder, name,
	       human_bytes((uint64_t)st.st_size, bytes));
}

static void clean_folder(struct cleaning *c, const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		c->status = cli_fail(c->cmd, EXIT_FAILED, "cannot read the folder '%s': %s", folder, strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		clean_file(c, fd, folder, entry->d_name);
	closedir(dir);
}

int map_clean(const struct ut_cmd *cmd, const char *const *folders, size_t n, bool dry_run)
{
	struct cleaning c = { .cmd = cmd, .dry_run = dry_run };
	struct ut_err err = { 0 };
	char bytes[32], count[32];

	if (!process_in_first_pid_namespace())
		return cli_fail(cmd, EXIT_FAILED,
				"from inside a pid namespace it cannot be seen which processes have ended: run "
				"it on the host");
	if (find_alive(&c, &err)) {
		vec_done(&c.alive);
		return cli_fail_err(cmd, &err);
	}
	for (size_t i = 0; i < n; i++)
		clean_folder(&c, folders[i]);
	if (!n)
		clean_folder(&c, "/tmp");
	printf("%s %s of processes that have ended, %s\n", human_count(c.n, count), plural(c.n, "file"),
	       human_bytes(c.bytes, bytes));
	vec_done(&c.alive);
	return c.status;
}

/* SPDX-License-Identifier: MIT */
/* The runtimes that are known: read from the built-in texts and from two directorys, and looked up by file and process. */
#include "proc/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "proc/process.h"
#include "proc/procfs.h"
#include "proc/runtime_builtin.h"
#include "proc/runtime_priv.h"

#define SYSTEM_DIRECTORY "/etc/usertrace/runtimes"
#define FILE_MAX (1u << 20)

int runtimes_load_file(struct runtimes *ret, const char *path, struct ut_err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	AUTO_BUF struct buf text = { 0 };
	struct stat st;
	int r = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!r && !S_ISREG(st.st_mode))
		return ut_err_set(err, -EINVAL, "'%s' is not a regular file", path);
	if (!r)
		r = fd_read_all(fd, FILE_MAX, &text);
	if (r)
		return ut_err_set(err, r, "cannot read '%s': %s", path, strerror(-r));
	return runtimes_parse(path, text.data ? text.data : "", text.len, ret, err);
}

static int is_ini(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + len - 4, ".ini") == 0;
}

struct loader {
	struct runtimes found;
	void (*broken)(void *ctx, const struct ut_err *err); /* NULL: the first one ends it */
	void *ctx;
	struct ut_err *err;
};

/* All .ini files of a directory, by name. A directory that is not there or not for us is nothing to tell. */
static int load_directory(struct loader *l, const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_ini, alphasort), r = 0;

	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];
		int len = snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		struct ut_err err = { 0 };

		if (!r && len > 0 && (size_t)len < sizeof(path))
			r = runtimes_load_file(&l->found, path, l->broken ? &err : l->err);
		if (r && l->broken) {
			l->broken(l->ctx, &err);
			r = 0;
		}
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int load_user_directory(struct loader *l)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	char directory[PATH_MAX];
	int len;

	if (config && config[0] == '/')
		len = snprintf(directory, sizeof(directory), "%s/usertrace/runtimes", config);
	else if (home && home[0] == '/')
		len = snprintf(directory, sizeof(directory), "%s/.config/usertrace/runtimes", home);
	else
		return 0;
	return len > 0 && (size_t)len < sizeof(directory) ? load_directory(l, directory) : 0;
}

int runtimes_load_good(struct runtimes *ret, void (*broken)(void *ctx, const struct ut_err *err), void *ctx,
		       struct ut_err *err)
{
	struct loader l = { .broken = broken, .ctx = ctx, .err = err };
	int r = 0;

	for (size_t i = 0; !r && i < runtime_builtins_n; i++)
		r = runtimes_parse(runtime_builtins[i].name, runtime_builtins[i].text, runtime_builtins[i].len,
				   &l.found, err);
	if (!r)
		r = load_directory(&l, SYSTEM_DIRECTORY);
	if (!r)
		r = load_user_directory(&l);
	if (r) {
		runtimes_done(&l.found);
		return r;
	}
	*ret = l.found;
	return 0;
}

int runtimes_load(struct runtimes *ret, struct ut_err *err) { return runtimes_load_good(ret, NULL, NULL, err); }

void runtimes_done(struct runtimes *r)
{
	for (size_t i = 0; i < r->all.n; i++)
		runtime_done(&r->all.v[i]);
	vec_done(&r->all);
	free(r->cached);
	r->cached = NULL;
}

const struct runtime *runtime_of_provider(const struct runtimes *r, const char *provider)
{
	for (size_t i = 0; i < r->all.n; i++)
		for (size_t k = 0; k < r->all.v[i].provider.n; k++)
			if (!strcmp(r->all.v[i].provider.v[k], provider))
				return &r->all.v[i];
	return NULL;
}

const char *runtime_format(const struct runtimes *r, const char *provider, const char *probe)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct runtime *runtime = &r->all.v[i];

		for (size_t k = 0; k < runtime->format.n; k++)
			if (strcmp(runtime->format.v[k].provider, provider) == 0 &&
			    strcmp(runtime->format.v[k].probe, probe) == 0)
				return runtime->format.v[k].format;
	}
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* The runtimes that are known: read from the built-in texts and from two folders, and looked up by file and process. */
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

#define SYSTEM_FOLDER "/etc/usertrace/runtimes"
#define FILE_MAX (1u << 20)

static int load_builtins(struct runtimes *ret, struct ut_err *err)
{
	for (size_t i = 0; i < runtime_builtins_n; i++) {
		const struct runtime_builtin *b = &runtime_builtins[i];
		int r = runtimes_parse(b->name, b->text, b->len, ret, err);

		if (r)
			return r;
	}
	return 0;
}

static int read_regular(const char *path, struct buf *out)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? fd_read_all(fd, FILE_MAX, out) : -EINVAL;
}

int runtimes_load_file(struct runtimes *ret, const char *path, struct ut_err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int r = read_regular(path, &text);

	if (r == -EINVAL)
		return ut_err_set(err, r, "'%s' is not a regular file", path);
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

static int load_users_file(struct loader *l, const char *path)
{
	struct ut_err err = { 0 };
	int r = runtimes_load_file(&l->found, path, l->broken ? &err : l->err);

	if (!r || !l->broken)
		return r;
	l->broken(l->ctx, &err);
	return 0;
}

/* All .ini files of a folder, by name. A folder that is not there or not for us is nothing to tell. */
static int load_folder(struct loader *l, const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_ini, alphasort), r = 0;

	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];
		int len = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);

		if (!r && len > 0 && (size_t)len < sizeof(path))
			r = load_users_file(l, path);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int load_user_folder(struct loader *l)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	char folder[PATH_MAX];
	int len;

	if (config && config[0] == '/')
		len = snprintf(folder, sizeof(folder), "%s/usertrace/runtimes", config);
	else if (home && home[0] == '/')
		len = snprintf(folder, sizeof(folder), "%s/.config/usertrace/runtimes", home);
	else
		return 0;
	return len > 0 && (size_t)len < sizeof(folder) ? load_folder(l, folder) : 0;
}

int runtimes_load_good(struct runtimes *ret, void (*broken)(void *ctx, const struct ut_err *err), void *ctx,
		       struct ut_err *err)
{
	struct loader l = { .broken = broken, .ctx = ctx, .err = err };
	int r = load_builtins(&l.found, err);

	if (!r)
		r = load_folder(&l, SYSTEM_FOLDER);
	if (!r)
		r = load_user_folder(&l);
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
	free(r->looked);
	r->looked = NULL;
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
